"""Conversations with employees over HTTP: opened, found, renamed, deleted for good."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from door_client import ask
from door_serving import Serving
from talking import PLACE, office, text_of

SECRET = "the heron flies at four"


async def test_a_conversation_is_what_it_was_opened_as(server: Serving) -> None:
    here = await office(server)
    ident = await here.open(title="  A\ntitle ")
    one = (await here.get(f"{PLACE}/{ident}")).document
    told = {"id": ident, "tenant_id": here.tenant, "employee_id": here.employee, "user_id": "user-001"}
    assert one == {**one, **told, "title": "A title", "answering": []}


async def test_one_without_a_title_is_called_after_what_is_said_first(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    assert (await here.get(f"{PLACE}/{ident}")).document["title"] == ""
    await here.post(f"{PLACE}/{ident}/messages", {"content": "Tea, please"})
    await here.post(f"{PLACE}/{ident}/messages", {"content": "and milk"})
    assert (await here.get(f"{PLACE}/{ident}")).document["title"] == "Tea, please"


async def listed(server: Serving, query: str) -> list[str]:
    found, path = [], f"{PLACE}?{query}"
    while path:
        answer = await ask(server, "GET", path)
        assert answer.status == 200, answer
        found += [line["id"] for line in answer.document]
        link = answer.headers.get("link", "")
        path = link[1 : link.index(">")] if link else ""
    return found


async def test_lists_are_by_tenant_employee_and_user_the_latest_first(server: Serving) -> None:
    here, there = await office(server), await office(server)
    mine = [await here.open(user_id=f"user-{number % 2}") for number in range(5)]
    other = await there.open(user_id="user-0")
    for limit in (1, 2, 50):
        assert await listed(server, f"tenant_id={here.tenant}&limit={limit}") == mine[::-1]
        assert await listed(server, f"employee_id={here.employee}&limit={limit}") == mine[::-1]
        assert await listed(server, f"tenant_id={here.tenant}&user_id=user-0&limit={limit}") == mine[::-2]
    assert await listed(server, "user_id=user-0&limit=1") == [other, *mine[::-2]]
    assert await listed(server, f"tenant_id={there.tenant}&employee_id={here.employee}") == []
    assert (await ask(server, "GET", f"{PLACE}?tenant_id=nobody")).code == "tenant_not_found"
    assert (await ask(server, "GET", f"{PLACE}?employee_id=nobody")).code == "employee_not_found"


async def test_a_search_finds_words_and_their_beginnings_in_any_script(server: Serving) -> None:
    here = await office(server)
    titles = ["Invoice of March", "Invoice of April", "Счёт за март", "三月的发票", "Something else"]
    ids = {title: await here.open(title=title) for title in titles}
    for asked, expected in {
        "invoice": titles[1::-1],
        "INV": titles[1::-1],
        "mar inv": titles[:1],
        "счёт мар": titles[2:3],
        "发票": titles[3:4],
        "三月": titles[3:4],
        "voice": [],
        "%": [],
    }.items():
        for limit in (1, 50):
            found = await listed(server, f"tenant_id={here.tenant}&q={_quoted(asked)}&limit={limit}")
            assert found == [ids[title] for title in expected], asked
    await ask(server, "PATCH", f"{PLACE}/{ids['Something else']}", {"title": "Heron"})
    assert await listed(server, f"tenant_id={here.tenant}&q=her") == [ids["Something else"]]
    assert await listed(server, f"tenant_id={here.tenant}&q=something") == []


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


async def test_the_same_key_opens_one(server: Serving) -> None:
    here = await office(server)
    body, key = {"employee_id": here.employee}, {"Idempotency-Key": "open-once"}
    answers = await asyncio.gather(*(ask(server, "POST", PLACE, body, key) for _ in range(5)))
    assert len({answer.document["id"] for answer in answers}) == 1


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"tenant_id": "nobody"}, "tenant_not_found"),
        ({"employee_id": "nobody"}, "employee_not_found"),
        ({"title": "\n"}, "bad_name"),
        ({"user_id": "a\u0007b"}, "bad_user_id"),
        ({"mood": "good"}, "invalid_request"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_a_reason(server: Serving, wrong: dict[str, Any], code: str) -> None:
    assert (await ask(server, "POST", PLACE, wrong)).code == code


async def test_an_employee_of_another_tenant_and_an_archived_one_take_no_conversation(server: Serving) -> None:
    here, there = await office(server), await office(server)
    crossed = await here.post(PLACE, {"tenant_id": there.tenant, "employee_id": here.employee})
    assert (crossed.status, crossed.code) == (404, "employee_not_found")
    ident = await here.open()
    await ask(server, "DELETE", f"/api/v1/employees/{here.employee}")
    assert (await here.post(PLACE, {"employee_id": here.employee})).code == "employee_archived"
    answer = await here.post(f"{PLACE}/{ident}/messages/stream", {"content": "hello"})
    assert (answer.status, answer.code) == (409, "employee_archived")


async def test_a_deleted_conversation_is_gone_at_every_door_and_from_every_file(server: Serving) -> None:
    here = await office(server)
    kept, ident = await here.open(title="kept"), await here.open(title=SECRET)
    await here.answered(kept, "hello")
    await here.answered(ident, f"think: {SECRET}")
    run = (await here.messages(ident))[0]["task_id"]
    hanging = await here.say(ident, f"hang: {SECRET}")
    await hanging.until("token")
    assert (await ask(server, "DELETE", f"{PLACE}/{ident}")).status == 204
    for path in (f"{PLACE}/{ident}", f"{PLACE}/{ident}/messages", f"/v1/conversations/{ident}", f"/v1/tasks/{run}"):
        assert (await here.get(path)).status == 404, path
    assert (await ask(server, "DELETE", f"{PLACE}/{ident}")).status == 404
    assert (await here.post(f"{PLACE}/{ident}/messages", {"content": "still there?"})).status == 404
    assert await listed(server, f"tenant_id={here.tenant}") == [kept]
    assert [said["role"] for said in await here.messages(kept)] == ["user", "assistant"]
    files = [path for path in server.folder.rglob("*") if path.is_file()]
    assert any("db" in path.name for path in files)
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert text_of(await here.answered(kept, "hello again")) != ""


async def test_nobody_is_not_found(server: Serving) -> None:
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"title": "x"}),
        ("DELETE", "", None),
        ("GET", "/messages", None),
        ("POST", "/messages", {"content": "x"}),
        ("POST", "/messages/stream", {"content": "x"}),
        ("POST", "/messages/m/regenerate", None),
    ):
        answer = await ask(server, method, f"{PLACE}/nobody{path}", body)
        assert (answer.status, answer.code) == (404, "conversation_not_found"), path
