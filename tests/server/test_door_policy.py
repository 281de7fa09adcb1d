"""The whole table: every route, asked by everybody there can be. Nobody gets more than the policy says, nor less."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from door_client import Answer, Connection, request
from door_serving import Serving, Start
from fastapi import FastAPI
from guarded import GUARDED, NAME, at_desk, bearer, expired_token, token

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.tokens import end_token
from quarterdeck.engine.access import RIGHTS
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.scope import LOCAL_OWNER
from quarterdeck.server.policy import POLICY, Line, Policy, check_complete, served
from quarterdeck.settings import read_settings
from quarterdeck.wiring import create_app

UNKNOWN = ("nobody", "bad", "expired", "revoked")
ROLES = ("viewer", "member", "another member", "agent", "admin", "owner", "operator")
HTTP = [line for line in POLICY if line[0] != "WS"]
NOWHERE = "01900000-0000-7000-8000-000000000000"
TENANT = f"{NOWHERE[:-1]}1"


@dataclass
class Deck:
    serving: Serving
    tokens: dict[str, str]
    things: dict[str, str] = field(default_factory=dict)

    async def ask(self, who: str, method: str, path: str, body: object = None) -> Answer:
        """Of what was not refused only the head is read: a stream has no end."""
        shown = {} if who == "nobody" else bearer(self.tokens[who])
        connection = await Connection.open(self.serving.port)
        try:
            connection.send(request(method, path, body, shown, host=NAME))
            status, headers = await connection.head()
            if status < 400 and "content-length" not in headers:
                return Answer(status, headers, b"")
            whole = int(headers.get("content-length", 0))
            return Answer(status, headers, await connection.reader.readexactly(whole))
        finally:
            connection.close()

    async def made(self, path: str, body: object) -> dict[str, object]:
        told = await self.ask("owner", "POST", path, body)
        assert told.status in {200, 201}, told.body
        return dict(told.document)


@pytest.fixture(scope="module")
def deck(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Deck:
    folder = tmp_path_factory.mktemp("policy")

    async def people(desk: Desk) -> dict[str, str]:
        made = {
            "viewer": await token(desk, "viewer", "person:vera"),
            "member": await token(desk, "member", "person:mia"),
            "another member": await token(desk, "member", "person:max"),
            "agent": await token(desk, "agent", "agent:a-1"),
            "admin": await token(desk, "admin", "person:ada"),
            "owner": await token(desk, "owner", "person:olga"),
            "operator": await token(desk, "operator", "person:root"),
            "another tenant": await token(desk, "owner", "person:otto", TENANT),
            "expired": await expired_token(desk, "owner", "person:old"),
            "revoked": await token(desk, "owner", "person:gone"),
        }
        await end_token(desk, LOCAL_OWNER.within(TenantId("local")), made["revoked"].id)
        return {name: issued.token for name, issued in made.items()}

    tokens = at_desk(folder, people)
    tokens["bad"] = tokens["owner"][:-4] + "AAAA"
    return Deck(start(folder=folder, environ=GUARDED), tokens)


def filled(template: str, values: dict[str, str] | None = None) -> str:
    """A path of this form; where nothing is known of a part, it is something that is not there."""
    parts = [
        (values or {}).get(part.strip("{}").partition(":")[0], NOWHERE) if part.startswith("{") else part
        for part in template.split("/")
    ]
    return "/".join(parts)


def body_of(method: str) -> object:
    return {} if method in {"POST", "PUT", "PATCH"} else None


@pytest.mark.parametrize("who", UNKNOWN)
async def test_whoever_is_not_known_gets_nothing_but_what_is_open(deck: Deck, who: str) -> None:
    for method, template, needs in HTTP:
        told = await deck.ask(who, method, filled(template), body_of(method))
        if needs == "open":
            assert told.status not in {401, 403}, (method, template)
        else:
            assert (told.status, told.code) == (401, "not_known"), (method, template)


@pytest.mark.parametrize("who", ROLES)
async def test_a_role_goes_exactly_as_far_as_its_rights(deck: Deck, who: str) -> None:
    rights = RIGHTS["member" if who == "another member" else who]  # type: ignore[index]
    for method, template, needs in HTTP:
        if (method, template) == ("DELETE", "/api/v1/session"):
            continue  # nobody here has one
        told = await deck.ask(who, method, filled(template, {"tenant_id": "local"}), body_of(method))
        allowed = needs in {"open", "known"} or needs in rights or "*" in rights
        refused = told.status == 403 and told.document.get("right") == needs
        assert refused != allowed, (method, template, told.status)
        assert told.status not in {401, 405}, (method, template)
        assert told.status < 500, (method, template, told.body)


async def test_a_tenant_that_is_not_ones_own_is_not_there_by_any_route_that_names_it(deck: Deck) -> None:
    may = RIGHTS["owner"] | {"known"}
    named = [(method, template) for method, template, needs in HTTP if "{tenant_id}" in template and needs in may]
    assert named
    for method, template in named:
        foreign = await deck.ask("another tenant", method, filled(template, {"tenant_id": "local"}), body_of(method))
        nowhere = await deck.ask("another tenant", method, filled(template), body_of(method))
        assert (foreign.status, foreign.code) == (404, "tenant_not_found"), (method, template)
        assert foreign.body == nowhere.body


async def things(deck: Deck) -> dict[str, str]:
    """One of everything that a tenant can have, by the names that parts of paths have."""
    if deck.things:
        return deck.things
    ran = await deck.made("/v1/chat", {"message": "hello"})
    hired = await deck.made("/api/v1/employees", {"name": "Anna"})
    memory = await deck.made("/v1/memory", {"text": "Tea."})
    user = await deck.made("/api/v1/users", {"name": "Mia"})
    shown = await deck.made("/api/v1/tokens", {})
    member = await deck.made("/api/v1/members", {"type": "agent", "name": "Bot"})
    project = await deck.made("/api/v1/projects", {"name": "Ship it"})
    task = await deck.made(f"/api/v1/projects/{project['id']}/tasks", {"title": "Build"})
    deck.things = {
        "task_id": str(task["id"]),
        "run_id": str(ran["task_id"]),
        "conversation_id": str(ran["conversation_id"]),
        "employee_id": str(hired["id"]),
        "memory_id": str(memory["id"]),
        "user_id": str(user["id"]),
        "token_id": str(shown["id"]),
        "member_id": str(member["id"]),
        "project_id": str(project["id"]),
        "chat_id": str(project["chat_id"]),
    }
    return deck.things


def without(body: bytes, known: dict[str, str]) -> bytes:
    for ident in (*known.values(), NOWHERE):
        body = body.replace(ident.encode(), b"-")
    return body


async def test_what_another_tenant_has_answers_like_what_is_nowhere(deck: Deck) -> None:
    known = await things(deck)
    seen = 0
    for method, template, _ in HTTP:
        names = {part.strip("{}") for part in template.split("/") if part.startswith("{")}
        if not names or not names <= {*known, "tenant_id"} or "tenant_id" in names:
            continue
        here = {**known, "task_id": known["run_id"]} if template.startswith("/v1/") else known
        foreign = await deck.ask("another tenant", method, filled(template, here), body_of(method))
        nowhere = await deck.ask("another tenant", method, filled(template), body_of(method))
        assert foreign.status in {404, 422}, (method, template, foreign.status)
        assert foreign.status == nowhere.status, (method, template)
        assert without(foreign.body, known) == without(nowhere.body, known), (method, template)
        if method == "GET" and not template.endswith("/triggers"):  # which wants to be asked about some words
            assert (await deck.ask("owner", "GET", filled(template, here))).status < 300, template
        seen += 1
    assert seen > 30


async def test_lists_of_another_tenant_are_empty_of_what_is_here(deck: Deck) -> None:
    known = await things(deck)
    streams = {"/v1/news", "/v1/audit/commands/export"}
    for method, template, needs in HTTP:
        if method != "GET" or "{" in template or needs == "open" or template in streams:
            continue
        told = await deck.ask("another tenant", "GET", template)
        assert told.status in {200, 404}, template
        assert not [ident for ident in known.values() if ident.encode() in told.body], template


def test_every_route_has_a_line_and_every_line_a_route() -> None:
    app = create_app(lambda: read_settings({"QUARTERDECK_STORAGE": "memory"}))
    assert served(app) == {(method, path) for method, path, _ in POLICY}
    assert len({(method, path) for method, path, _ in POLICY}) == len(POLICY)


def test_the_description_says_which_right_each_route_asks_for() -> None:
    app = create_app(lambda: read_settings({"QUARTERDECK_STORAGE": "memory"}))
    paths = app.openapi()["paths"]
    assert paths["/v1/chat"]["post"]["x-right"] == "talk"
    assert paths["/v1/chat"]["post"]["security"] == [{}, {"token": []}]
    open_ = {path for _, path, needs in POLICY if needs == "open"}
    judged = {path: operations for path, operations in paths.items() if path not in open_}
    assert all("x-right" in operation for operations in judged.values() for operation in operations.values())


def test_an_application_with_a_route_that_nobody_judged_is_not_made() -> None:
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    lines: tuple[Line, ...] = (("GET", "/here", "read"),)
    with pytest.raises(AssertionError, match="not there"):
        check_complete(app, lines)

    @app.get("/here")
    def here() -> None: ...

    check_complete(app, lines)

    @app.delete("/here")
    def gone() -> None: ...

    with pytest.raises(AssertionError, match="who may use"):
        check_complete(app, lines)


def test_a_path_leads_to_the_line_that_the_framework_would_choose() -> None:
    policy = Policy()
    for method, template, needs in POLICY:
        place = policy.of(filled(template))
        assert place is not None
        assert place.needs.get(method) == needs, (method, template)
    literal = [(method, path, needs) for method, path, needs in POLICY if "{" not in path]
    for method, path, needs in literal:
        place = policy.of(path)
        assert place is not None
        assert place.needs[method] == needs


@pytest.mark.parametrize(
    "path",
    ["", "x", "//", "/v1", "/v1/", "/v1/tasks/", "/v1//tasks", "/V1/tasks", "/v1/tasks/a/b", "/api/v1/tenants//config"],
)
def test_a_path_that_is_almost_one_of_ours_leads_nowhere(path: str) -> None:
    assert Policy().of(path) is None


def test_two_lines_that_contradict_each_other_are_no_policy() -> None:
    with pytest.raises(AssertionError, match="twice"):
        Policy((("GET", "/a", "read"), ("GET", "/a", "open")))
