"""Clients by the reference rule: apply `seq == last + 1`, drop what was seen, and come back from `last` when cut."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
from proof_server import ServerProcess

T = TypeVar("T")


@dataclass(frozen=True)
class Frame:
    event: str
    data: dict[str, Any]
    epoch: str = ""
    seq: int = 0


@dataclass
class Transcript:
    """All that one client applied, in order. `raw` is everything that was sent to it."""

    message: str = ""
    key: str | None = None
    task: str | None = None
    frames: list[Frame] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    doubled: int = 0
    cuts: int = 0
    statuses: list[int] = field(default_factory=list)
    ended: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def sees(self, event: str) -> None:
        while not self.named(event):
            self.news.clear()
            await self.news.wait()

    @property
    def last(self) -> int:
        return self.frames[-1].seq if self.frames else 0

    @property
    def done(self) -> dict[str, Any]:
        assert self.frames
        assert self.frames[-1].event == "done", self.frames[-1]
        return self.frames[-1].data

    def named(self, event: str) -> list[Frame]:
        return [frame for frame in self.frames if frame.event == event]

    def text(self) -> str:
        """The answer as a screen shows it: what was superseded is taken back."""
        shown = {frame.seq: frame.data["delta"] for frame in self.named("content_delta")}
        for gone in self.named("attempt_superseded"):
            for seq in range(gone.data["from"], gone.data["to"] + 1):
                shown.pop(seq, None)
        return "".join(shown.values())

    def take(self, frame: Frame) -> None:
        if frame.event == "end":
            self.ended = True
        if not frame.seq:
            return
        assert not self.frames or frame.epoch == self.frames[0].epoch, "the log is another one"
        if frame.seq <= self.last:
            self.doubled += 1
            return
        assert frame.seq == self.last + 1, f"after {self.last} came {frame.seq}"
        self.task = self.task or frame.data["task_id"]
        self.frames.append(frame)
        self.news.set()


class Clients:
    """Some clients of one server, each following its run through every restart."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self.transcripts: list[Transcript] = []
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None))
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Clients:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._session.close()

    def ask(self, message: str, *, watchers: int = 1, **options: object) -> Transcript:
        """Somebody asks; others join as soon as the run has a name. The model is asked once, unless a loop is named."""
        asking = Transcript(message, key=f"key-{message}")
        known = asyncio.Event()
        self._follow(asking, {"message": message, "loop": "native", **options}, known)
        for _ in range(watchers):
            self._tasks.append(asyncio.ensure_future(self._join(asking, known)))
        return asking

    def join(self, task: str, message: str) -> Transcript:
        joining = Transcript(message, task=task)
        self._follow(joining, None, asyncio.Event())
        return joining

    async def stop(self, transcript: Transcript) -> int:
        async with self._session.post(f"{self._server.url}/v1/tasks/{transcript.task}/stop") as response:
            return response.status

    async def all_ended(self) -> None:
        """Whatever goes wrong in one client is raised here."""
        while pending := [task for task in self._tasks if not task.done()]:
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            self._raise_failures()
        self._raise_failures()

    async def meanwhile(self, awaited: Coroutine[Any, Any, T]) -> T:
        """Wait for something else, but not in vain: a client that fails is heard at once."""
        waiting = asyncio.ensure_future(awaited)
        try:
            while not waiting.done():
                pending = [task for task in self._tasks if not task.done()]
                await asyncio.wait([waiting, *pending], return_when=asyncio.FIRST_COMPLETED)
                self._raise_failures()
            return waiting.result()
        finally:
            waiting.cancel()

    def _raise_failures(self) -> None:
        for task in self._tasks:
            if task.done():
                task.result()

    def _follow(self, transcript: Transcript, body: dict[str, Any] | None, known: asyncio.Event) -> None:
        self.transcripts.append(transcript)
        self._tasks.append(asyncio.ensure_future(self._to_the_end(transcript, body, known)))

    async def _join(self, asking: Transcript, known: asyncio.Event) -> None:
        await known.wait()
        assert asking.task is not None
        joining = Transcript(asking.message, task=asking.task)
        self.transcripts.append(joining)
        await self._to_the_end(joining, None, asyncio.Event())

    async def _to_the_end(self, transcript: Transcript, body: dict[str, Any] | None, known: asyncio.Event) -> None:
        while True:
            generation = self._server.generation
            with suppress(aiohttp.ClientError, OSError):
                async for frame in self._stream(transcript, body):
                    transcript.take(frame)
                    if transcript.task is not None:
                        known.set()
            if transcript.ended:
                return
            transcript.cuts += 1
            await self._server.started_again(generation)

    async def _stream(self, transcript: Transcript, body: dict[str, Any] | None) -> AsyncIterator[Frame]:
        if transcript.task is None:
            headers = {"idempotency-key": transcript.key or ""}
            request = self._session.post(f"{self._server.url}/v1/chat/stream", json=body, headers=headers)
        else:
            headers = {} if not transcript.last else {"last-event-id": _place(transcript.frames[-1])}
            request = self._session.get(f"{self._server.url}/v1/tasks/{transcript.task}/stream", headers=headers)
        async with request as response:
            transcript.statuses.append(response.status)
            assert response.status in {200, 204}, await response.text()
            if response.status == 204:  # it has ended, and all was seen
                assert transcript.named("done")
                transcript.ended = True
            async for frame in _frames(response.content, transcript.raw):
                yield frame


def _place(frame: Frame) -> str:
    return f"v1.{frame.epoch}.{frame.seq}"


async def _frames(content: aiohttp.StreamReader, raw: list[str]) -> AsyncIterator[Frame]:
    """Whole frames only: what a cut left half-sent is not applied."""
    said: dict[str, str] = {}
    async for line in content:
        text = line.decode()
        raw.append(text)
        if text == "\n":
            _, epoch, seq = said.get("id", "..0").split(".")
            if "data" in said:
                yield Frame(said["event"], json.loads(said["data"]), epoch, int(seq))
            said = {}
        elif text.endswith("\n"):
            name, _, value = text.rstrip("\n").partition(": ")
            said[name] = value
