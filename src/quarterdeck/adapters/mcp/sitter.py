"""Runs one program and sees that it ends, with all that it started, when whoever asked for it is gone.

This is a script of its own: a bare interpreter runs it (`sitter.py LIFELINE PROGRAM ARGUMENT…`), so it imports nothing
of the house. It leads the program's process group. Its parent holds the other end of the socket LIFELINE: when that
closes, be it because the parent was killed, the whole group is killed. When the program ends by itself, so does this.
"""

from __future__ import annotations

import os
import select
import signal
import sys

SPARED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def become(command: list[str]) -> None:
    for signum in (*SPARED, signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606 - the operator named it, and no shell reads it
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def main(lifeline: int, command: list[str]) -> int:
    os.set_inheritable(lifeline, False)  # noqa: FBT003 - the library's signature
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for signum in SPARED:  # they are meant for the program; this one only waits for its end
        signal.signal(signum, signal.SIG_IGN)
    program = os.fork()
    if program == 0:
        become(command)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):  # or the program's end of its pipes would not be the last one
        os.dup2(nowhere, fd)
    while True:
        ready, _, _ = select.select([lifeline, woken], [], [])
        if lifeline in ready:
            os.killpg(0, signal.SIGKILL)
        os.read(woken, 512)
        ended, status = os.waitpid(program, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1]), sys.argv[2:]))
