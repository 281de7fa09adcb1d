"""Tokens and users over HTTP: what is shown once, who may give what to whom, and how soon it ends."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from door_client import Answer, Watch, ask
from door_serving import Serving, Start
from guarded import GUARDED, at_desk, bearer, token

BOUND_S = 20
TOKENS, USERS, ME = "/api/v1/tokens", "/api/v1/users", "/api/v1/me"


@dataclass
class Deck:
    serving: Serving
    operator: str
    tenant: str = ""
    owner: str = ""

    async def ask(self, shown: str | None, method: str, path: str, body: object = None, **headers: str) -> Answer:
        return await ask(self.serving, method, path, body, {**(bearer(shown) if shown else {}), **headers})

    async def made(self, shown: str, path: str, body: object) -> dict[str, object]:
        told = await self.ask(shown, "POST", path, body)
        assert told.status == 201, told.body
        return dict(told.document)

    async def user(self, role: str, shown: str | None = None) -> tuple[str, str]:
        """A new user of the tenant: the id, and a token."""
        body = {"name": f"A {role}", "role": role}
        if shown is None or shown == self.operator:
            body["tenant_id"] = self.tenant
        user = str((await self.made(shown or self.operator, USERS, body))["id"])
        return user, await self.token(user, shown)

    async def token(self, user: str, shown: str | None = None, **more: object) -> str:
        body = {"user_id": user, **more}
        if shown is None or shown == self.operator:
            body["tenant_id"] = self.tenant
        return str((await self.made(shown or self.operator, TOKENS, body))["token"])


@pytest.fixture(scope="module")
def serving(start: Start, tmp_path_factory: pytest.TempPathFactory) -> tuple[Serving, str]:
    folder = tmp_path_factory.mktemp("tokens")
    operator = at_desk(folder, lambda desk: token(desk, "operator", "person:root")).token
    return start(folder=folder, environ=GUARDED), operator


@pytest.fixture
async def deck(serving: tuple[Serving, str], request: pytest.FixtureRequest) -> Deck:
    """A tenant of its own for each test, and an owner of it."""
    deck = Deck(*serving)
    slug = f"t-{abs(hash(request.node.name)) % 10**12}"
    deck.tenant = str((await deck.made(deck.operator, "/api/v1/tenants", {"name": "Acme", "slug": slug}))["id"])
    _, deck.owner = await deck.user("owner")
    return deck


async def test_who_one_is_can_be_asked(deck: Deck) -> None:
    user, shown = await deck.user("member")
    me = (await deck.ask(shown, "GET", ME)).document
    assert (me["actor"], me["tenant_id"], me["name"]) == (f"person:{user}", deck.tenant, "A member")
    assert me["rights"] == ["approve", "board", "read", "talk", "work"]
    assert not me["operator"]
    assert (await deck.ask(deck.operator, "GET", ME)).document["operator"]
    assert (await deck.ask(None, "GET", ME)).status == 401


async def test_a_token_is_shown_once(deck: Deck) -> None:
    key = {"Idempotency-Key": "once"}
    first = await deck.ask(deck.owner, "POST", TOKENS, {"name": "laptop"}, **key)
    again = await deck.ask(deck.owner, "POST", TOKENS, {"name": "laptop"}, **key)
    assert first.status == again.status == 201
    shown = first.document["token"]
    assert again.document == {**first.document, "token": None}
    assert (await deck.ask(shown, "GET", ME)).status == 200
    listed = await deck.ask(deck.owner, "GET", TOKENS)
    assert first.document["id"] in [line["id"] for line in listed.document]
    assert shown.encode() not in listed.body
    assert all("token" not in line and "digest" not in line for line in listed.document)


async def test_a_token_is_ones_own_and_of_ones_own_role_where_nothing_else_is_said(deck: Deck) -> None:
    for role in ("viewer", "member", "admin", "owner"):
        user, shown = await deck.user(role)
        made = await deck.made(shown, TOKENS, {})
        assert (made["actor"], made["role"], made["session"]) == (f"person:{user}", role, False)


@pytest.mark.parametrize(("role", "above"), [("viewer", "member"), ("member", "admin"), ("admin", "owner")])
async def test_nobody_makes_anything_higher_than_they_are(deck: Deck, role: str, above: str) -> None:
    user, shown = await deck.user(role)
    for path, body in (
        (TOKENS, {"role": above}),
        (TOKENS, {"role": "operator"}),
        (TOKENS, {"role": above, "service": "x"}),
        (USERS, {"name": "Eve", "role": above}),
    ):
        assert (await deck.ask(shown, "POST", path, body)).status == 403, body
    assert (await deck.ask(shown, "PATCH", f"{USERS}/{user}", {"role": above})).status == 403
    for role_of_nobody in ("*", "root", "operate"):
        assert (await deck.ask(shown, "POST", TOKENS, {"role": role_of_nobody})).status == 422
    assert (await deck.ask(deck.owner, "POST", USERS, {"name": "Eve", "role": "operator"})).status == 422


@pytest.mark.parametrize("field", ["rights", "actor", "operator", "tenant", "expires_at", "digest", "token", "parent"])
async def test_what_a_token_may_is_not_written_by_whoever_asks_for_it(deck: Deck, field: str) -> None:
    told = await deck.ask(deck.owner, "POST", TOKENS, {field: ["*"]})
    assert (told.status, told.code) == (422, "invalid_request")


async def test_a_token_that_ends_makes_none_that_ends_later(deck: Deck) -> None:
    user, _ = await deck.user("admin")
    short = await deck.token(user, expires_in_s=3600)
    for body in ({}, {"expires_in_s": 7200}):
        assert (await deck.ask(short, "POST", TOKENS, body)).code == "outlives_issuer"
    assert (await deck.ask(short, "POST", TOKENS, {"expires_in_s": 60})).status == 201


async def test_a_revoked_token_is_good_no_more_in_the_very_next_request(deck: Deck) -> None:
    made = await deck.made(deck.owner, TOKENS, {"name": "old laptop"})
    shown = str(made["token"])
    assert (await deck.ask(shown, "GET", ME)).status == 200
    assert (await deck.ask(deck.owner, "DELETE", f"{TOKENS}/{made['id']}")).status == 204
    assert (await deck.ask(shown, "GET", ME)).status == 401
    assert (await deck.ask(deck.owner, "DELETE", f"{TOKENS}/{made['id']}")).status == 204


async def test_a_token_of_another_is_not_there_for_who_does_not_manage(deck: Deck) -> None:
    _, one = await deck.user("member")
    _, two = await deck.user("member")
    theirs = (await deck.ask(one, "GET", TOKENS)).document
    assert len(theirs) == 1
    refused = await deck.ask(two, "DELETE", f"{TOKENS}/{theirs[0]['id']}")
    nowhere = await deck.ask(two, "DELETE", f"{TOKENS}/{'0' * 32}")
    assert refused.status == nowhere.status == 404
    assert refused.body == nowhere.body
    assert (await deck.ask(one, "GET", ME)).status == 200


async def test_what_another_tenant_has_is_not_there(deck: Deck, request: pytest.FixtureRequest) -> None:
    user, _ = await deck.user("member")
    ident = (await deck.ask(deck.owner, "GET", TOKENS)).document[0]["id"]
    other = Deck(deck.serving, deck.operator)
    other.tenant = str((await deck.made(deck.operator, "/api/v1/tenants", {"name": "B", "slug": f"b-{user}"}))["id"])
    _, foreign = await other.user("owner")
    for method, path, body in (
        ("GET", f"{USERS}/{user}", None),
        ("PATCH", f"{USERS}/{user}", {"role": "viewer"}),
        ("DELETE", f"{USERS}/{user}", None),
        ("DELETE", f"{TOKENS}/{ident}", None),
        ("POST", TOKENS, {"user_id": user}),
        ("POST", TOKENS, {"tenant_id": deck.tenant}),
        ("POST", USERS, {"name": "Eve", "tenant_id": deck.tenant}),
        ("GET", f"{USERS}?tenant_id={deck.tenant}", None),
        ("GET", f"{TOKENS}?tenant_id={deck.tenant}", None),
    ):
        assert (await deck.ask(foreign, method, path, body)).status == 404, (method, path)
    assert (await deck.ask(deck.operator, "POST", TOKENS, {"user_id": user, "tenant_id": other.tenant})).status == 404
    assert (await deck.ask(deck.operator, "GET", f"{USERS}/{user}")).status == 200


async def test_a_users_new_role_counts_at_once_for_tokens_issued_before(deck: Deck) -> None:
    user, shown = await deck.user("admin")
    assert (await deck.ask(shown, "GET", "/v1/audit/commands")).status == 200
    assert (await deck.ask(deck.owner, "PATCH", f"{USERS}/{user}", {"role": "viewer"})).document["role"] == "viewer"
    assert (await deck.ask(shown, "GET", "/v1/audit/commands")).status == 403
    assert (await deck.ask(shown, "GET", "/v1/tasks")).status == 200
    await deck.ask(deck.owner, "PATCH", f"{USERS}/{user}", {"role": "member", "name": "Mia"})
    assert (await deck.ask(shown, "GET", ME)).document["name"] == "Mia"
    assert (await deck.ask(shown, "GET", "/v1/audit/commands")).status == 403


async def test_a_user_who_is_removed_is_known_no_more_and_what_was_open_ends(deck: Deck) -> None:
    user, shown = await deck.user("member")
    news = await Watch.open(deck.serving, "GET", "/v1/news", None, bearer(shown))
    assert news.status == 200
    assert (await deck.ask(deck.owner, "DELETE", f"{USERS}/{user}")).status == 204
    assert (await news.rest())[-1].event == "signed_out"
    assert (await deck.ask(shown, "GET", ME)).status == 401
    assert (await deck.ask(deck.owner, "GET", f"{USERS}/{user}")).code == "user_not_found"
    assert (await deck.ask(deck.owner, "PATCH", f"{USERS}/{user}", {"role": "owner"})).status == 404
    assert (await deck.ask(deck.owner, "POST", TOKENS, {"user_id": user})).status == 404
    assert user not in [line["id"] for line in (await deck.ask(deck.owner, "GET", USERS)).document]


async def test_an_admin_does_not_touch_an_owner(deck: Deck) -> None:
    owner, _ = await deck.user("owner")
    _, admin = await deck.user("admin")
    for method, body in (("PATCH", {"role": "viewer"}), ("DELETE", None)):
        assert (await deck.ask(admin, method, f"{USERS}/{owner}", body)).code == "role_too_high"


async def test_that_a_token_was_used_is_told(deck: Deck) -> None:
    _, shown = await deck.user("member")
    async with asyncio.timeout(BOUND_S):
        while (await deck.ask(shown, "GET", TOKENS)).document[0]["used_at"] is None:
            pass


async def test_users_are_listed_a_page_at_a_time(deck: Deck) -> None:
    for _ in range(4):
        await deck.user("viewer")
    first = await deck.ask(deck.owner, "GET", f"{USERS}?limit=3")
    second = await deck.ask(deck.owner, "GET", first.headers["link"].split(">")[0][1:])
    assert [len(first.document), len(second.document)] == [3, 2]
