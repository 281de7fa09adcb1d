"""JSON, and what only looks like it; ids, cursors, paths and queries out of this world."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from door_client import Answer, Connection, ask, ask_raw, request
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


# Ids in paths

IDS = (
    "none",
    "0",
    "-1",
    "..",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f",
    "..%5c..%5c",
    "%00",
    "a%00b",
    "a%0d%0aX-Injected:%20yes",
    "%ff%fe",
    "%c0%ae%c0%ae",
    "%ed%a0%80",
    "%u0041",
    "%",
    "%zz",
    "a" * 10_000,
    "a%20b",
    "'%20OR%20'1'='1",
    "%25s%25n",
    "{task_id}",
    "*",
    "null",
    "undefined",
    "018f0000-0000-7000-8000-000000000000",
    quote("猫"),
    "~root",
    "$HOME",
    ";ls",
    "run%2fother",
)
ROUTES = (
    ("GET", "/v1/tasks/{}"),
    ("GET", "/v1/tasks/{}/events"),
    ("GET", "/v1/tasks/{}/stream"),
    ("POST", "/v1/tasks/{}/stop"),
    ("GET", "/v1/conversations/{}"),
)


@pytest.mark.parametrize("ident", IDS)
async def test_an_id_that_is_nobodys_is_not_found(server: Serving, ident: str) -> None:
    for method, route in ROUTES:
        told = await ask(server, method, route.format(ident))
        assert told.status == 404
        assert told.code in {"task_not_found", "conversation_not_found", "not_found"}
        assert "x-injected" not in told.headers
        assert len(told.body) < 1000


async def test_bytes_in_a_path_that_are_no_letters_are_refused(server: Serving) -> None:
    for target in (b"/v1/tasks/\xff", "/v1/tasks/猫".encode(), b"/v1/tasks/a\x7f", b"/v1/tasks/a\x01b"):
        told = await ask_raw(server, b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % target)
        assert told.status in {400, 404}
        assert told.code


QUERIES = (
    "limit=0",
    "limit=-1",
    "limit=501",
    "limit=1e2",
    "limit=ten",
    "limit=",
    "limit=1.5",
    "limit=9223372036854775808",
    "limit=" + "9" * 5000,
    "limit=%00",
    "limit=NaN",
    "limit=٣a",
    "limit=true",
)


@pytest.mark.parametrize("query", QUERIES)
async def test_a_number_that_is_none_is_refused(server: Serving, query: str) -> None:
    for path in ("/v1/tasks", "/v1/conversations"):
        told = await ask(server, "GET", f"{path}?{quote(query, safe='=%')}")
        assert (told.status, told.code) == (422, "invalid_request")
        assert told.document["errors"][0]["field"] == "limit"


@pytest.mark.parametrize(
    "query",
    [
        "after=" + "a" * 300,
        "after=",
        "after=%00",
        "after=..%2F",
        "after=%FF",
        "status=undone",
        "status=",
        "conversation_id=" + "c" * 200,
        "after=a%0Ab",
        "after='",
    ],
)
async def test_a_place_or_filter_that_is_none_is_refused(server: Serving, query: str) -> None:
    told = await ask(server, "GET", f"/v1/tasks?{query}")
    assert told.status == 422
    assert told.code


@pytest.mark.parametrize("after", ["-1", "x", "", "9007199254740992", "1e3", "%00", "9" * 5000])
async def test_a_place_in_the_events_that_is_none_is_refused(server: Serving, after: str) -> None:
    made = (await post(server, b'{"message": "hello"}')).document["task_id"]
    told = await ask(server, "GET", f"/v1/tasks/{made}/events?after={after}")
    assert (told.status, told.code) == (422, "invalid_request")


async def test_unknown_parameters_and_repeated_ones_do_no_harm(server: Serving) -> None:
    for query in ("limit=1&limit=2", "x=y", "&&&=&", "limit=1&" + "a=b&" * 5000, "%00=%00", "limit[]=1"):
        assert (await ask(server, "GET", f"/v1/tasks?{query}")).status == 200


async def test_odd_headers_do_no_harm(server: Serving) -> None:
    bombs = {
        "Range": "bytes=" + ",".join(f"{n}-{n}" for n in range(2000)),
        "Accept": "text/html;q=0.1," * 500,
        "Accept-Encoding": "gzip;q=1.0, " * 500,
        "Accept-Language": ",".join(["*"] * 3000),
        "Cookie": "a=b; " * 1500,
        "If-None-Match": '"x",' * 2000,
    }
    for name, value in bombs.items():
        for path in ("/healthz", "/v1/tasks", "/openapi.json", "/"):
            assert (await ask(server, "GET", path, headers={name: value})).status == 200


async def test_a_path_of_many_parts_is_not_found(server: Serving) -> None:
    for path in ("/a" * 10_000, "/" * 10_000, "/v1/tasks" + "/.." * 5_000, "//evil.example/v1/tasks", "/v1//tasks"):
        told = await ask(server, "GET", path)
        assert (told.status, told.code) == (404, "not_found")
        assert len(told.body) < 1000


async def test_the_server_serves_on_over_one_connection_through_all_of_it(server: Serving) -> None:
    connection = await Connection.open(server.port)
    for body in NOT_JSON.values():
        connection.send(request("POST", CHAT, body, host=server.host))
        assert (await connection.answer()).status == 400
    connection.send(request("GET", "/healthz"))
    assert (await connection.answer()).document == {"status": "ok"}
