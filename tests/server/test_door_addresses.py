"""Ids, paths, queries and headers out of this world: a 4xx in a known form, and nothing of it comes back to harm."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from door_client import ask, ask_raw
from door_serving import Serving

# Ids in paths

IDS = (
    "none",
    "0",
    "-1",
    "..",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f",
    "..%5c..%5c",
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


@pytest.mark.parametrize("after", ["-1", "x", "", "9007199254740992", "1e3", "9" * 5000])
async def test_a_place_in_the_events_that_is_none_is_refused(server: Serving, after: str) -> None:
    made = (await ask(server, "POST", "/v1/chat", {"message": "hello"})).document["task_id"]
    told = await ask(server, "GET", f"/v1/tasks/{made}/events?after={after}")
    assert (told.status, told.code) == (422, "invalid_request")


async def test_unknown_parameters_and_repeated_ones_do_no_harm(server: Serving) -> None:
    for query in ("limit=1&limit=2", "x=y", "&&&=&", "limit=1&" + "a=b&" * 5000, "limit[]=1"):
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
