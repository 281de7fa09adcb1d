"""What a command is, judged by its text alone: a known query, a privileged one, or something for the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quarterdeck.kernel.parts import Risk

# direct: run as it is, without a shell. sandbox: in bubblewrap. sudo: the privileged lane. none: refused.
Lane = Literal["direct", "sandbox", "sudo", "none"]


@dataclass(frozen=True, slots=True)
class Judged:
    """`argv` is what is executed (for sudo: behind it, without it); its first word may still have to be found in the
    folders of the system, never along a PATH that a workspace has a say in. In the sandbox lane it is `/bin/sh -c` and
    the text, except for a reading command, which is executed as it is.

    `reads` are the paths a reading command names, relative to the workspace and without `..`. Text cannot tell where a
    link leads: whoever runs the command looks, and asks where one leads out.
    """

    risk: Risk
    action: str  # system_info, package_check, file_read, shell, network, privileged, destructive
    lane: Lane
    argv: tuple[str, ...]
    why: str
    reads: tuple[str, ...] = ()
