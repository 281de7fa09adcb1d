"""The server is killed again and again while agents of the board work: every wake-up is answered, and once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from door_client import ask
from door_serving import Serving, script

API = "/api/v1"
BOUND_S = 60.0
PIECES = [f"piece {n} " for n in range(12)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    model = script(tmp_path, {"content": PIECES, "pace": 0.01})
    serving = Serving(tmp_path, {"QUARTERDECK_MODEL": model})
    yield serving
    serving.stop()
    assert not serving.complaints(), "".join(serving.log[-40:])


async def made(server: Serving, path: str, body: object) -> Any:
    answer = await ask(server, "POST", API + path, body)
    assert answer.status == 201, answer
    return answer.document


async def got(server: Serving, path: str) -> Any:
    return (await ask(server, "GET", API + path)).document


async def test_what_agents_were_woken_for_is_done_once_however_often_the_server_dies(server: Serving) -> None:
    bo = await made(
        server, "/members", {"type": "agent", "name": "Bo", "runtime": "built_in", "max_concurrent_tasks": 2}
    )
    dock = await made(server, "/projects", {"name": "Dock", "members": ["bo"]})
    tasks = [
        await made(server, f"/projects/{dock['id']}/tasks", {"title": f"Task {n}", "assignees": ["bo"]})
        for n in range(3)
    ]
    await made(server, f"/chats/{dock['chat_id']}/messages", {"content": "@bo hello"})
    streamed = "SELECT coalesce(sum(last - first + 1), 0) FROM row WHERE kind = 'agent_stream.delta'"
    for enough in (16, 48, 60, None):
        async with asyncio.timeout(BOUND_S):
            wakes = await got(server, f"/members/{bo['id']}/work")
            while any(wake["ended_at"] is None for wake in wakes):
                if enough is not None and server.rows(streamed)[0][0] >= enough:
                    break
                wakes = await got(server, f"/members/{bo['id']}/work")
        if enough is not None:
            server.kill()
            server.start()
    assert [wake["status"] for wake in wakes] == ["completed"] * 4
    answer = "".join(PIECES).strip()
    said = [line["content"] for line in await got(server, f"/chats/{dock['chat_id']}/messages")]
    assert said == ["@bo hello", answer]
    for task in tasks:
        assert [line["content"] for line in await got(server, f"/tasks/{task['id']}/comments")] == [answer]
        assert (await got(server, f"/tasks/{task['id']}"))["status"] == "in_review"
        *broken, last = await got(server, f"/tasks/{task['id']}/work")
        assert last["status"] == "completed"
        assert {each["run_id"] for each in broken} <= {last["run_id"]}
