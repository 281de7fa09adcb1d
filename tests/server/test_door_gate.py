"""Who may come in at all: exact names, exact origins, and nothing a client says about itself is believed."""

from __future__ import annotations

import socket

import pytest
from door_client import ask, ask_raw, request
from door_serving import Serving

PATHS = ("/", "/healthz", "/readyz", "/openapi.json", "/docs", "/v1/tasks", "/v1/conversations", "/nowhere", "/ws")
CHAT = "/v1/chat"

STRANGERS = (
    "evil.example",
    "localhost.evil.com",
    "evil.com:{port}",
    "127.0.0.1.nip.io:{port}",
    "localhost.:{port}",
    "localhost:{port}@evil.example",
    "127.0.0.1:{port}.evil.example",
    "127.1:{port}",
    "2130706433:{port}",
    "0.0.0.0:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "[::1%25lo]:{port}",
    "localhost:0",
    "localhost:1",
    "localhost:{port}0",
    "localhost:0{port}",
    "localhost:99999999",
    "localhost:{port}/path",
    "localhost//evil",
    "localhost:{port}, evil.example",
    "localhost evil",
    "",
    "*",
    "null",
)


@pytest.mark.parametrize("name", STRANGERS)
async def test_a_name_that_is_not_ours_is_misdirected(server: Serving, name: str) -> None:
    host = name.format(port=server.port)
    for path in ("/healthz", "/nowhere"):
        told = await ask_raw(server, request("GET", path, host=host))
        assert (told.status, told.code) == (421, "bad_host")


@pytest.mark.parametrize("path", PATHS)
async def test_a_rebound_name_reaches_no_route(server: Serving, path: str) -> None:
    told = await ask_raw(server, request("GET", path, host=f"evil.example:{server.port}"))
    assert (told.status, told.code) == (421, "bad_host")


@pytest.mark.parametrize(
    "name", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}", "localhost"]
)
async def test_a_name_of_ours_is_served(server: Serving, name: str) -> None:
    told = await ask_raw(server, request("GET", "/healthz", host=name.format(port=server.port)))
    assert told.document == {"status": "ok"}


async def test_a_request_without_a_host_or_with_two_is_refused(server: Serving) -> None:
    for head in (b"", b"Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n", b"Host: 127.0.0.1\r\nhost: evil.example\r\n"):
        told = await ask_raw(server, b"GET /healthz HTTP/1.1\r\n" + head + b"\r\n")
        assert (told.status, told.code) == (400, "bad_request")


ORIGINS = (
    "http://evil.example",
    "https://evil.example",
    "http://localhost.evil.com",
    "http://localhost.evil.com:{port}",
    "http://localhost:{port}@evil.com",
    "http://localhost:{port}.evil.com",
    "http://evil.com/http://localhost:{port}",
    "http://localhost",
    "http://127.0.0.1:80",
    "http://127.0.0.1:0",
    "http://127.0.0.1:1",
    "https://127.0.0.1:{port}",
    "https://localhost",
    "http://localhost.:{port}",
    "http://[::1%25lo]:{port}",
    "http://localhost:{port}/",
    "http://localhost:{port}?",
    "http://localhost:{port} http://evil.example",
    "ws://localhost:{port}",
    "file://",
    "null",
    "",
    "*",
    "localhost:{port}",
    "chrome-extension://abcdef",
)


@pytest.mark.parametrize("origin", ORIGINS)
async def test_a_page_of_another_origin_changes_and_reads_nothing(server: Serving, origin: str) -> None:
    headers = {"Origin": origin.format(port=server.port)}
    for method, path, body in (("POST", CHAT, {"message": "hello"}), ("GET", "/v1/tasks", None)):
        told = await ask(server, method, path, body, headers)
        assert (told.status, told.code) == (403, "foreign_origin")
        assert not any(name.startswith("access-control") for name in told.headers)


@pytest.mark.parametrize("origin", ["http://127.0.0.1:{port}", "http://localhost:{port}", "HTTP://LocalHost:{port}"])
async def test_a_page_of_our_own_is_served(server: Serving, origin: str) -> None:
    headers = {"Origin": origin.format(port=server.port), "Sec-Fetch-Site": "same-origin"}
    assert (await ask(server, "POST", CHAT, {"message": "hello"}, headers)).status == 200


async def test_an_origin_of_ours_beside_a_foreign_one_does_not_help(server: Serving) -> None:
    head = f"GET /v1/tasks HTTP/1.1\r\nHost: {server.host}\r\nOrigin: http://{server.host}\r\nOrigin: http://evil.example\r\n\r\n"
    assert (await ask_raw(server, head.encode())).code == "foreign_origin"


