"""A server that we start: its process group, its three pipes, and its end.

The pipes are plain file descriptors watched by the event loop, not asyncio's transports: these can be closed, and the
process reaped, even when that loop is closed already.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from quarterdeck.adapters.mcp import sitter
from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.adapters.mcp.jsonrpc import LONGEST_MESSAGE
from quarterdeck.adapters.mcp.troubles import Trouble
from quarterdeck.adapters.mcp.words import line

log = logging.getLogger(__name__)

CHUNK = 1 << 16
GRACE_S = 2.0
LAST_WORDS_S = 0.5
MOST_UNREAD = 8 << 20
MOST_LOGGED_LINES = 200
LONGEST_LOGGED_LINE = 500


class Child:
    """`hear` gets each line that the server writes; `gone` that it has ended, or cannot be talked to any more."""

    def __init__(
        self,
        config: ServerConfig,
        environment: Mapping[str, str],
        hear: Callable[[bytes], None],
        gone: Callable[[str], None],
    ) -> None:
        self._config, self._hear, self._gone = config, hear, gone
        self._loop = asyncio.get_running_loop()
        self._process, self._lifeline = _started(config, environment)
        self._ended = asyncio.Event()
        self._heard: list[bytes] = []  # of a line whose end has not come
        self._length = 0
        self._unwritten = bytearray()
        self._complaint = b""
        self._logged = 0
        self._reaped = False
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._stdin, self._stdout, self._stderr = (
            process.stdin.fileno(),
            process.stdout.fileno(),
            process.stderr.fileno(),
        )
        for fd in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(fd, False)
        self._loop.add_reader(self._stdout, self._read)
        self._loop.add_reader(self._stderr, self._read_complaint)
        self._loop.add_reader(self._lifeline, self._notice_end)

    @property
    def pid(self) -> int:
        return self._process.pid

    def write(self, data: bytes) -> None:
        if self._reaped:
            return
        waiting = bool(self._unwritten)
        self._unwritten += data + b"\n"
        if len(self._unwritten) > MOST_UNREAD:
            self._gone("it does not read what it is sent")
        elif not waiting:
            self._write_on()

    def _write_on(self) -> None:
        try:
            written = os.write(self._stdin, self._unwritten[:CHUNK])
        except BlockingIOError:
            written = 0
        except OSError:
            self._unwritten.clear()
            self._loop.remove_writer(self._stdin)
            return  # it is about to end, which the lifeline tells
        del self._unwritten[:written]
        if self._unwritten:
            self._loop.add_writer(self._stdin, self._write_on)
        else:
            self._loop.remove_writer(self._stdin)

    def _read(self) -> None:
        data = self._take(self._stdout)
        if data == b"" and not self._reaped:
            self._loop.remove_reader(self._stdout)
            # Mostly because it ends, of which there is more to say in a moment.
            self._loop.call_later(LAST_WORDS_S, self._gone, "it closed its output")
        elif data:
            self._split(data)

    def _take(self, fd: int) -> bytes | None:
        """What there is; None if nothing yet, empty at the end."""
        if self._reaped:
            return b""
        try:
            return os.read(fd, CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _split(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for found in lines:
            whole = b"".join((*self._heard, found))
            self._heard, self._length = [], 0
            if whole.strip():
                self._hear(whole)
        if rest:
            self._heard.append(rest)
            self._length += len(rest)
        if self._length > LONGEST_MESSAGE:
            self._heard, self._length = [], 0
            self._gone(f"it wrote a line of more than {LONGEST_MESSAGE >> 20} MiB")

    def _read_complaint(self) -> None:
        data = self._take(self._stderr)
        if data == b"" and not self._reaped:
            self._loop.remove_reader(self._stderr)
        elif data:
            self._complaint = (self._complaint + data)[-4096:]
            for said in data.splitlines() if self._logged < MOST_LOGGED_LINES else ():
                self._logged += 1
                text = self._config.hide(line(said.decode("utf-8", "replace"), LONGEST_LOGGED_LINE))
                log.debug("MCP server %s: %s", self._config.name, text)

    def complaint(self) -> str:
        """The last thing it wrote to its standard error, for the operator."""
        lines = [said for said in self._complaint.decode("utf-8", "replace").splitlines() if said.strip()]
        return self._config.hide(line(lines[-1], 300)) if lines else ""

    def _notice_end(self) -> None:
        """The sitter is gone, and so the server. What it wrote before is heard first."""
        self._loop.remove_reader(self._lifeline)
        self._ended.set()
        for _ in range(LONGEST_MESSAGE // CHUNK):
            data = self._take(self._stdout)
            if not data:
                break
            self._split(data)
        self._read_complaint()
        said = self.complaint()
        self._gone("it ended" + (f", and its last words were: {said}" if said else " without a word"))
        self.kill()

    async def end(self) -> None:
        """Its input ends; then it is asked to; then it is made to, with all that it started."""
        for signum in (None, signal.SIGTERM):
            if self._reaped or self._ended.is_set():
                break
            if signum is None:
                self._close_input()
            else:
                self._signal(signum)
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_S):
                    await self._ended.wait()
        self.kill()

    def kill(self) -> None:
        """At once, and the whole group: as long as its leader is not reaped, the group's number is nobody else's."""
        if self._reaped:
            return
        self._reaped = True
        if not self._loop.is_closed():
            for fd in (self._stdout, self._stderr, self._lifeline.fileno()):
                self._loop.remove_reader(fd)
            self._loop.remove_writer(self._stdin)
        self._signal(signal.SIGKILL)
        self._process.wait()
        self._lifeline.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _close_input(self) -> None:
        self._loop.remove_writer(self._stdin)
        self._unwritten.clear()
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, self._stdin, inheritable=False)
        os.close(nowhere)

    def _signal(self, signum: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signum)


def _started(config: ServerConfig, environment: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
    if os.name != "posix":
        raise Trouble("servers can be started on POSIX systems only; reach it by a url instead")
    env = {**environment, **config.env}
    program = shutil.which(config.command[0], path=env.get("PATH") or os.defpath)
    if program is None:
        raise Trouble(f"there is no program {config.command[0]!r} to start it with")
    command = [str(Path(program).absolute()), *config.command[1:]]
    ours, theirs = socket.socketpair()
    try:
        process = subprocess.Popen(  # noqa: S603 - the operator named it, and no shell reads it
            [sys.executable, "-I", "-S", sitter.__file__, str(theirs.fileno()), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=env,
            cwd=config.cwd or env.get("HOME") or "/",
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
    except OSError as error:
        ours.close()
        raise Trouble(f"it cannot be started: {error.strerror} ({error.filename})") from None
    finally:
        theirs.close()
    ours.setblocking(False)  # noqa: FBT003 - the library's signature
    return process, ours
