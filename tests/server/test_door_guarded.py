"""A server for others than this machine: who comes shows a token, by one way in, and it is good until it ends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from door_client import Answer, Watch, ask, ask_raw, request
from door_serving import Serving, Start
from guarded import GUARDED, NAME, at_desk, bearer, expired_token, token

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.tokens import end_token
from quarterdeck.kernel.scope import LOCAL_OWNER

BOUND_S = 20
NOWHERE = "qd_" + "0" * 32 + "_" + "A" * 43


@dataclass
class Deck:
    serving: Serving
    tokens: dict[str, str]

    async def ask(self, who: str | None, method: str, path: str, body: object = None, **headers: str) -> Answer:
        shown = {} if who is None else bearer(self.tokens.get(who, who))
        return await ask(self.serving, method, path, body, {**shown, **headers})


@pytest.fixture(scope="module")
def deck(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Deck:
    folder = tmp_path_factory.mktemp("guarded")

    async def people(desk: Desk) -> dict[str, str]:
        made = {
            "viewer": await token(desk, "viewer", "person:vera"),
            "member": await token(desk, "member", "person:mia"),
            "admin": await token(desk, "admin", "person:ada"),
            "agent": await token(desk, "agent", "agent:a-1"),
            "other": await token(desk, "owner", "person:otto", "elsewhere"),
            "operator": await token(desk, "operator", "person:root"),
            "burnt": await token(desk, "member", "person:mia"),
            "expired": await expired_token(desk, "owner", "person:old"),
            "revoked": await token(desk, "owner", "person:gone"),
        }
        await end_token(desk, LOCAL_OWNER, made["revoked"].id)
        return {name: issued.token for name, issued in made.items()}

    tokens = at_desk(folder, people)
    return Deck(start(folder=folder, environ=GUARDED), tokens)


async def test_without_a_good_token_nothing_but_the_health_is_told(deck: Deck) -> None:
    for who in (None, NOWHERE, "revoked", "", "x" * 5000, "qd_", deck.tokens["member"][:-1]):
        told = await deck.ask(who, "GET", "/v1/tasks")
        assert (told.status, told.code) == (401, "not_known")
        assert told.headers["www-authenticate"] == "Bearer"
        assert (await deck.ask(who, "POST", "/v1/chat/stream", {"message": "hello"})).status == 401
        assert (await deck.ask(who, "GET", "/healthz")).status == 200
        assert (await deck.ask(who, "GET", "/openapi.json")).status == 200


async def test_a_token_that_expired_says_nothing_of_anybody(deck: Deck) -> None:
    assert (await deck.ask("expired", "GET", "/v1/tasks")).code == "not_known"


async def test_who_shows_a_token_is_served_as_far_as_their_role_goes(deck: Deck) -> None:
    hello = {"message": "hello"}
    for who, reads, talks, audits in (
        ("viewer", 200, 403, 403),
        ("member", 200, 200, 403),
        ("admin", 200, 200, 200),
        ("operator", 200, 200, 200),
        ("agent", 403, 403, 403),
    ):
        assert (await deck.ask(who, "GET", "/v1/tasks")).status == reads, who
        assert (await deck.ask(who, "POST", "/v1/chat", hello)).status == talks, who
        assert (await deck.ask(who, "POST", "/v1/chat/stream", hello)).status == talks, who
        assert (await deck.ask(who, "GET", "/v1/audit/commands")).status == audits, who
    refused = await deck.ask("viewer", "POST", "/v1/chat", hello)
    assert (refused.code, refused.document["right"]) == ("not_allowed", "talk")


async def test_only_one_header_says_who_somebody_is(deck: Deck) -> None:
    good = deck.tokens["admin"]
    for headers in (
        {"X-API-Key": good},
        {"Api-Key": good},
        {"Cookie": f"token={good}; quarterdeck={good}; session={good}"},
        {"Authorization": f"Basic {good}"},
        {"Authorization": good},
        {"Authorization": f"Token {good}"},
        {"Proxy-Authorization": f"Bearer {good}"},
        {"X-Forwarded-User": "person:root"},
        {"X-Tenant-Id": "local"},
    ):
        assert (await deck.ask(None, "GET", "/v1/tasks", None, **headers)).status == 401, headers
    assert (await deck.ask(None, "GET", "/v1/tasks", None, Authorization=f"bEaReR   {good} ")).status == 200


async def test_two_headers_that_say_who_somebody_is_are_one_too_many(deck: Deck) -> None:
    lines = "".join(f"Authorization: Bearer {deck.tokens[who]}\r\n" for who in ("viewer", "admin"))
    head = f"GET /v1/tasks HTTP/1.1\r\nHost: {NAME}\r\n{lines}\r\n"
    assert (await ask_raw(deck.serving, head.encode())).code == "bad_request"


async def test_a_token_in_an_address_is_refused_and_good_no_more(deck: Deck) -> None:
    assert (await deck.ask("burnt", "GET", "/v1/tasks")).status == 200
    for name in ("token", "api_key", "x"):
        told = await deck.ask(None, "GET", f"/v1/tasks?{name}={deck.tokens['burnt']}")
        assert (told.status, told.code) == (400, "token_in_url")
        assert deck.tokens["burnt"].encode() not in told.body
    assert (await deck.ask("burnt", "GET", "/v1/tasks")).status == 401
    assert not any(deck.tokens["burnt"][36:60] in line for line in deck.serving.log)


async def test_another_tenants_things_are_not_there(deck: Deck) -> None:
    made = (await deck.ask("member", "POST", "/v1/chat", {"message": "hello"})).document
    task, conversation = made["task_id"], made["conversation_id"]
    for path in ("", "/events", "/stream", "/interventions"):
        foreign = await deck.ask("other", "GET", f"/v1/tasks/{task}{path}")
        nowhere = await deck.ask("other", "GET", f"/v1/tasks/{task[:-1]}x{path}")
        assert foreign.status == nowhere.status == 404
        assert foreign.body == nowhere.body
    assert (await deck.ask("other", "GET", f"/v1/conversations/{conversation}")).status == 404
    assert (await deck.ask("other", "POST", f"/v1/tasks/{task}/stop")).status == 404
    assert (await deck.ask("other", "GET", "/v1/tasks")).document == []
    assert (await deck.ask("other", "GET", "/v1/conversations")).document == []
    assert (await deck.ask("member", "GET", f"/v1/tasks/{task}")).status == 200


async def test_a_tenant_that_a_client_names_is_not_believed(deck: Deck) -> None:
    await deck.ask("member", "POST", "/v1/chat", {"message": "hello"})
    told = await deck.ask("other", "GET", "/v1/tasks?tenant=local&tenant_id=local", None, **{"X-Tenant": "local"})
    assert told.document == []
    refused = await deck.ask("other", "POST", "/v1/chat", {"message": "hello", "tenant": "local"})
    assert refused.status == 422
    twice = b'{"message": "a", "message": "b"}'
    assert (await deck.ask("other", "POST", "/v1/chat", twice)).status == 400
    assert (await deck.ask("other", "GET", "/api/v1/tenants/local")).code == "tenant_not_found"


async def test_the_same_key_of_two_tenants_are_two_wishes(deck: Deck) -> None:
    note = {"text": "Tea, not coffee."}
    made = [
        (await deck.ask(who, "POST", "/v1/memory", note, **{"Idempotency-Key": "k-1"})).document["id"]
        for who in ("member", "other", "member")
    ]
    assert made[0] == made[2] != made[1]
    assert (await deck.ask("other", "GET", f"/v1/memory/{made[0]}")).status == 404


async def test_a_stream_ends_when_its_readers_token_does(deck: Deck, start: Start) -> None:
    """And at once: not with the next thing that happens in it, which never comes."""
    folder = deck.serving.folder.parent / "ending"
    folder.mkdir()

    async def people(desk: Desk) -> list[str]:
        return [(await token(desk, "member", f"person:{n}")).token for n in range(2)]

    one, two = at_desk(folder, people)
    serving = start(folder=folder, environ=GUARDED)
    body = {"message": "hang", "loop": "native"}
    leaving = await Watch.open(serving, "POST", "/v1/chat/stream", body, bearer(one))
    staying = await Watch.open(serving, "POST", "/v1/chat/stream", body, bearer(two))
    for watch in (leaving, staying):
        await watch.until("content_delta")
    waiting = asyncio.ensure_future(ask(serving, "POST", "/v1/chat", body, bearer(one)))
    async with asyncio.timeout(BOUND_S):
        while len((await ask(serving, "GET", "/v1/tasks", None, bearer(two))).document) < 3:
            pass
    # A token that stood in an address is revoked by the server itself.
    assert (await ask(serving, "GET", f"/v1/tasks?token={one}")).code == "token_in_url"
    frames = await leaving.rest()
    assert (frames[-1].event, frames[-1].data) == ("signed_out", {"code": 4401})
    async with asyncio.timeout(BOUND_S):
        assert (await waiting).code == "token_ended"
    assert (await ask(serving, "GET", f"/v1/tasks/{staying.task}", None, bearer(one))).status == 401
    await ask(serving, "POST", f"/v1/tasks/{staying.task}/stop", None, bearer(two))
    assert (await staying.rest())[-1].event == "end"


@pytest.mark.parametrize("origin", [f"http://{NAME}", f"https://{NAME}:444", "https://evil.example", "null"])
async def test_behind_a_proxy_pages_come_from_the_name_that_was_allowed(deck: Deck, origin: str) -> None:
    told = await deck.ask("member", "GET", "/v1/tasks", None, Origin=origin)
    assert (told.status, told.code) == (403, "foreign_origin")
    local = await deck.ask("member", "GET", "/v1/tasks", None, Origin=f"http://{deck.serving.host}")
    assert (local.status, local.code) == (403, "foreign_origin")
    ours = await deck.ask("member", "GET", "/v1/tasks", None, Origin=f"https://{NAME}")
    assert ours.status == 200
    assert not any(name.startswith("access-control") for name in ours.headers)


async def test_behind_a_proxy_the_server_goes_by_the_name_that_was_allowed(deck: Deck) -> None:
    shown = bearer(deck.tokens["member"])
    for name, status in ((NAME, 200), ("evil.example", 421), (f"{NAME}.evil.example", 421), (f"{NAME}:1", 421)):
        data = request("GET", "/v1/tasks", headers={**shown, "X-Forwarded-Host": NAME}, host=name)
        assert (await ask_raw(deck.serving, data)).status == status


async def test_a_pre_flight_is_told_nothing(deck: Deck) -> None:
    told = await deck.ask(
        None, "OPTIONS", "/v1/chat", None, Origin=f"https://{NAME}", **{"Access-Control-Request-Method": "POST"}
    )
    assert told.status == 405
    assert not any(name.startswith("access-control") for name in told.headers)


async def test_what_is_nowhere_is_not_there_for_anybody(deck: Deck) -> None:
    for who in (None, "member", "operator"):
        for path in ("/v1/nothing", "/v1//tasks", "/v1/tasks/", "/V1/tasks", "//v1/tasks", "/v1/tasks/x/y/z"):
            assert (await deck.ask(who, "GET", path)).status == 404, path
        assert (await deck.ask(who, "DELETE", "/v1/tasks")).status == 405


async def test_in_local_mode_a_token_that_is_shown_counts(
    start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("local")
    viewer = at_desk(folder, lambda desk: token(desk, "viewer", "person:vera"))
    serving = start(folder=folder)
    hello = {"message": "hello"}
    assert (await ask(serving, "POST", "/v1/chat", hello)).status == 200
    assert (await ask(serving, "POST", "/v1/chat", hello, bearer("sk-of-some-other-kind"))).status == 200
    assert (await ask(serving, "POST", "/v1/chat", hello, bearer(viewer.token))).status == 403
    assert (await ask(serving, "GET", "/v1/tasks", None, bearer(viewer.token))).status == 200
    assert (await ask(serving, "GET", "/v1/tasks", None, bearer(NOWHERE))).code == "not_known"
