"""The app without a lifespan, each request on an event loop of its own: a run that one leaves, the next takes up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from quarterdeck.settings import Settings
from quarterdeck.wiring import create_app

BOUND_S = 20.0
LOOPS = 6  # more than the crashes after which a run is left alone
WORDS = [f"word-{n} " for n in range(30)]


def app_on(folder: Path) -> FastAPI:
    script = folder / "script.json"
    hanging = {"content": WORDS, "hang": 5}
    script.write_text(json.dumps({"turns": [*[hanging] * LOOPS, {"content": WORDS}]}))
    return create_app(lambda: Settings(folder / "runs.db", model=f"scripted/{script}"))


def request(app: FastAPI, method: str, path: str, body: bytes, enough: Callable[[str], bool]) -> str:
    """One request on a loop that is made for it, and closed as soon as there is enough: its client just leaves."""

    async def exchange() -> str:
        said: list[str] = []
        leaving = asyncio.Event()
        first = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> dict[str, Any]:
            for message in first:
                return message
            await leaving.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            said.append(message.get("body", b"").decode())
            if enough("".join(said)):
                leaving.set()

        path_only, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path_only, "raw_path": path_only.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(b"host", b"127.0.0.1:8101"), (b"content-type", b"application/json")],
            "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 8101),
        }  # fmt: skip
        async with asyncio.timeout(BOUND_S):
            answering, left = asyncio.ensure_future(app(scope, receive, send)), asyncio.ensure_future(leaving.wait())
            await asyncio.wait((answering, left), return_when=asyncio.FIRST_COMPLETED)
        return "".join(said)

    return asyncio.run(exchange())


def test_a_run_outlives_every_loop_it_was_worked_on(tmp_path: Path) -> None:
    app = app_on(tmp_path)
    begin = request(
        app, "POST", "/v1/chat/stream", b'{"message": "Hi", "loop": "native"}', lambda said: "word-4" in said
    )
    task = json.loads(begin.partition("data: ")[2].partition("\n")[0])["task_id"]
    for nth in range(1, LOOPS):
        request(app, "GET", f"/v1/tasks/{task}/stream", b"", lambda said: said.count("word-4") > nth)  # noqa: B023
    whole = request(app, "GET", f"/v1/tasks/{task}/stream", b"", lambda said: False)
    assert whole.count("event: done") == 1
    assert '"status": "completed"' in whole
    assert whole.count("event: attempt_superseded") == LOOPS
    assert "crashed" not in whole
    told = json.loads(request(app, "GET", f"/v1/tasks/{task}", b"", lambda said: False))
    assert (told["status"], told["answer"]) == ("completed", "".join(WORDS))