@pytest.mark.parametrize("site", ["cross-site", "same-site", "CROSS-SITE", "", "same-origin, none", "nonsense"])
async def test_a_fetch_from_another_site_is_refused_without_an_origin_too(server: Serving, site: str) -> None:
    for method, path in (("GET", "/v1/tasks"), ("GET", "/"), ("POST", "/v1/tasks/x/stop")):
        told = await ask(server, method, path, headers={"Sec-Fetch-Site": site})
        assert (told.status, told.code) == (403, "foreign_origin")


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_a_fetch_of_our_own_or_of_the_user_is_served(server: Serving, site: str) -> None:
    assert (await ask(server, "GET", "/", headers={"Sec-Fetch-Site": site})).status == 200


async def test_a_preflight_gets_no_leave(server: Serving) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    for origin in ("http://evil.example", f"http://{server.host}"):
        told = await ask(server, "OPTIONS", CHAT, headers={"Origin": origin, **asked})
        assert told.status in {403, 405}
        assert not any(name.startswith("access-control") for name in told.headers)


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "application/jsonp",
        "text/json",
        "application/json; charset=utf-16",
        "application/json, text/plain",
        "*/*",
    ],
)
async def test_what_a_form_can_send_starts_nothing(server: Serving, kind: str) -> None:
    for path in (CHAT, "/v1/chat/stream", "/v1/tasks/x/stop"):
        told = await ask(server, "POST", path, b'{"message": "hello"}', {"Content-Type": kind})
        assert (told.status, told.code) == (415, "wrong_content_type")


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"]
)
async def test_json_by_its_names_is_taken(server: Serving, kind: str) -> None:
    assert (await ask(server, "POST", CHAT, b'{"message": "hello"}', {"Content-Type": kind})).status == 200


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", "deflate", "gzip, gzip", "x-gzip", "nonsense"])
async def test_an_encoded_body_is_not_unpacked(server: Serving, encoding: str) -> None:
    told = await ask(server, "POST", CHAT, b"\x1f\x8b" + b"\x00" * 50, {"Content-Encoding": encoding})
    assert (told.status, told.code) == (415, "encoded_body")


async def test_getting_has_no_effects_whatever_it_calls_itself(server: Serving) -> None:
    before = len((await ask(server, "GET", "/v1/tasks?limit=500")).document)
    overriding = {"X-HTTP-Method-Override": "POST", "X-HTTP-Method": "POST", "X-Method-Override": "POST"}
    for path in (CHAT, "/v1/chat/stream", f"{CHAT}?_method=POST&message=hello"):
        assert (await ask(server, "GET", path, headers=overriding)).status == 405
    assert len((await ask(server, "GET", "/v1/tasks?limit=500")).document) == before


async def test_what_is_said_to_be_forwarded_is_not_believed(server: Serving) -> None:
    claims = {
        "X-Forwarded-For": "10.0.0.1",
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Prefix": "/evil",
        "Forwarded": "for=10.0.0.1;host=evil.example;proto=https",
        "X-Real-IP": "10.0.0.1",
        "X-Original-URL": "/evil",
        "X-Rewrite-URL": "/evil",
    }
    told = await ask(server, "GET", "/v1/tasks?limit=1", headers=claims)
    assert told.status == 200
    assert b"evil" not in told.body
    assert "evil" not in str(told.headers)
    slashed = await ask(server, "GET", "/v1/tasks/", headers=claims)
    assert "evil" not in str(slashed.headers)
    refused = await ask_raw(server, request("GET", "/healthz", headers={"X-Forwarded-Host": server.host}, host="evil"))
    assert refused.code == "bad_host"


async def test_only_this_machine_is_listened_to(server: Serving) -> None:
    """The socket is bound to loopback; any other address of the machine is refused by the kernel."""
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others - {"127.0.1.1"}:
        with pytest.raises(OSError):
            socket.create_connection((address, server.port), timeout=2)


@pytest.mark.parametrize(
    "place",
    ["/v1/tasks/%00", "/v1/tasks/a%00b/stream", "/v1/tasks?limit=%00", "/v1/tasks?%00=x", "/v1/skills?workspace=/%00"],
)
async def test_an_address_with_a_nul_in_it_is_none(server: Serving, place: str) -> None:
    told = await ask(server, "GET", place)
    assert (told.status, told.code) == (400, "bad_request")
    assert (await ask(server, "GET", place.replace("%00", "x"))).status != 400
