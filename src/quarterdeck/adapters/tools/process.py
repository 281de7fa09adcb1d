"""A command as a process: its output as it comes, a time limit, and an end that leaves nothing running.

A thread watches it, so that any event loop will do, and one that is closed in the middle ends the command too.
"""

from __future__ import annotations

import asyncio
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from quarterdeck.adapters.tools import keeper
from quarterdeck.adapters.tools.output import Output, Redactor
from quarterdeck.kernel.errors import ToolFailed

A = TypeVar("A")
MOST_OUTPUT = 64 << 20
LARGEST_FILE = 1 << 30
LOOK_S = 0.5
END_S = 5.0
_KEEPER = (sys.executable, "-I", "-S", "-B", str(Path(keeper.__file__)))


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be executed. `argv[0]` is absolute."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended. `cut_short` says why we ended it, if we did."""

    text: str
    digest: str
    status: int | None
    cut_short: str = ""


async def carry_out(order: Order, redactor: Redactor, say: Callable[[str], None]) -> Outcome:
    """Run it to its end. When this is cancelled, the command and all its children are gone before it returns."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Outcome] = loop.create_future()
    watch = _Watch(order, redactor, say, loop, ended)
    threading.Thread(target=watch.run, name="command", daemon=True).start()
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        watch.end()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([ended], timeout=END_S * 2)
        raise
    finally:
        watch.end()


class _Watch:
    """Starts a command and stays with it, in a thread of its own."""

    def __init__(
        self,
        order: Order,
        redactor: Redactor,
        say: Callable[[str], None],
        loop: asyncio.AbstractEventLoop,
        ended: asyncio.Future[Outcome],
    ) -> None:
        self._order, self._say, self._loop, self._ended = order, say, loop, ended
        self._output = Output(redactor, lambda text: self._tell(self._say_it, text))
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = False
        self._cut_short = ""

    def end(self) -> None:
        """From any thread, any number of times: close the pipe that the keeper listens to."""
        with self._lock:
            self._ending = True
            self._close_pipe()

    def run(self) -> None:
        try:
            outcome = self._watched()
        except OSError as error:
            self._tell(self._fail, ToolFailed(f"{self._order.argv[0]} could not be started: {error.strerror}."))
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
            self._tell(self._fail, error)
        else:
            self._tell(self._succeed, outcome)

    def _succeed(self, outcome: Outcome) -> None:
        if not self._ended.done():
            self._ended.set_result(outcome)

    def _fail(self, error: Exception) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)

    def _say_it(self, text: str) -> None:
        if not self._ending:
            self._say(text)

    def _watched(self) -> Outcome:
        process = self._start()
        if process is None:
            return Outcome("", "", None, "it was not wanted any more")
        until = time.monotonic() + self._order.timeout_s
        try:
            self._listen(process, until)
            status = self._wait(process, until)
        finally:
            self._bury(process)
        self._output.close()
        return Outcome(self._output.text, self._output.digest, status, self._cut_short)

    def _start(self) -> subprocess.Popen[bytes] | None:
        order = self._order
        limits = (str(LARGEST_FILE), str(int(order.timeout_s) * 4 + 10))
        with self._lock:
            if self._ending:
                return None
            self._process = subprocess.Popen(  # noqa: S603 - what it is was judged, and asked about, before
                [*_KEEPER, *limits, *order.argv],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=order.cwd,
                env=dict(order.env),
                start_new_session=True,
            )
            return self._process

    def _listen(self, process: subprocess.Popen[bytes], until: float) -> None:
        """Take the output until it ends, which is, at the latest, a moment after the keeper was told."""
        assert process.stdout is not None
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN)
        while time.monotonic() < until + END_S:
            self._check(until)
            if not poll.poll(LOOK_S * 1000):
                continue
            data = process.stdout.read(1 << 16)
            if not data:
                return
            self._output.take(data)
            if self._output.size > MOST_OUTPUT:
                self._stop(f"it said more than {MOST_OUTPUT:,} bytes")

    def _wait(self, process: subprocess.Popen[bytes], until: float) -> int | None:
        """A command may close its output and go on."""
        while time.monotonic() < until + END_S:
            self._check(until)
            with suppress(subprocess.TimeoutExpired):
                status = process.wait(LOOK_S)
                return None if self._cut_short else status
        return None

    def _check(self, until: float) -> None:
        if self._loop.is_closed():
            self._stop("whoever asked is gone")
        elif time.monotonic() >= until:
            self._stop(f"it took longer than {self._order.timeout_s:,.0f} seconds")

    def _stop(self, why: str) -> None:
        self._cut_short = self._cut_short or why
        with self._lock:
            self._close_pipe()

    def _close_pipe(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def _bury(self, process: subprocess.Popen[bytes]) -> None:
        self._stop("")
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()  # and with the keeper goes the command, whose death it is to outlive it
            process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def _tell(self, whom: Callable[[A], None], what: A) -> None:
        try:
            self._loop.call_soon_threadsafe(whom, what)
        except RuntimeError:  # the loop is closed
            self._stop("whoever asked is gone")
