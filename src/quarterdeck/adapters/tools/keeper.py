"""Runs one command and sees that nothing of it is left: not when it has ended, nor when whoever asked is gone.

A program of its own, which process.py starts with a pipe as its standard input. The end of that pipe means that the
command is to end, or that whoever asked has died, however suddenly. What the command left running becomes a child of
the keeper, wherever it tried to hide, and is killed. The keeper's exit status is the command's.

    python -I -S keeper.py LARGEST_FILE CPU_SECONDS ARGV…
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MOST_FILES = 1024
NOT_EXECUTED = 127


def main(argv: list[str]) -> int:
    largest, seconds, *command = argv
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    heard, hear = os.pipe()
    os.set_blocking(hear, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(hear, warn_on_full_buffer=False)
    keeper = os.getpid()
    child = os.fork()
    if child == 0:
        _become(command, keeper, int(largest), int(seconds))
    _let_go_of_the_output()
    status = _until_it_ends(child, heard)
    last = _end_all(child)
    status = last if status is None else status
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _become(command: list[str], keeper: int, largest: int, seconds: int) -> NoReturn:
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):  # Python's own choices are not the command's
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_NOFILE, _MOST_FILES)
        _limit(resource.RLIMIT_FSIZE, largest)
        _limit(resource.RLIMIT_CPU, seconds)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == keeper:
            os.execv(command[0], command)  # noqa: S606 - the whole point; no shell is asked
    except OSError as error:
        os.write(2, f"{command[0]} cannot be executed: {error.strerror}\n".encode("utf-8", "replace"))
    finally:
        os._exit(NOT_EXECUTED)


def _limit(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(what, (most, most))


def _let_go_of_the_output() -> None:
    """So that the output ends when the command and all its children have let go of it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _until_it_ends(child: int, heard: int) -> int | None:
    """The command's status, or None if it has to be ended."""
    while True:
        ready, _, _ = select.select([0, heard], [], [])
        if heard in ready:
            os.read(heard, 4096)
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == child:
                    return ended[1]
        if 0 in ready and not os.read(0, 4096):
            return None


def _end_all(child: int) -> int:
    """Kill what is left, until nothing is. The status of the command, if it was among it."""
    status = signal.SIGKILL.value
    while True:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        for pid in _children():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            ended = os.waitpid(-1, 0)
        except ChildProcessError:
            return status
        if ended[0] == child:
            status = ended[1]


def _children() -> list[int]:
    """Our children, orphans that became ours included."""
    mine, found = str(os.getpid()), []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if entry.read_text("utf-8", "replace").rpartition(")")[2].split()[1] == mine:
                found.append(int(entry.parent.name))
    return found


def _prctl(what: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, ctypes.c_ulong(value), 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
