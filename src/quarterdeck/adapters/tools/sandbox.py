"""Bubblewrap: a command that sees the system's programs, the workspace and nothing else, and has no network.

Whether it works here is tried once, by attempting what it must refuse. What it protects from, and what not, is in
docs/tools.md.
"""

from __future__ import annotations

import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from quarterdeck.adapters.tools.beneath import PROTECTED
from quarterdeck.kernel.errors import ToolFailed

BWRAP = "/usr/bin/bwrap"
_LARGEST_TMP = 256 << 20
_PATIENCE_S = 10.0
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    "/etc/alternatives",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/ssl/certs",
)
_TAKEN = ("/usr", "/proc", "/dev", "/sys", "/etc", *_SYSTEM)
# Each of these must come out as it says; the last line counts the network's interfaces: the loopback, and no other.
_TRIAL = """
echo fine > inside || exit 1
(echo bad > /usr/quarterdeck-trial) 2> /dev/null && exit 2
(echo bad > /quarterdeck-trial) 2> /dev/null && exit 3
cat "$1" 2> /dev/null && exit 4
unshare -U true 2> /dev/null && exit 5
(echo bad > .git/config) 2> /dev/null && exit 6
test -w /proc/sys/kernel/core_pattern && exit 7
grep -c : /proc/net/dev
"""


@dataclass(slots=True)
class _Guests:
    """Commands that may write to one workspace at this moment, and the folders that are there only for them."""

    made: tuple[Path, ...]
    count: int = 0


class Sandbox:
    """`path` of bubblewrap; None where none is to be used."""

    def __init__(self, path: str | None = BWRAP) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._works: bool | None = None
        self._guests: dict[str, _Guests] = {}

    def works(self) -> bool:
        """Whether bubblewrap holds what it should, on this machine and for this user. Tried once; waits."""
        with self._lock:
            if self._works is None:
                self._works = self._path is not None and Path(self._path).is_file() and self._holds()
            return self._works

    def fits(self, workspace: str) -> bool:
        """A workspace that is a part of the system, or holds all of it, cannot be told from the system."""
        return workspace != "/" and not any(f"{workspace}/".startswith(f"{taken}/") for taken in _TAKEN)

    def argv(
        self, command: tuple[str, ...], workspace: str, env: Mapping[str, str], *, writable: bool
    ) -> tuple[str, ...]:
        assert self._path is not None
        return (
            self._path,
            *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"),
            *("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox", "--clearenv"),
            *(word for name, value in env.items() for word in ("--setenv", name, value)),
            *_programs(),
            # Read-only, for a server that runs as root owns the switches of the kernel in there, capabilities or not.
            *("--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"),
            *("--size", str(_LARGEST_TMP), "--tmpfs", "/tmp"),  # noqa: S108 - memory of its own
            *(("--bind" if writable else "--ro-bind"), workspace, workspace),
            *(_shielded(workspace) if writable else ()),
            *("--remount-ro", "/", "--chdir", workspace, "--", *command),
        )

    @contextmanager
    def guest(self, workspace: str) -> Iterator[None]:
        """While a command may write there: the places of protected folders are taken, and given back at the end."""
        with self._lock:
            guests = self._guests.setdefault(workspace, _Guests(_absent(workspace)))
            guests.count += 1
        try:
            yield
        finally:
            with self._lock:
                guests.count -= 1
                if not guests.count:
                    del self._guests[workspace]
                    _give_back(guests.made)

    def _holds(self) -> bool:
        with tempfile.TemporaryDirectory(prefix="quarterdeck-trial-") as folder:
            place = Path(folder).resolve()
            secret, workspace = place / "secret", place / "workspace"
            secret.write_text("seen")
            workspace.mkdir()
            script = ("/bin/sh", "-c", _TRIAL, "sh", str(secret))
            argv = self.argv(script, str(workspace), {"PATH": "/usr/bin:/bin"}, writable=True)
            try:
                with subprocess.Popen(  # noqa: S603 - our own words
                    argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}
                ) as trial:
                    try:
                        said, _ = trial.communicate(timeout=_PATIENCE_S)
                    finally:
                        trial.kill()
            except (OSError, subprocess.TimeoutExpired):
                return False
            return trial.returncode == 0 and said.strip() == b"1" and (workspace / "inside").exists()


def _programs() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for folder in _SYSTEM:
        path = Path(folder)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), folder)
        elif path.is_dir():
            yield from ("--ro-bind", folder, folder)
    for setting in _SETTINGS:
        yield from ("--ro-bind-try", setting, setting)


def _shielded(workspace: str) -> Iterator[str]:
    """Protected folders can be read; where there is none, none can be made."""
    for name in PROTECTED:
        path = f"{workspace}/{name}"
        try:
            mode = Path(path).lstat().st_mode
        except FileNotFoundError:
            yield from ("--tmpfs", path, "--remount-ro", path)
            continue
        if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
            raise ToolFailed(f"{path!r} is a link, which could lead anywhere; no command runs beside it.")
        yield from ("--ro-bind", path, path)


def _absent(workspace: str) -> tuple[Path, ...]:
    return tuple(path for name in PROTECTED if not (path := Path(workspace, name)).exists() and not path.is_symlink())


def _give_back(made: tuple[Path, ...]) -> None:
    """Bubblewrap makes empty folders to mount upon. What is not empty is not ours and stays."""
    for path in made:
        with suppress(OSError):
            path.rmdir()
