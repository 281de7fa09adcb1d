"""kill -9 at every exact point of a tool call: looking is repeated, a deed never without a person."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from proof_checker import Story, check_run, check_transcript, read
from proof_clients import Clients, Transcript
from proof_provider import Provider
from proof_server import ServerProcess

pytestmark = pytest.mark.proof

BOUND_S = 30.0
KILLED = -9
LEDGER = "ledger.txt"
DEED = ("shell_exec_safe", {"command": f"echo did >> {LEDGER}"})
LOOK = ("list_dir", {"path": "."})
WRITE = ("file_write", {"path": LEDGER, "content": "did\n"})

# Where the server is killed, and how often the model has then wished for the call once all is over.
KNOWN = {
    "C11 the wish is not recorded": ("before:run.attempt_finished", 2),
    "C11 the wish is recorded, nobody looked at it": ("after:run.attempt_finished", 1),
    "C12 it was looked at, nothing says so": ("before:run.tool_weighed", 1),
    "C12 it was looked at, nobody was asked": ("before:approval.requested", 1),
    "C13 a person is asked": ("after:approval.requested", 1),
    "C14 a person answers, nothing says so": ("before:approval.decided", 1),
    "C14 the answer is written, not synced": ("unsynced:approval.decided", 1),
    "C14 the answer is committed, nothing has begun": ("after:approval.decided", 1),
    "C15 about to begin": ("before:run.tool_started", 1),
    "C18 the end is written, not synced": ("unsynced:run.tool_finished", 1),
    "C18 the end is synced, not returned": ("synced:run.tool_finished", 1),
    "C18 the end is committed, nobody knows": ("after:run.tool_finished", 1),
}
# Where nobody can know whether it took effect: what a person says of it, and how often it has happened in the end.
UNKNOWN = {
    "C15 begun, by the log; a person says to do it again": ("after:run.tool_started", "again", 1),
    "C15 begun, by the log; a person lets it be": ("after:run.tool_started", "give_up", 0),
    "C17 done, nothing says so; a person saw that it happened": ("before:run.tool_finished", "happened", 1),
}


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider(deltas=3) as provider:
        yield provider


@pytest.fixture
async def server(tmp_path: Path, provider: Provider) -> AsyncIterator[ServerProcess]:
    server = ServerProcess(tmp_path / "data", provider.url)
    yield server
    await server.close()


@dataclass
class Person:
    """Reads what a run asks as its watcher is told it, and answers; whom a kill cuts off answers again."""

    server: ServerProcess
    watching: Transcript
    outcome: str = "happened"
    asked: list[str] = field(default_factory=list)

    async def answers(self, session: aiohttp.ClientSession) -> None:
        answered = 0
        while True:
            self.watching.news.clear()
            frames = self.watching.named("tool_approval_requested")
            for frame in frames[answered:]:
                await self._answer(session, frame.data["approval_id"])
            answered = len(frames)
            await self.watching.news.wait()

    async def _answer(self, session: aiohttp.ClientSession, approval: str) -> None:
        while True:
            generation, at = self.server.generation, f"{self.server.url}/v1/approvals/{approval}"
            try:
                async with session.get(at) as told:
                    asked = await told.json()
                if asked["status"] != "pending":
                    return
                way, said = ("allow_once", {}) if asked["asked"] == "tool" else ("outcome", {"outcome": self.outcome})
                async with session.post(f"{at}/{way}", json=said) as answer:
                    assert answer.status == 200, await answer.text()
                self.asked.append(asked["asked"])
                return
            except (aiohttp.ClientError, OSError):
                await self.server.started_again(generation)


async def told_to(server: ServerProcess, kill_at: str, outcome: str = "happened") -> tuple[Person, Story]:
    """One run through one kill, with somebody who watches and answers; it must come to its end."""
    await server.start(kill_at)
    async with asyncio.timeout(BOUND_S), aiohttp.ClientSession() as session, Clients(server) as clients:
        body = {"message": "do it", "loop": "native"}
        async with session.post(f"{server.url}/v1/chat/stream", json=body) as begun:
            first = [await begun.content.readline() for _ in range(5)][-1]
        watching = clients.join(json.loads(first.partition(b": ")[2])["task_id"], "do it")
        person = Person(server, watching, outcome)
        answering = asyncio.ensure_future(person.answers(session))
        try:
            assert await clients.meanwhile(server.gone()) == KILLED
            await server.start()
            await clients.all_ended()
        finally:
            answering.cancel()
    assert await server.stop() == 0
    story = read(server.folder)["run", watching.task or ""]
    check_transcript(watching, story)
    check_run(story)
    assert watching.done["status"] == "completed"
    return person, story


def deeds(server: ServerProcess) -> int:
    ledger = server.folder / "workspace" / LEDGER
    return ledger.read_text().count("did") if ledger.exists() else 0


@pytest.mark.parametrize("point", KNOWN)
async def test_what_a_person_allowed_happens_once(point: str, server: ServerProcess, provider: Provider) -> None:
    provider.call = DEED
    kill_at, wished = KNOWN[point]
    person, story = await told_to(server, kill_at)
    assert deeds(server) == 1
    assert person.asked == ["tool"] or ("decided" in kill_at and person.asked == [])
    assert provider.called == wished
    assert [data["ok"] for _, data in story.of("run.tool_finished")] == [True]


@pytest.mark.parametrize("point", UNKNOWN)
async def test_what_may_have_happened_is_not_done_again_without_a_person(
    point: str, server: ServerProcess, provider: Provider
) -> None:
    provider.call = DEED
    kill_at, outcome, happened = UNKNOWN[point]
    person, _ = await told_to(server, kill_at, outcome)
    assert person.asked == ["tool", "outcome"]
    assert deeds(server) == happened


@pytest.mark.parametrize("kill_at", ["after:run.tool_started", "before:run.tool_finished"])
async def test_what_only_looks_is_done_again_and_nobody_is_asked(
    kill_at: str, server: ServerProcess, provider: Provider
) -> None:
    provider.call = LOOK
    person, story = await told_to(server, kill_at)
    assert person.asked == []
    assert len(story.of("run.tool_started")) == 2
    assert [data["ok"] for _, data in story.of("run.tool_finished")] == [True]


@pytest.mark.parametrize("kill_at", ["after:run.tool_started", "before:run.tool_finished"])
async def test_what_can_be_looked_up_is_not_asked_about(
    kill_at: str, server: ServerProcess, provider: Provider
) -> None:
    """Whether a file was written, the file tells."""
    provider.call = WRITE
    person, _ = await told_to(server, kill_at)
    assert person.asked == ["tool"]
    assert deeds(server) == 1
