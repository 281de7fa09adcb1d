"""The board with access control on: agents by their tokens, people by theirs, and nobody where they do not belong."""

from __future__ import annotations

from typing import Any

import pytest
from door_client import Answer, ask
from door_serving import Serving, Start
from guarded import GUARDED, at_desk, bearer, token

from quarterdeck.actions.desk import Desk

API = "/api/v1"


class Deck:
    def __init__(self, serving: Serving, tokens: dict[str, str]) -> None:
        self.serving, self.tokens = serving, tokens

    async def ask(self, who: str, method: str, path: str, body: object = None) -> Answer:
        return await ask(self.serving, method, API + path, body, bearer(self.tokens.get(who, who)))

    async def made(self, who: str, path: str, body: object) -> Any:
        answer = await self.ask(who, "POST", path, body)
        assert answer.status == 201, answer
        return answer.document

    async def refused(self, who: str, method: str, path: str, body: object = None) -> tuple[int, str]:
        answer = await self.ask(who, method, path, body)
        return answer.status, answer.code

    async def agent(self, slug: str) -> tuple[str, str]:
        added = await self.made("admin", "/members", {"type": "agent", "name": slug, "slug": slug, "prompt": "Secret."})
        return added["id"], added["token"]


@pytest.fixture(scope="module")
def deck(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Deck:
    folder = tmp_path_factory.mktemp("guarded-board")

    async def people(desk: Desk) -> dict[str, str]:
        made = {
            "viewer": await token(desk, "viewer", "person:vera"),
            "member": await token(desk, "member", "person:mia"),
            "admin": await token(desk, "admin", "person:ada"),
            "other": await token(desk, "owner", "person:otto", "elsewhere"),
        }
        return {name: issued.token for name, issued in made.items()}

    tokens = at_desk(folder, people)
    return Deck(start(folder=folder, environ=GUARDED), tokens)


async def test_an_agent_acts_as_itself_by_the_token_it_was_given(deck: Deck) -> None:
    ident, shown = await deck.agent("bo")
    me = (await deck.ask(shown, "GET", "/members/me")).document
    assert (me["id"], me["slug"], me["prompt"]) == (ident, "bo", "Secret.")
    dock = await deck.made("member", "/projects", {"name": "Dock", "slug": "dock-1", "members": ["bo"]})
    said = await deck.made(shown, f"/chats/{dock['chat_id']}/messages", {"content": "I am @mia, honestly."})
    assert said["author"] == {"id": ident, "slug": "bo", "type": "agent"}
    forged = {"content": "x", "author": "mia"}
    assert await deck.refused(shown, "POST", f"/chats/{dock['chat_id']}/messages", forged) == (422, "invalid_request")


async def test_an_agent_is_nowhere_but_where_it_was_put(deck: Deck) -> None:
    _, shown = await deck.agent("cy")
    other, _ = await deck.agent("dee")
    dock = await deck.made("member", "/projects", {"name": "Dock", "slug": "dock-2", "members": ["dee"]})
    task = await deck.made("member", f"/projects/{dock['id']}/tasks", {"title": "A task", "assignees": ["dee"]})
    for method, path, body, answer in (
        ("GET", f"/projects/{dock['id']}", None, (404, "project_not_found")),
        ("GET", f"/projects/{dock['id']}/members", None, (404, "project_not_found")),
        ("GET", f"/projects/{dock['id']}/tasks", None, (404, "project_not_found")),
        ("POST", f"/projects/{dock['id']}/tasks", {"title": "x"}, (404, "project_not_found")),
        ("GET", f"/chats/{dock['chat_id']}/messages", None, (404, "chat_not_found")),
        ("POST", f"/chats/{dock['chat_id']}/messages", {"content": "x"}, (404, "chat_not_found")),
        ("GET", f"/tasks/{task['id']}", None, (404, "task_not_found")),
        ("POST", f"/tasks/{task['id']}/claim", None, (404, "task_not_found")),
        ("POST", f"/tasks/{task['id']}/comments", {"content": "x"}, (404, "task_not_found")),
        ("GET", f"/members/{other}/work", None, (404, "member_not_found")),
        ("POST", "/members", {"type": "agent", "name": "x"}, (403, "not_allowed")),
        ("PATCH", f"/members/{other}", {"prompt": "x"}, (403, "not_allowed")),
        ("POST", f"/members/{other}/token", None, (403, "not_allowed")),
        ("POST", "/projects", {"name": "Mine"}, (403, "people_only")),
        ("POST", f"/projects/{dock['id']}/members", {"member": "cy"}, (403, "people_only")),
    ):
        assert await deck.refused(shown, method, path, body) == answer, (method, path)
    assert (await deck.ask(shown, "GET", "/projects")).document == []
    seen = (await deck.ask(shown, "GET", f"/members/{other}")).document
    assert set(seen) == {"id", "type", "name", "slug", "capabilities", "labels"}


async def test_another_tenants_board_is_not_there(deck: Deck) -> None:
    ident, _ = await deck.agent("eve")
    dock = await deck.made("member", "/projects", {"name": "Dock", "slug": "dock-3", "members": ["eve"]})
    task = await deck.made("member", f"/projects/{dock['id']}/tasks", {"title": "A task"})
    for path in (
        f"/members/{ident}",
        f"/projects/{dock['id']}",
        f"/projects/{dock['id']}/chats",
        f"/chats/{dock['chat_id']}",
        f"/chats/{dock['chat_id']}/triggers?content=x",
        f"/tasks/{task['id']}",
        f"/tasks/{task['id']}/work",
    ):
        assert (await deck.ask("other", "GET", path)).status == 404, path
    assert (await deck.ask("other", "DELETE", f"/members/{ident}")).status == 404
    assert (await deck.ask("other", "GET", "/members")).document == []


async def test_who_only_looks_leaves_nothing_behind(deck: Deck) -> None:
    before = len((await deck.ask("admin", "GET", "/members?limit=500")).document)
    dock = await deck.made("member", "/projects", {"name": "Dock", "slug": "dock-4"})
    assert (await deck.ask("viewer", "GET", f"/chats/{dock['chat_id']}/messages")).document == []
    refused = await deck.refused("viewer", "POST", f"/chats/{dock['chat_id']}/messages", {"content": "x"})
    assert refused == (403, "not_allowed")
    slugs = [member["slug"] for member in (await deck.ask("admin", "GET", "/members?limit=500")).document]
    assert len(slugs) - before <= 1
    assert "vera" not in slugs
    assert "mia" in slugs


async def test_a_removed_agents_token_is_no_good(deck: Deck) -> None:
    ident, shown = await deck.agent("fay")
    assert (await deck.ask(shown, "GET", "/members/me")).status == 200
    assert (await deck.ask("admin", "DELETE", f"/members/{ident}")).status == 204
    assert (await deck.ask(shown, "GET", "/members/me")).status == 401
    assert shown not in "".join(deck.serving.log)
