"""In one process, without a lifespan, each request on an event loop of its own: nothing belongs to the first loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from door_client import frame_of
from door_serving import script
from starlette.testclient import TestClient

from quarterdeck.settings import read_settings
from quarterdeck.wiring import LocalHouse, app_of

Opened = Callable[..., TestClient]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """A client in this process for a house with this script; no `with`, so that no loop outlives a request."""
    houses: list[LocalHouse] = []

    def open_one(*turns: Any, model: str | None = None, storage: str = "sqlite") -> TestClient:
        environ = {
            "QUARTERDECK_DATA_DIR": str(tmp_path),
            "QUARTERDECK_MODEL": model or script(tmp_path, *turns),
            "QUARTERDECK_STORAGE": storage,
        }
        house = LocalHouse(lambda: read_settings(environ))
        houses.append(house)
        return TestClient(app_of(house))

    yield open_one
    for house in houses:
        asyncio.run(house.close())


def frames(text: str) -> list[Any]:
    return [frame_of(raw.encode() + b"\n\n") for raw in text.split("\n\n") if raw and raw != "retry: 1000"]


@pytest.mark.parametrize("storage", ["sqlite", "memory"])
def test_requests_on_loops_of_their_own_share_one_house(opened: Opened, storage: str) -> None:
    client = opened({"content": ["one ", "two"]}, storage=storage)
    for turn in range(5):
        told = frames(client.post("/v1/chat/stream", json={"message": f"hello {turn}", "conversation_id": "c"}).text)
        assert [frame.event for frame in told][-2:] == ["done", "end"]
        assert [frame.seq for frame in told[:-1]] == list(range(1, len(told)))
        again = client.get(f"/v1/tasks/{told[0].data['task_id']}/stream")
        assert [frame.raw for frame in frames(again.text)] == [frame.raw for frame in told]
    assert len(client.get("/v1/tasks").json()) == 5
    assert len(client.get("/v1/conversations/c").json()["messages"]) == 10


def test_a_run_whose_loop_is_gone_is_taken_up_by_the_next(opened: Opened) -> None:
    """The first answer hangs. Its loop ends under it; the next request's loop finds the run and asks anew."""
    client = opened({"content": ["half"], "hang": 1}, {"content": ["whole"]})

    async def begin_and_leave() -> str:
        """What a client in this process does that goes away: its loop is gone with the stream still open."""
        sent: list[bytes] = []
        enough = asyncio.Event()
        body = json.dumps({"message": "hello", "loop": "native"}).encode()
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": "/v1/chat/stream", "raw_path": b"/v1/chat/stream", "query_string": b"", "root_path": "",
            "headers": [(b"host", b"testserver"), (b"content-type", b"application/json")],
            "client": ("testclient", 1), "server": ("testserver", 80),
        }  # fmt: skip

        async def receive() -> dict[str, Any]:
            if not enough.is_set() and not sent:
                return {"type": "http.request", "body": body, "more_body": False}
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: dict[str, Any]) -> None:
            sent.append(message.get("body", b""))
            if b"half" in message.get("body", b""):
                enough.set()

        asking = asyncio.ensure_future(client.app(scope, receive, send))
        async with asyncio.timeout(10):
            await enough.wait()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        return str(frames(b"".join(sent).decode())[0].data["task_id"])

    task = asyncio.run(begin_and_leave())
    told = frames(client.get(f"/v1/tasks/{task}/stream").text)
    assert [frame.seq for frame in told[:-1]] == list(range(1, len(told)))
    assert [frame.event for frame in told].count("done") == 1
    assert client.get(f"/v1/tasks/{task}").json()["answer"] == "whole"
    assert client.get(f"/v1/tasks/{task}").json()["status"] == "completed"


def test_a_lifespan_opens_and_closes_the_same_house(opened: Opened) -> None:
    client = opened({"content": ["one"]})
    with client:
        assert client.post("/v1/chat", json={"message": "hello"}).json()["answer"] == "one"
    assert len(client.get("/v1/tasks").json()) == 1, "opened again at the next request"


def test_two_clients_on_two_threads_share_a_house(opened: Opened) -> None:
    client = opened({"content": ["one ", "two"], "pace": 0.01})

    async def both() -> list[Any]:
        def ask(turn: int) -> Any:
            return client.post("/v1/chat", json={"message": f"hello {turn}"}).json()

        async with asyncio.timeout(20):
            return await asyncio.gather(*(asyncio.to_thread(ask, turn) for turn in range(6)))

    answers = asyncio.run(both())
    assert {answer["answer"] for answer in answers} == {"one two"}
    assert len({answer["task_id"] for answer in answers}) == 6


def test_a_storage_that_cannot_be_opened_is_a_problem_and_not_a_riddle(opened: Opened, tmp_path: Path) -> None:
    first, second = opened({"content": ["one"]}), opened({"content": ["one"]})
    assert first.get("/readyz").status_code == 200
    told = second.get("/readyz")
    assert (told.status_code, told.json()["code"]) == (503, "data_folder_locked")
    assert str(tmp_path) in told.json()["detail"]
    assert first.get("/readyz").status_code == 200
