"""kill -9 at every point around a tool that changes something: the file it changes tells that it happened once.

Somebody answers what is asked, as a person would: they allow it, and where a crash left open what became of it, they
look at the file.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from proof_server import ServerProcess
from test_server_kill_points import verified

pytestmark = pytest.mark.proof

BOUND_S = 60.0
KILLED = -9
BEFORE, AFTER = "one\n", "one\ntwo\n"
RUNNING = "touch running; while [ ! -e go ]; do sleep 0.01; done"
APPEND = f"{RUNNING}; echo two >> effect"
EDIT = {"path": "effect", "old": BEFORE, "new": AFTER}

# What is done: of each kind of effect one. `asks` is how often a person may be asked about it.
DEEDS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "irreversible": ("shell_exec_safe", {"command": APPEND}),
    "probeable": ("file_edit", EDIT),
    "pure": ("file_read", {"path": "effect"}),
}
POINTS = {
    "C11 nothing is known of the call yet": "before:run.tool_weighed",
    "C12 it was weighed, nobody is asked": "after:run.tool_weighed",
    "C12 the question is written, not synced": "unsynced:approval.requested",
    "C13 the question is committed, nobody knows": "after:approval.requested",
    "C13 it waits for a person": "after:run.waiting",
    "C14 about to be allowed": "before:approval.decided",
    "C14 it is allowed, nobody knows": "after:approval.decided",
    "C14 about to begin": "before:run.tool_started",
    "C15 its beginning is written, not synced": "unsynced:run.tool_started",
    "C15 its beginning is committed, nothing is done": "after:run.tool_started",
    "C16 it runs": "running",
    "C17 it is done, nothing says so": "before:run.tool_finished",
    "C18 its end is written, not synced": "unsynced:run.tool_finished",
    "C18 its end is synced, not returned": "synced:run.tool_finished",
    "C19 before the model is asked again": "after:run.tool_finished",
    "C20 before the end of the run": "before:run.finished",
    "C20 the end is written, not synced": "unsynced:run.finished",
    "C21 the end is committed, nobody knows": "after:run.finished",
}
# What leads up to a call is the same for all of them; what follows on its beginning is not.
LATER = ("C15 its beginning is committed", "C17", "C18", "C19")
EACH = [(kind, point) for kind in DEEDS for point in POINTS if kind == "irreversible" or point.startswith(LATER)]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
async def server(tmp_path: Path, workspace: Path) -> AsyncIterator[ServerProcess]:
    turns = [{"told": "", "content": "Done."}]
    for kind, (name, arguments) in DEEDS.items():
        turns.append({"when": kind, "calls": [{"id": "c1", "name": name, "arguments": arguments}]})  # type: ignore[dict-item]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": turns}))
    settings = {"QUARTERDECK_MODEL": f"scripted/{script}", "QUARTERDECK_WORKSPACE": str(workspace)}
    server = ServerProcess(tmp_path / "data", "http://127.0.0.1:1", **settings)
    yield server
    await server.close()


class Person:
    """Asks, looks what is asked of people and answers, through any number of kills."""

    def __init__(self, server: ServerProcess, effect: Path) -> None:
        self.server, self.effect = server, effect
        self.asked: list[str] = []
        self.kills = 0

    async def drive(self, message: str, key: str, at: Callable[[], None]) -> str:
        """The run's id, once it has ended. `at` is called whenever somebody looks."""
        async with aiohttp.ClientSession() as self.session:
            task = None
            while True:
                try:
                    task = task or await self._begin(message, key)
                    if await self._ended(task):
                        return task
                    await self._answer()
                    at()
                except aiohttp.ClientError:
                    await self._start_again()

    async def _begin(self, message: str, key: str) -> str:
        body = {"message": message, "loop": "native"}
        asked = self.session.post(f"{self.server.url}/v1/chat/stream", json=body, headers={"idempotency-key": key})
        async with asked as answer:
            assert answer.status == 200
            async for line in answer.content:
                if line.startswith(b"data: {"):
                    return str(json.loads(line[6:])["task_id"])
        raise aiohttp.ClientError("it was cut before its first word")

    async def _ended(self, task: str) -> bool:
        async with self.session.get(f"{self.server.url}/v1/tasks/{task}") as answer:
            assert answer.status == 200, "what was acknowledged is there"
            return (await answer.json())["status"] in {"completed", "failed", "stopped", "quarantined"}

    async def _answer(self) -> None:
        async with self.session.get(f"{self.server.url}/v1/approvals/pending") as answer:
            pending = await answer.json()
        for each in pending:
            path, body = "allow_once", None
            if each["asked"] == "outcome":
                happened = self.effect.read_text() == AFTER
                path, body = "outcome", {"outcome": "happened" if happened else "again"}
            url = f"{self.server.url}/v1/approvals/{each['approval_id']}/{path}"
            async with self.session.post(url, json=body) if body else self.session.post(url) as answer:
                if answer.status == 200:
                    self.asked.append(each["asked"])

    async def _start_again(self) -> None:
        assert await self.server.gone() == KILLED
        self.kills += 1
        await self.server.start()

    async def events(self, task: str) -> list[dict[str, Any]]:
        url = f"{self.server.url}/v1/tasks/{task}/events"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return list(await answer.json())


@pytest.mark.parametrize(("kind", "point"), EACH)
async def test_what_a_tool_does_is_done_once_wherever_the_server_is_killed(
    point: str, kind: str, server: ServerProcess, workspace: Path, rounds: int
) -> None:
    effect = workspace / "effect"
    for nth in range(rounds):
        for name in ("go", "running"):
            (workspace / name).unlink(missing_ok=True)
        effect.write_text(BEFORE)
        killing = point.startswith("C16")
        if not killing:
            (workspace / "go").touch()

        def look(spent: list[bool] = [], killing: bool = killing) -> None:  # noqa: B006 - once for each round
            if killing and (workspace / "running").exists() and not spent:
                spent.append(True)
                with suppress(ProcessLookupError):
                    server.kill()
                (workspace / "go").touch()

        async with asyncio.timeout(BOUND_S):
            await server.start(None if killing else POINTS[point])
            person = Person(server, effect)
            task = await person.drive(f"{kind} {nth}", f"{kind}-{nth}", look)
            if not person.kills:  # it went with its last word
                assert await server.gone() == KILLED
                person.kills += 1
                await server.start()
            events = await person.events(task)
            assert await server.stop() == 0
        check(kind, person, events, effect)
        assert await verified(server.folder) == []


def check(kind: str, person: Person, events: list[dict[str, Any]], effect: Path) -> None:
    kinds = [event["event_type"] for event in events]
    assert person.kills == 1
    assert effect.read_text() == (BEFORE if kind == "pure" else AFTER), "nothing twice, nothing lost"
    assert kinds.count("done") == 1
    assert events[-1]["payload"]["status"] == "completed"
    assert kinds.count("tool_call_finished") == 1
    begun = kinds.count("tool_call_started")
    assert begun <= 2
    if kind == "irreversible":
        assert person.asked.count("outcome") <= 1
        assert (begun == 2) <= ("outcome" in person.asked), "it is done again only where a person said so"
    else:
        assert "outcome" not in person.asked
