"""What a command is, judged by its text alone: a known query, a privileged one, or something for the sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quarterdeck.kernel.parts import Risk

# direct: run as it is, without a shell. sandbox: `sh -c` in bubblewrap. sudo: the privileged lane. none: refused.
Lane = Literal["direct", "sandbox", "sudo", "none"]


@dataclass(frozen=True, slots=True)
class Judged:
    """`argv` is what the direct and the sudo lane run (for sudo: behind it, without it); its first word may still
    have to be found in the folders of the system."""

    risk: Risk
    action: str  # system_info, package_check, shell, network, privileged, destructive
    lane: Lane
    argv: tuple[str, ...]
    why: str
