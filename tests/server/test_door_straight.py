"""What goes past the framework answers as the framework would have: same gate, same words, same frames."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

from door_serving import script
from starlette.testclient import TestClient

from quarterdeck.settings import read_settings
from quarterdeck.wiring import LocalHouse, app_of

CHAT = "/v1/chat/stream"
MINTED = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|v1\.[0-9a-f]{8}")
TIMED = re.compile(r'_(?:ms|per_second)": ?[0-9.]+|"worker": ?"[^"]*"')

REQUESTS: tuple[dict[str, Any], ...] = (
    {"json": {"message": "hello", "conversation_id": "c"}},
    {"json": {"message": "again", "conversation_id": "k"}, "headers": {"Idempotency-Key": "k-1"}},
    {"json": {"message": "again", "conversation_id": "k"}, "headers": {"Idempotency-Key": "k-1"}},
    {"json": {"message": "other", "conversation_id": "k"}, "headers": {"Idempotency-Key": "k-1"}},
    {"json": {"message": "again"}, "headers": {"Idempotency-Key": "no key"}},
    {"json": {"message": " "}},
    {"json": {"message": 7, "surprise": 1}},
    {"json": {}},
    {"json": []},
    {"content": b"{", "headers": {"Content-Type": "application/json"}},
    {"content": b"message=hello", "headers": {"Content-Type": "text/plain"}},
    {"json": {"message": "hello"}, "headers": {"Host": "evil.example"}},
    {"json": {"message": "hello"}, "headers": {"Origin": "http://evil.example"}},
    {"json": {"message": "hello"}, "headers": {"Content-Encoding": "gzip"}},
)


def answers(client: TestClient) -> list[tuple[int, dict[str, str], str]]:
    """Everything there is to see, but for what no two answers share."""
    found = []
    for request in REQUESTS:
        answer = client.post(CHAT, **request)
        text = TIMED.sub("", MINTED.sub("", answer.text))
        found.append((answer.status_code, dict(answer.headers) | {"content-length": ""}, text))
    return found


def test_a_turn_that_goes_past_the_framework_is_answered_as_one_that_does_not(tmp_path: Path) -> None:
    told = []
    for name in ("straight", "round"):
        folder = tmp_path / name
        folder.mkdir()
        model = script(folder, {"content": ["one ", "two"], "burst": 2})
        environ = {"QUARTERDECK_DATA_DIR": str(folder), "QUARTERDECK_MODEL": model}
        house = LocalHouse(lambda environ=environ: read_settings(environ))  # type: ignore[misc]
        app: Any = app_of(house)
        assert ("POST", CHAT) in app.straight
        if name == "round":
            app.straight = {}
        told.append(answers(TestClient(app)))
        asyncio.run(house.close())
    assert {status for status, _, _ in told[0]} >= {200, 400, 403, 415, 421, 422}
    assert told[0] == told[1]
