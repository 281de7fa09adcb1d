"""Whatever comes over a kept connection: an answer below 500 in a known form, and the next request is served."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from door_client import Connection, ask, close_all, request
from door_serving import Serving, Start
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

ROOM = 64 * 1024 * 1024
EVERYDAY = 400

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
FIELDS = ("message", "workspace", "conversation_id", "reasoning", "loop", "debug", "deadline_s", "reason", "x")
requests = st.dictionaries(st.sampled_from(FIELDS), values | st.just("hello"), max_size=5)
bodies = st.one_of(
    requests.map(lambda value: json.dumps(value).encode()),
    values.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=200),
    requests.flatmap(lambda value: mutated(json.dumps(value).encode())),
)
SEGMENTS = st.one_of(
    st.sampled_from(["v1", "tasks", "chat", "stream", "events", "stop", "conversations", "healthz", "..", ".", ""]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#?"), max_size=12),
    st.integers(0, 255).map(lambda byte: f"%{byte:02x}"),
)
KNOWN = (
    "/v1/chat", "/v1/tasks", "/v1/tasks/none", "/v1/tasks/none/stop", "/v1/tasks/none/stream", "/v1/conversations",
    "/v1/tasks/none/events", "/openapi.json", "/readyz",
)  # fmt: skip
paths = st.one_of(st.sampled_from(KNOWN), st.lists(SEGMENTS, max_size=5).map(lambda parts: "/" + "/".join(parts)))
names = st.sampled_from(["limit", "after", "from", "status", "conversation_id", "x"])
printable = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"), max_size=20)
queries = st.lists(st.tuples(names, printable), max_size=3).map(lambda pairs: "&".join(f"{n}={v}" for n, v in pairs))
HEADERS = (
    "Accept", "Origin", "Idempotency-Key", "Last-Event-ID", "Sec-Fetch-Site", "Range", "Cookie", "Content-Encoding",
    "X-Forwarded-Host", "Authorization", "If-Match",
)  # fmt: skip
odd = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=30)
headers = st.dictionaries(st.sampled_from(HEADERS), odd, max_size=3)
methods = st.sampled_from(["GET", "POST", "POST", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])


def mutated(body: bytes) -> st.SearchStrategy[bytes]:
    """The body with one byte changed."""
    place, byte = st.integers(0, max(0, len(body) - 1)), st.integers(0, 255)
    return st.tuples(place, byte).map(lambda change: body[: change[0]] + bytes([change[1]]) + body[change[0] + 1 :])


@pytest.fixture(scope="module")
def server(start: Start) -> Iterator[Serving]:
    serving = start({"content": ["ok"]})
    before = serving.memory()
    yield serving
    assert serving.memory() < before + ROOM


@pytest.fixture
def fuzzing(rounds: int) -> settings:
    return settings(
        max_examples=EVERYDAY * rounds,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=rounds == 1,
    )


class Kept:
    """One connection for many requests, opened again where the server closed it."""

    def __init__(self, server: Serving) -> None:
        self._server = server
        self._connection: Connection | None = None

    async def ask(self, data: bytes) -> Any:
        connection = self._connection or await Connection.open(self._server.port)
        self._connection = connection
        connection.send(data)
        answer = await connection.answer()
        if answer.headers.get("connection") == "close" or connection.reader.at_eof():
            self.hang_up()
        return answer

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@pytest.mark.proof
def test_well_formed_requests_of_any_content_are_answered(server: Serving, fuzzing: settings) -> None:
    with asyncio.Runner() as runner:
        kept = Kept(server)

        @fuzzing
        @given(method=methods, path=paths, query=queries, body=bodies, more=headers)
        def one(method: str, path: str, query: str, body: bytes, more: dict[str, str]) -> None:
            data = request(method, f"{path}?{query}" if query else path, body, more, host=server.host)
            answer = runner.run(kept.ask(data))
            assert answer.status < 500
            if answer.status >= 400:
                assert answer.code
            assert runner.run(kept.ask(request("GET", "/healthz"))).status == 200

        one()
        kept.hang_up()
        runner.run(close_all())


@pytest.mark.proof
def test_bytes_of_any_kind_are_answered_or_hung_up_on(server: Serving, fuzzing: settings) -> None:
    whole = request("POST", "/v1/chat", {"message": "hello"}, host=server.host)
    pieces = st.one_of(
        st.binary(max_size=100),
        mutated(whole),
        st.tuples(mutated(whole), mutated(whole)).map(b"".join),
        st.integers(0, len(whole)).map(lambda size: whole[:size] + b"\r\n\r\n\r\n\r\n"),
    )

    async def exchange(data: bytes) -> bytes:
        connection = await Connection.open(server.port)
        connection.send(data)
        connection.writer.write_eof()
        said = await connection.remainder()
        connection.close()
        await close_all()
        return said

    with asyncio.Runner() as runner:

        @fuzzing
        @given(data=pieces)
        def one(data: bytes) -> None:
            said = runner.run(exchange(data))
            assert b"HTTP/1.1 5" not in said
            assert said == b"" or said.startswith(b"HTTP/1.1 ")

        one()
        assert runner.run(ask(server, "GET", "/healthz")).status == 200
        runner.run(close_all())
