"""JSON, and what only looks like it: refused with the reason, never a 5xx, never much memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from door_client import Answer, Connection, ask, request
from door_serving import Serving, Start

ROOM = 64 * 1024 * 1024
CHAT = "/v1/chat"


@pytest.fixture(scope="module")
def server(start: Start) -> Iterator[Serving]:
    serving = start()
    before = serving.memory()
    yield serving
    assert serving.memory() < before + ROOM


async def post(server: Serving, body: bytes, path: str = CHAT) -> Answer:
    return await ask(server, "POST", path, body)


NOT_JSON: dict[str, bytes] = {
    "nothing": b"",
    "a blank": b" ",
    "no json": b"hello",
    "an end too early": b'{"message": "hello"',
    "an end too late": b'{"message": "hello"}}',
    "two documents": b'{"message": "hello"} {"message": "hello"}',
    "single quotes": b"{'message': 'hello'}",
    "a comment": b'{"message": "hello"} // there',
    "a trailing comma": b'{"message": "hello",}',
    "a hundred thousand lists": b"[" * 100_000,
    "a hundred thousand closed lists": b"[" * 100_000 + b"]" * 100_000,
    "a hundred thousand objects": b'{"a":' * 100_000,
    "33 lists": b'{"message":' + b"[" * 33 + b"]" * 33 + b"}",
    "brackets that do not match": b'{"message": [}]',
    "an integer of 5,000 digits": b'{"message": "hello", "deadline_s": ' + b"9" * 5000 + b"}",
    "an integer of 64 digits": b'{"message": "hello", "deadline_s": ' + b"9" * 64 + b"}",
    "2^63": b'{"message": "hello", "deadline_s": 9223372036854775808}',
    "-2^64": b'{"message": "hello", "deadline_s": -18446744073709551616}',
    "NaN": b'{"message": "hello", "deadline_s": NaN}',
    "Infinity": b'{"message": "hello", "deadline_s": Infinity}',
    "-Infinity": b'{"message": "hello", "deadline_s": -Infinity}',
    "1e400": b'{"message": "hello", "deadline_s": 1e400}',
    "a float of 5,000 digits": b'{"message": "hello", "deadline_s": 1.' + b"1" * 5000 + b"}",
    "a leading zero": b'{"message": "hello", "deadline_s": 01}',
    "a key twice": b'{"message": "hello", "message": "goodbye"}',
    "a key twice, once escaped": b'{"message": "hello", "m\\u0065ssage": "goodbye"}',
    "half a character": b'{"message": "\\ud800"}',
    "the other half": b'{"message": "\\udc00\\ud800"}',
    "half a character in a key": b'{"message": "hello", "\\ud800": 1}',
    "an escaped NUL": b'{"message": "a\\u0000b"}',
    "an escaped NUL in a key": b'{"message": "hello", "a\\u0000": 1}',
    "a NUL": b'{"message": "a\x00b"}',
    "a NUL behind": b'{"message": "hello"}\x00',
    "a newline in a string": b'{"message": "a\nb"}',
    "UTF-16": '{"message": "hello"}'.encode("utf-16"),
    "UTF-16 without a mark": '{"message": "hello"}'.encode("utf-16-le"),
    "UTF-32": '{"message": "hello"}'.encode("utf-32"),
    "a byte order mark": b'\xef\xbb\xbf{"message": "hello"}',
    "latin-1": '{"message": "hällo"}'.encode("latin-1"),
    "overlong UTF-8": b'{"message": "\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"message": "\xed\xa0\x80"}',
    "a million members": b'{"message": "hello"' + b"".join(b',"%x":0' % n for n in range(100_000)) + b"}",
    "a string without an end": b'{"message": "' + b"\\u0041" * 150_000,
    "a string of backslashes": b'{"message": "' + b"\\" * 1_000_001,
}


@pytest.mark.parametrize("name", NOT_JSON)
@pytest.mark.parametrize("path", [CHAT, "/v1/tasks/none/stop"])
async def test_what_is_not_our_json_is_refused_with_the_reason(server: Serving, name: str, path: str) -> None:
    told = await post(server, NOT_JSON[name], path)
    if path != CHAT and not NOT_JSON[name]:
        assert told.status == 404, "this route needs no body"
        return
    assert (told.status, told.code) == (400, "bad_json")
    assert len(told.document["detail"]) > 40
    assert len(told.body) < 2000


async def test_more_than_a_megabyte_is_too_large_however_it_is_made(server: Serving) -> None:
    members = b'{"message": "hello"' + b"".join(b',"%x":0' % n for n in range(1_000_000)) + b"}"
    for body in (members, b'{"message": "' + b"a" * 2_000_000 + b'"}', b" " * 1_048_577):
        told = await post(server, body)
        assert (told.status, told.code) == (413, "body_too_large")


ODD: dict[str, dict[str, Any] | list[Any] | str | float | None] = {
    "a list": [{"message": "hello"}],
    "a string": "hello",
    "a number": 1,
    "null": None,
    "no message": {},
    "an unknown field": {"message": "hello", "mesage": "x"},
    "a prototype": {"message": "hello", "__proto__": {"admin": True}},
    "a constructor": {"message": "hello", "constructor": {"prototype": {}}},
    "a class": {"message": "hello", "__class__": "os.system"},
    "a reference": {"message": {"$ref": "#"}},
    "a tenant": {"message": "hello", "tenant": "other"},
    "an unknown field with a long name": {"message": "hello", "x" * 100_000: 1},
    "nine thousand unknown fields": {"message": "hello", **{f"f{n}": n for n in range(9000)}},
    "a message that is a number": {"message": 1},
    "a message that is null": {"message": None},
    "a message that is a list": {"message": ["hello"]},
    "an empty message": {"message": ""},
    "a blank message": {"message": " \n\t\u2003"},
    "a message that is too long": {"message": "x" * 200_001},
    "a loop we do not know": {"message": "hello", "loop": "endless"},
    "reasoning of another kind": {"message": "hello", "reasoning": True},
    "a flag that is a word": {"message": "hello", "debug": "yes"},
    "no time at all": {"message": "hello", "deadline_s": 0},
    "less than no time": {"message": "hello", "deadline_s": -1},
    "more than a day": {"message": "hello", "deadline_s": 1e300},
    "a long workspace": {"message": "hello", "workspace": "w" * 5000},
    "an empty conversation": {"message": "hello", "conversation_id": ""},
    "a conversation that is a path": {"message": "hello", "conversation_id": "../../etc/passwd"},
    "a conversation of many letters": {"message": "hello", "conversation_id": "c" * 129},
    "a conversation with a newline": {"message": "hello", "conversation_id": "a\nb"},
    "a conversation of other letters": {"message": "hello", "conversation_id": "разговор"},
    "a conversation that is SQL": {"message": "hello", "conversation_id": "x' OR '1'='1"},
}


@pytest.mark.parametrize("name", ODD)
async def test_a_request_that_makes_no_sense_is_refused_by_field(server: Serving, name: str) -> None:
    told = await post(server, json.dumps(ODD[name]).encode())
    assert told.status == 422
    assert told.code
    assert len(told.body) < 10_000


async def test_a_refusal_names_the_field(server: Serving) -> None:
    told = await post(server, b'{"message": "hello", "mesage": 1, "debug": "yes"}')
    assert {each["field"] for each in told.document["errors"]} == {"mesage", "debug"}
    assert all(each["problem"] for each in told.document["errors"])


GOOD = (
    "hello",
    'a literal \\u0000 and "quotes" {[( }',
    "\u2028\u2029\u0085\ufeff\u200b\U000e0041 \U0001f600 猫 привет",
    "line\r\nbreaks\tand\x7fcontrol\x1b[31m",
    "[" * 1000,
    "\\" * 1000,
    "'; DROP TABLE row; --",
    "<script>alert(1)</script>",
    "data: x\n\nevent: done\ndata: {}",
)


@pytest.mark.parametrize("text", GOOD)
async def test_any_text_is_a_message_and_comes_back_as_it_was(server: Serving, text: str) -> None:
    for body in (json.dumps({"message": text}).encode(), json.dumps({"message": text}, ensure_ascii=False).encode()):
        told = await post(server, body)
        assert told.status == 200
        kept = await ask(server, "GET", f"/v1/tasks/{told.document['task_id']}")
        assert kept.document["message"] == text


async def test_thirty_two_levels_are_not_too_deep(server: Serving) -> None:
    told = await post(server, b'{"message":' + b"[" * 31 + b"]" * 31 + b"}")
    assert (told.status, told.code) == (422, "invalid_request")


async def test_the_server_serves_on_over_one_connection_through_all_of_it(server: Serving) -> None:
    connection = await Connection.open(server.port)
    for body in NOT_JSON.values():
        connection.send(request("POST", CHAT, body, host=server.host))
        assert (await connection.answer()).status == 400
    connection.send(request("GET", "/healthz"))
    assert (await connection.answer()).document == {"status": "ok"}
