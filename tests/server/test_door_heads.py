"""Requests as bytes: heads and bodies that are too many, too long, too slow, or two things at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from door_bytes import said, statuses, too_large
from door_client import Connection, Watch, ask, ask_raw, let_go, request
from door_serving import Serving, Start

ROOM = 64 * 1024 * 1024


@pytest.fixture(scope="module")
def server(start: Start) -> Iterator[Serving]:
    """One with little patience, which must not have grown by more than the room that hostile input may take."""
    patience = {"server.protocol.HEADER_S": 0.3, "server.body.SECONDS": 0.3, "server.protocol.LINGER_S": 0.5}
    serving = start(constants=patience)
    before = serving.memory()
    yield serving
    assert serving.memory() < before + ROOM


async def still_serves(server: Serving) -> None:
    assert (await ask(server, "GET", "/healthz")).document == {"status": "ok"}


# Two meanings of one message, A18


POST = b"POST /v1/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
TWOFOLD = {
    "a length and chunks": b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "chunks and a length": b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "two lengths": b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + SMUGGLED,
    "two equal lengths in one": b"Content-Length: 5, 5\r\n\r\nhello" + SMUGGLED,
    "a length with a sign": b"Content-Length: +5\r\n\r\nhello" + SMUGGLED,
    "a negative length": b"Content-Length: -1\r\n\r\n" + SMUGGLED,
    "a length beyond all numbers": b"Content-Length: 99999999999999999999999\r\n\r\n" + SMUGGLED,
    "a length in hexadecimal": b"Content-Length: 0x5\r\n\r\nhello" + SMUGGLED,
    "chunked, then something else": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "an encoding that looks like chunked": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "a folded line": b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n" + SMUGGLED,
    "a line that ends in a bare LF": b"X: a\nContent-Length: 0\r\n\r\n" + SMUGGLED,
    "a line that ends in a bare CR": b"X: a\rContent-Length: 0\r\n\r\n" + SMUGGLED,
    "a blank before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    "a NUL in a value": b"X: a\x00b\r\nContent-Length: 0\r\n\r\n" + SMUGGLED,
    "a chunk that is no number": b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n" + SMUGGLED,
    "a chunk that ends in a bare LF": b"Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n" + SMUGGLED,
    "a chunk longer than it says": b"Transfer-Encoding: chunked\r\n\r\n1\r\nhello\r\n0\r\n\r\n" + SMUGGLED,
    "a chunk beyond all numbers": b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello" + SMUGGLED,
}


@pytest.mark.parametrize("name", TWOFOLD)
async def test_a_message_of_two_meanings_is_refused_and_hides_no_other(server: Serving, name: str) -> None:
    answers = await said(server, POST + TWOFOLD[name])
    assert len(statuses(answers)) <= 1
    assert b"smuggled" not in answers
    assert all(400 <= status < 500 for status in statuses(answers))
    await still_serves(server)


async def test_a_body_in_well_formed_chunks_is_taken(server: Serving) -> None:
    body = b'{"message"', b': "hello"}'
    chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in body)
    answer = await ask_raw(server, POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
    assert (answer.status, answer.document["status"]) == (200, "completed")


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00\x01\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"hello\r\n\r\n", b"\x00" * 100]
)
async def test_bytes_that_are_no_request_get_a_problem(server: Serving, garbage: bytes) -> None:
    answer = await ask_raw(server, garbage)
    assert (answer.status, answer.code) == (400, "bad_request")
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("target", ["http://evil.example/healthz", "http://127.0.0.1/healthz", "*", "healthz"])
async def test_a_target_that_is_not_a_path_is_refused(server: Serving, target: str) -> None:
    answer = await ask_raw(server, f"OPTIONS {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    assert answer.status == 400
    assert answer.code in {"bad_target", "bad_request"}


@pytest.mark.parametrize("version", [b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.2", b"HTTP/9.9"])
async def test_another_version_of_http_is_no_reason_to_stumble(server: Serving, version: bytes) -> None:
    answers = await said(server, b"GET /healthz %s\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % version)
    assert all(status < 500 for status in statuses(answers))


async def test_headers_behind_the_body_are_not_believed(server: Serving) -> None:
    """They come when nobody looks any more."""
    trailers = b"Origin: http://evil.example\r\nContent-Encoding: gzip\r\nX: y\r\n"
    body = b'14\r\n{"message": "hello"}\r\n0\r\n' + trailers + b"\r\n"
    answer = await ask_raw(server, POST + b"Transfer-Encoding: chunked\r\n\r\n" + body)
    assert answer.status == 200


# One request at a time


async def test_a_request_before_the_answer_to_the_last_is_not_taken(server: Serving) -> None:
    answers = await said(server, request("GET", "/healthz") + SMUGGLED + SMUGGLED)
    assert statuses(answers) == [200]
    assert b"connection: close" in answers


async def test_bytes_sent_during_a_stream_do_not_get_into_it(server: Serving) -> None:
    watch = await Watch.open(server, "POST", "/v1/chat/stream", {"message": "paced"})
    watch.connection.send(b"\x00garbage" + SMUGGLED)
    await watch.rest()
    assert watch.frames[-1].event == "end"
    assert await watch.connection.remainder() == b""
    watch.close()


async def test_requests_one_after_another_share_a_connection(server: Serving) -> None:
    connection = await Connection.open(server.port)
    for path, status in [("/healthz", 200), ("/nowhere", 404), ("/readyz", 200), ("/v1/tasks?limit=0", 422)]:
        connection.send(request("GET", path))
        assert (await connection.answer()).status == status
    connection.close()


async def test_an_upgrade_nobody_offers_is_answered_as_a_plain_request(server: Serving) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: %b\r\n%b\r\n"
    key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    for kind, more in [(b"websocket", key), (b"h2c", b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n")]:
        answers = await said(server, head % (kind, more) + SMUGGLED)
        assert statuses(answers) == [200]


# Heads, A21 and A25 of the threat model


BOMBS = {
    "many lines": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
    "a long line": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"y" * 5_000_000 + b"\r\n\r\n",
    "a long name": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X" * 5_000_000 + b": y\r\n\r\n",
    "a line without an end": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"y" * 5_000_000,
    "a long path": b"GET /" + b"a" * 5_000_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a long method": b"G" * 5_000_000 + b" / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "blank lines": b"\r\n" * 2_000_000,
    "a long chunk extension": POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 5_000_000,
    "a long trailer": POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"x" * 5_000_000,
    "many trailers": POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 500_000,
}


@pytest.mark.parametrize("name", BOMBS)
async def test_a_head_that_is_too_large_is_refused_without_being_kept(server: Serving, name: str) -> None:
    before = server.memory()
    answers = await said(server, BOMBS[name])
    assert statuses(answers) in ([431], [400])
    assert b"application/problem+json" in answers
    assert server.memory() < before + ROOM / 4
    await still_serves(server)


async def test_a_head_within_the_limits_is_taken(server: Serving) -> None:
    headers = {f"X-{n}": "y" * 200 for n in range(90)}
    assert (await ask(server, "GET", "/healthz", headers=headers)).status == 200


async def test_a_head_that_does_not_come_is_not_waited_for(server: Serving) -> None:
    for begin in (b"", b"G", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"GET / HTTP/1.1\r\nX"):
        connection = await Connection.open(server.port)
        connection.send(begin)
        answer = await connection.answer()
        assert (answer.status, answer.code) == (408, "slow_head")
        assert await connection.remainder() == b""
        connection.close()


async def test_a_head_that_drips_is_not_waited_for(server: Serving) -> None:
    """Each byte comes in time, the head does not."""
    connection = await Connection.open(server.port)
    listening = asyncio.ensure_future(connection.remainder())
    connection.send(b"GET /healthz HTTP/1.1\r\n")
    while not listening.done():
        connection.send(b"X: y\r\n")
        await asyncio.wait([listening], timeout=0.05)
    assert statuses(listening.result()) == [408]
    connection.close()


async def test_the_second_head_of_a_connection_is_held_to_the_same(server: Serving) -> None:
    connection = await Connection.open(server.port)
    connection.send(request("GET", "/healthz"))
    assert (await connection.answer()).status == 200
    connection.send(b"GET /healthz HTTP/1.1\r\n")
    assert (await connection.answer()).code == "slow_head"
    connection.close()


# Bodies, A21


async def test_a_message_of_a_hundred_thousand_letters_is_taken_in_one_piece(server: Serving) -> None:
    assert (await ask(server, "POST", "/v1/chat", {"message": "ä" * 100_000})).status == 200


@pytest.mark.parametrize("framing", [b"Content-Length: 1073741824", b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize("path", [b"/v1/chat", b"/v1/chat/stream", b"/v1/tasks/none/stop"])
async def test_a_body_of_a_gigabyte_is_refused_and_not_read(server: Serving, framing: bytes, path: bytes) -> None:
    before = server.memory()
    head = b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%b\r\n\r\n" % (path, framing)
    answer = await too_large(server, head, 1024)
    assert (answer.status, answer.code) == (413, "body_too_large")
    assert server.memory() < before + ROOM / 4


async def test_a_large_body_for_a_route_that_takes_none_is_not_read(server: Serving) -> None:
    before = server.memory()
    for path in (b"/healthz", b"/nowhere"):
        head = b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n" % path
        assert (await too_large(server, head, 1024)).status in {200, 404}
    assert server.memory() < before + ROOM / 4


async def test_a_body_that_drips_is_not_waited_for(server: Serving) -> None:
    for path in (b"/v1/chat", b"/v1/chat/stream", b"/v1/tasks/none/stop"):
        connection = await Connection.open(server.port)
        listening = asyncio.ensure_future(connection.answer())
        head = b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" % path
        connection.send(head + b"Content-Length: 1000\r\n\r\n{")
        while not listening.done():
            connection.send(b" ")
            await asyncio.wait([listening], timeout=0.05)
        assert (listening.result().status, listening.result().code) == (408, "slow_body")
        await connection.remainder()
        connection.close()


async def test_a_client_that_leaves_within_its_body_is_nobodys_trouble(server: Serving) -> None:
    for _ in range(20):
        connection = await Connection.open(server.port)
        connection.send(POST + b'Content-Length: 1000\r\n\r\n{"message"')
        await connection.writer.drain()
        connection.close()
    await still_serves(server)


async def test_a_client_that_asks_before_it_sends_is_told_to_go_on(server: Serving) -> None:
    connection = await Connection.open(server.port)
    connection.send(POST + b"Content-Length: 20\r\nExpect: 100-continue\r\n\r\n")
    assert (await connection.head())[0] == 100
    connection.send(b'{"message": "hello"}')
    assert (await connection.answer()).document["status"] == "completed"
    connection.close()


async def test_a_client_that_asks_before_it_sends_too_much_is_told_not_to(server: Serving) -> None:
    answer = await ask_raw(server, POST + b"Content-Length: 999999999\r\nExpect: 100-continue\r\n\r\n")
    assert (answer.status, answer.code) == (413, "body_too_large")


@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"])
async def test_an_answer_before_the_end_of_the_body_is_not_taken_away(server: Serving, more: bytes) -> None:
    """A socket closed over bytes that still come is reset, and a client that reads after it wrote finds nothing."""
    connection = await Connection.open(server.port)
    connection.reader._transport.pause_reading()  # type: ignore[attr-defined]
    connection.send(POST + more + b"Content-Length: 1073741824\r\n\r\n")
    await connection.writer.drain()
    for _ in range(4):
        await still_serves(server)
        connection.send(b" " * 10_000)
        await connection.writer.drain()
    await let_go(server, connection)
    connection.reader._transport.resume_reading()  # type: ignore[attr-defined]
    assert (await connection.answer()).code == "body_too_large"
