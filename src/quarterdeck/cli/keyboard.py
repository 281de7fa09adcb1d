"""The keyboard of somebody who watches: whole lines while something else goes on, and words that nobody may see."""

from __future__ import annotations

import asyncio
import getpass
import os
import sys
import termios
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from quarterdeck.kernel.errors import NotAllowed

PIECE = 4096


@dataclass(frozen=True, slots=True)
class Typed:
    """A line, and when it was ended."""

    line: str
    at: float


class Keyboard:
    """The terminal stays as it is: it echoes, edits a line until it is ended, and makes a signal of Ctrl-C."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._heard: Callable[[Typed | None], None] | None = None
        self._held = b""

    # On the event loop

    async def listen(self, heard: Callable[[Typed | None], None]) -> None:
        """Hand over each line; None once somebody pressed Ctrl-D, or the terminal is gone."""
        self._heard, self._held = heard, b""
        await self.go_on()

    async def go_on(self) -> None:
        if self._heard is not None:
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)

    async def rest(self) -> None:
        """What is typed from now on is somebody else's."""
        asyncio.get_running_loop().remove_reader(self._descriptor)

    async def leave(self) -> None:
        self._heard = None
        await self.rest()

    def _read(self) -> None:
        heard = self._heard
        if heard is None or not in_front(self._descriptor):  # a job in the background that reads is stopped for it
            asyncio.get_running_loop().remove_reader(self._descriptor)
            return
        try:
            data = os.read(self._descriptor, PIECE)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            heard(None)
            return
        *lines, self._held = (self._held + data).split(b"\n")
        for line in lines:
            heard(Typed(line.decode("utf-8", "replace"), time.monotonic()))

    # On the thread of the terminal

    def forget(self) -> None:
        """What was typed and not read yet was not meant for what is shown next."""
        termios.tcflush(self._descriptor, termios.TCIFLUSH)


def hidden(prompt: str) -> str:
    """A line that is not shown while it is typed; refuses where it would be."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            return getpass.getpass(prompt)
        except getpass.GetPassWarning:
            raise NotAllowed("This terminal would show the password while it is typed.", code="echoes") from None


def at_hand() -> Keyboard | None:
    """The keyboard of the terminal that the answer is shown at; None where nobody would see what is asked.

    What is said may have been piped in: then it is the terminal behind our output.
    """
    if not sys.stdout.isatty():
        return None
    try:
        ours = sys.stdin is not None and sys.stdin.isatty()
        descriptor = sys.stdin.fileno() if ours else os.open(os.ttyname(sys.stdout.fileno()), os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return None
    return Keyboard(descriptor) if in_front(descriptor) else None


def in_front(descriptor: int) -> bool:
    """Whether what is typed there is for us."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False
