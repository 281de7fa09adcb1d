"""Browsers: a cookie that only our own pages can use, and only knowingly."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from door_client import Answer, Watch, ask
from door_serving import Serving, Start
from guarded import GUARDED, NAME, at_desk, bearer, token

SESSION, ME, TOKENS = "/api/v1/session", "/api/v1/me", "/api/v1/tokens"
ORIGIN = f"https://{NAME}"


@dataclass
class Browser:
    serving: Serving
    cookie: str
    csrf: str

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """As a page of ours does; a header that is empty is left out."""
        ours = {"Cookie": self.cookie, "Sec-Fetch-Site": "same-origin"}
        if method != "GET":
            ours |= {"Origin": ORIGIN, "X-CSRF-Token": self.csrf}
        sent = {name: value for name, value in {**ours, **headers}.items() if value}
        return await ask(self.serving, method, path, body, sent)


@pytest.fixture(scope="module")
def served(start: Start, tmp_path_factory: pytest.TempPathFactory) -> tuple[Serving, str]:
    folder = tmp_path_factory.mktemp("sessions")
    owner = at_desk(folder, lambda desk: token(desk, "owner", "person:olga")).token
    return start(folder=folder, environ=GUARDED), owner


async def signed_in(served: tuple[Serving, str], shown: str | None = None) -> Browser:
    told = await ask(served[0], "POST", SESSION, None, bearer(shown or served[1]))
    assert told.status == 201, told.body
    assert told.headers["cache-control"] == "no-store"
    cookie, *attributes = told.headers["set-cookie"].split("; ")
    assert set(attributes) - {"Max-Age=43200", "Max-Age=43199"} == {"Path=/", "HttpOnly", "Secure", "SameSite=Strict"}
    assert cookie.startswith("__Host-quarterdeck=qd_")
    assert cookie.partition("=")[2] not in told.body.decode()
    return Browser(served[0], cookie, told.document["csrf_token"])


async def test_a_token_is_exchanged_for_a_session_that_a_page_uses(served: tuple[Serving, str]) -> None:
    browser = await signed_in(served)
    assert (await browser.ask("GET", ME)).document["actor"] == "person:olga"
    assert (await browser.ask("POST", "/v1/memory", {"text": "Tea."})).status == 201
    again = (await browser.ask("GET", SESSION)).document
    assert again["csrf_token"] == browser.csrf
    stream = await Watch.open(served[0], "GET", "/v1/news", None, {"Cookie": browser.cookie})
    assert stream.status == 200


async def test_what_changes_something_needs_our_origin_and_the_second_word(served: tuple[Serving, str]) -> None:
    browser = await signed_in(served)
    other = await signed_in(served)
    note = {"text": "Coffee."}
    for headers, code in (
        ({"X-CSRF-Token": ""}, "csrf"),
        ({"X-CSRF-Token": "0" * 64}, "csrf"),
        ({"X-CSRF-Token": other.csrf}, "csrf"),
        ({"X-CSRF-Token": browser.csrf.upper()}, "csrf"),
        ({"Origin": ""}, "foreign_origin"),
        ({"Origin": "null"}, "foreign_origin"),
        ({"Origin": "https://evil.example"}, "foreign_origin"),
        ({"Origin": f"http://{NAME}"}, "foreign_origin"),
        ({"Origin": f"https://{NAME}.evil.example"}, "foreign_origin"),
        ({"Origin": f"https://{NAME}:8443"}, "foreign_origin"),
        ({"Sec-Fetch-Site": "cross-site"}, "foreign_origin"),
        ({"Sec-Fetch-Site": "same-site"}, "foreign_origin"),
    ):
        told = await browser.ask("POST", "/v1/memory", note, **headers)
        assert (told.status, told.code) == (403, code), headers
    for method, path in (("DELETE", f"{TOKENS}/{'0' * 32}"), ("PATCH", "/v1/memory/x"), ("DELETE", SESSION)):
        assert (await browser.ask(method, path, {"text": "x"}, **{"X-CSRF-Token": ""})).code == "csrf"
    listed = (await browser.ask("GET", "/v1/memory?limit=500")).document["results"]
    assert "Coffee." not in [line["text"] for line in listed]


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"])
async def test_what_a_form_can_send_changes_nothing(served: tuple[Serving, str], kind: str) -> None:
    browser = await signed_in(served)
    told = await browser.ask("POST", "/v1/memory", b'{"text": "x"}', **{"Content-Type": kind})
    assert told.status == 415


async def test_another_sites_page_reads_nothing_with_the_cookie(served: tuple[Serving, str]) -> None:
    browser = await signed_in(served)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        told = await browser.ask("GET", "/v1/tasks", None, **headers)
        assert told.status == 403
        assert not any(name.startswith("access-control") for name in told.headers)


async def test_signing_out_ends_the_session_and_what_is_open_in_it(served: tuple[Serving, str]) -> None:
    browser = await signed_in(served)
    stream = await Watch.open(served[0], "GET", "/v1/news", None, {"Cookie": browser.cookie})
    told = await browser.ask("DELETE", SESSION)
    assert told.status == 204
    assert "Max-Age=0" in told.headers["set-cookie"]
    assert (await stream.rest())[-1].event == "signed_out"
    assert (await browser.ask("GET", ME)).status == 401
    assert (await ask(served[0], "GET", ME, None, bearer(served[1]))).status == 200, "the token itself is good"


async def test_a_session_ends_with_the_token_it_was_opened_with(served: tuple[Serving, str]) -> None:
    made = (await ask(served[0], "POST", TOKENS, {"expires_in_s": 3600}, bearer(served[1]))).document
    told = await ask(served[0], "POST", SESSION, None, bearer(made["token"]))
    assert told.document["expires_at"] == pytest.approx(made["expires_at"])
    browser = Browser(served[0], told.headers["set-cookie"].split(";")[0], told.document["csrf_token"])
    assert (await browser.ask("GET", ME)).status == 200
    assert (await browser.ask("POST", TOKENS, {"expires_in_s": 7200})).code == "outlives_issuer"
    await ask(served[0], "DELETE", f"{TOKENS}/{made['id']}", None, bearer(served[1]))
    assert (await browser.ask("GET", ME)).status == 401


async def test_a_session_lends_as_long_as_the_token_it_was_opened_with(served: tuple[Serving, str]) -> None:
    browser = await signed_in(served)
    assert (await browser.ask("POST", TOKENS, {})).status == 201


async def test_a_cookie_is_no_header_and_a_header_no_cookie(served: tuple[Serving, str]) -> None:
    browser = await signed_in(served)
    inside = browser.cookie.partition("=")[2]
    assert (await ask(served[0], "GET", ME, None, bearer(inside))).status == 401
    assert (await ask(served[0], "GET", ME, None, {"Cookie": f"__Host-quarterdeck={served[1]}"})).status == 401
    two = f"{browser.cookie}; {browser.cookie}"
    assert (await ask(served[0], "GET", ME, None, {"Cookie": two})).code == "bad_request"
    among = f"a=b; {browser.cookie}; c=d"
    assert (await ask(served[0], "GET", ME, None, {"Cookie": among})).status == 200


async def test_a_session_opens_no_other_session(served: tuple[Serving, str]) -> None:
    browser = await signed_in(served)
    assert (await browser.ask("POST", SESSION)).code == "token_wanted"
    assert (await ask(served[0], "DELETE", SESSION, None, bearer(served[1]))).code == "no_session"
    assert (await ask(served[0], "GET", SESSION, None, bearer(served[1]))).code == "session_not_found"
    assert (await ask(served[0], "POST", SESSION)).status == 401


async def test_a_link_on_another_sites_page_leads_to_ours_and_to_nothing_else(served: tuple[Serving, str]) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert (await ask(served[0], "GET", "/", None, link)).status == 200
    browser = await signed_in(served)
    for path, more in (
        ("/v1/tasks", {}),
        ("/static/app/main.js", {}),
        ("/", {"Sec-Fetch-Dest": "iframe"}),
        ("/", {"Sec-Fetch-Mode": "no-cors"}),
        ("/", {"Origin": "https://evil.example"}),
    ):
        assert (await browser.ask("GET", path, None, **{**link, **more})).code == "foreign_origin", (path, more)
    assert (await browser.ask("POST", "/v1/chat", {"message": "x"}, **link)).code == "foreign_origin"
