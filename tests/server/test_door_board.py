"""The board over HTTP: shapes, status codes, pages, and what is stored as it came."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from door_client import ask
from door_serving import Serving

API = "/api/v1"


async def made(server: Serving, path: str, body: object, **headers: str) -> dict[str, Any]:
    answer = await ask(server, "POST", API + path, body, headers)
    assert answer.status == 201, answer
    document: dict[str, Any] = answer.document
    return document


async def got(server: Serving, path: str) -> Any:
    answer = await ask(server, "GET", API + path)
    assert answer.status == 200, answer
    return answer.document


async def done(server: Serving, method: str, path: str, body: object = None, status: int = 200) -> Any:
    answer = await ask(server, method, API + path, body)
    assert answer.status == status, answer
    return answer.document if answer.body else None


async def refused(server: Serving, method: str, path: str, body: object = None) -> tuple[int, str]:
    answer = await ask(server, method, API + path, body)
    return answer.status, answer.code


def new_slug() -> str:
    return f"s-{uuid.uuid4().hex[:8]}"


async def agent(server: Serving, **more: Any) -> dict[str, Any]:
    slug = new_slug()
    return await made(server, "/members", {"type": "agent", "name": slug, "slug": slug, **more})


async def project(server: Serving, *members: str) -> dict[str, Any]:
    slug = new_slug()
    return await made(server, "/projects", {"name": slug, "slug": slug, "members": list(members)})


async def test_a_member_is_added_listed_changed_and_removed(server: Serving) -> None:
    bo = await agent(server, chat_listen="mentions", task_listen="assigned", capabilities=["coding"], prompt="Be kind.")
    assert uuid.UUID(bo["id"])
    assert bo["token"].startswith("qd_")
    known = await got(server, f"/members/{bo['id']}")
    assert known == {name: value for name, value in bo.items() if name != "token"}
    changed = await done(server, "PATCH", f"/members/{bo['id']}", {"max_concurrent_tasks": 3, "labels": ["猫"]})
    assert changed == {**known, "max_concurrent_tasks": 3, "labels": ["猫"]}
    assert changed in await got(server, "/members?type=agent&limit=500")
    assert await got(server, f"/members?slug={bo['slug']}") == [changed]
    fresh = await done(server, "POST", f"/members/{bo['id']}/token", status=201)
    assert fresh["token"] != bo["token"]
    await done(server, "DELETE", f"/members/{bo['id']}", status=204)
    assert await refused(server, "GET", f"/members/{bo['id']}") == (404, "member_not_found")
    assert await refused(server, "DELETE", f"/members/{bo['id']}") == (404, "member_not_found")
    assert bo["token"] not in "".join(server.log)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"type": "robot", "name": "x"}, "invalid_request"),
        ({"type": "agent", "name": "x", "slug": "../x"}, "bad_slug"),
        ({"type": "agent", "name": "x", "slug": "UPPER"}, "bad_slug"),
        ({"type": "agent", "name": "x", "max_concurrent_tasks": 0}, "invalid_request"),
        ({"type": "agent", "name": "x", "chat_listen": "some"}, "invalid_request"),
        ({"type": "human", "name": "x", "runtime": "built_in"}, "bad_runtime"),
        ({"type": "agent", "name": "x", "surprise": 1}, "invalid_request"),
        ({"type": "agent", "name": "x", "prompt": "x" * 60_000}, "text_too_long"),
    ],
)
async def test_a_member_that_makes_no_sense_is_refused(server: Serving, body: object, code: str) -> None:
    assert await refused(server, "POST", "/members", body) == (422, code)


async def test_a_name_without_a_slug_is_given_one(server: Serving) -> None:
    named = await made(server, "/members", {"type": "agent", "name": "Dr. Bo & Co 7"})
    assert named["slug"] == "dr-bo-co-7"
    foreign = await made(server, "/members", {"type": "agent", "name": "Приёмщик"})
    assert foreign["slug"].startswith("member-")


async def test_a_project_has_a_chat_in_which_things_are_said(server: Serving) -> None:
    bo = await agent(server)
    dock = await project(server, bo["slug"])
    assert uuid.UUID(dock["chat_id"])
    assert await got(server, f"/projects?slug={dock['slug']}") == [dock]
    members = await got(server, f"/projects/{dock['id']}/members")
    assert {member["slug"] for member in members} == {"owner", bo["slug"]}
    texts = [f"message {n} for @{bo['slug']} <b>&\r\n\u202e" for n in range(7)]
    for text in texts:
        said = await made(server, f"/chats/{dock['chat_id']}/messages", {"content": text})
        assert (said["author"]["type"], said["mentions"]) == ("human", [bo["id"]])
    found, path = [], f"{API}/chats/{dock['chat_id']}/messages?limit=3"
    while path:
        answer = await ask(server, "GET", path)
        found += [line["content"] for line in answer.document]
        link = answer.headers.get("link", "")
        path = link[1 : link.index(">")] if link else ""
    assert found == texts
    latest = await got(server, f"/chats/{dock['chat_id']}/messages?order=desc&limit=1")
    thread = await made(server, f"/projects/{dock['id']}/chats", {"root": latest[0]["id"], "name": "About that"})
    direct = await made(server, f"/projects/{dock['id']}/chats", {"members": [bo["slug"]]})
    kinds = [chat["kind"] for chat in await got(server, f"/projects/{dock['id']}/chats")]
    assert (kinds, thread["root"]) == (["main", "thread", "direct"], latest[0]["id"])
    assert bo["id"] in direct["members"]
    assert await refused(server, "POST", f"/projects/{dock['id']}/chats", {}) == (422, "bad_chat")
    assert await refused(server, "POST", f"/chats/{dock['chat_id']}/messages", {"content": " "}) == (
        422,
        "content_empty",
    )
    assert await refused(server, "POST", "/chats/nowhere/messages", {"content": "x"}) == (404, "chat_not_found")


async def test_one_asks_beforehand_who_would_be_woken(server: Serving) -> None:
    bo, cy = await agent(server), await agent(server, chat_listen="all", task_listen="all")
    dock = await project(server, bo["slug"], cy["slug"])
    told = await got(server, f"/chats/{dock['chat_id']}/triggers?content=hello%20%40{bo['slug']}")
    assert {each["member"]["slug"]: each["wakes"] for each in told["members"]} == {
        bo["slug"]: "mention",
        cy["slug"]: "message",
    }
    task = await made(server, f"/projects/{dock['id']}/tasks", {"title": "A task", "assignees": [bo["id"]]})
    told = await got(server, f"/tasks/{task['id']}/triggers?content=hello")
    assert {each["member"]["slug"]: each["wakes"] for each in told["members"]} == {
        bo["slug"]: "comment",
        cy["slug"]: None,
    }


async def test_a_task_is_opened_worked_on_reviewed_and_done(server: Serving) -> None:
    dock = await project(server)
    first = await made(server, f"/projects/{dock['id']}/tasks", {"title": "First"})
    body = {"title": "Second", "assignees": ["owner"], "depends_on": [first["id"]], "labels": ["a"], "priority": "high"}
    task = await made(server, f"/projects/{dock['id']}/tasks", body)
    assert (task["status"], task["blocked_by"]) == ("todo", [first["id"]])
    place = f"/tasks/{task['id']}"
    assert await refused(server, "POST", f"{place}/claim") == (409, "task_blocked")
    assert await refused(server, "PUT", f"/tasks/{first['id']}/dependencies", {"depends_on": [task["id"]]}) == (
        409,
        "cycle",
    )
    await done(server, "PUT", f"/tasks/{first['id']}/status", {"status": "done"})
    claimed = await done(server, "POST", f"{place}/claim")
    assert claimed["task"]["status"] == "in_progress"
    assert (await done(server, "POST", f"{place}/heartbeat"))["until"] >= claimed["until"]
    await made(server, f"{place}/comments", {"content": "Half is done."})
    assert (await done(server, "POST", f"{place}/submit", {"summary": "All"}))["status"] == "in_review"
    sent_back = await done(server, "POST", f"{place}/review", {"verdict": "sent_back", "words": "More."})
    assert sent_back["status"] == "todo"
    await done(server, "POST", f"{place}/claim")
    await done(server, "POST", f"{place}/release")
    await done(server, "POST", f"{place}/claim")
    await done(server, "POST", f"{place}/submit")
    assert (await done(server, "POST", f"{place}/review", {"verdict": "approved"}))["status"] == "done"
    assert [line["content"] for line in await got(server, f"{place}/comments")] == ["Half is done."]
    kinds = [line["kind"] for line in await got(server, f"{place}/activity?limit=500")]
    assert kinds[0] == "task.opened"
    assert kinds.count("task.reviewed") == 2
    edited = await done(server, "PATCH", place, {"title": "Renamed", "labels": []})
    assert (edited["title"], edited["labels"], edited["priority"]) == ("Renamed", [], "high")
    assert [line["id"] for line in await got(server, f"/projects/{dock['id']}/tasks?status=done")] == [
        first["id"],
        task["id"],
    ]
    assert task["id"] in [line["id"] for line in await got(server, "/tasks?limit=500")]
    columns = await got(server, f"/projects/{dock['id']}/statuses")
    assert [line["status"] for line in columns] == ["backlog", "todo", "in_progress", "in_review", "done", "cancelled"]


async def test_the_same_key_makes_one_of_each(server: Serving) -> None:
    slug, key = new_slug(), {"Idempotency-Key": new_slug()}
    bodies = [
        ("/members", {"type": "agent", "name": slug, "slug": slug}),
        ("/projects", {"name": slug, "slug": slug}),
    ]
    for path, body in bodies:
        came = await asyncio.gather(*(ask(server, "POST", API + path, body, key) for _ in range(6)))
        assert {answer.status for answer in came} == {201}
        assert len({answer.document["id"] for answer in came}) == 1
        assert sum(answer.document.get("token") is not None for answer in came) == (path == "/members")
    dock = (await ask(server, "POST", API + "/projects", bodies[1][1], key)).document
    for path, body in (
        (f"/projects/{dock['id']}/tasks", {"title": "x"}),
        (f"/chats/{dock['chat_id']}/messages", {"content": "x"}),
    ):
        came = await asyncio.gather(*(ask(server, "POST", API + path, body, key) for _ in range(6)))
        assert len({answer.document["id"] for answer in came}) == 1


async def test_what_is_not_there_is_told_in_one_way(server: Serving) -> None:
    for path, code in (
        ("/members/x", "member_not_found"),
        ("/projects/x", "project_not_found"),
        ("/projects/x/tasks", "project_not_found"),
        ("/projects/x/members", "project_not_found"),
        ("/chats/x", "chat_not_found"),
        ("/chats/x/messages", "chat_not_found"),
        ("/tasks/x", "task_not_found"),
        ("/tasks/x/comments", "task_not_found"),
        ("/tasks/x/activity", "task_not_found"),
    ):
        assert await refused(server, "GET", path) == (404, code), path


WRONG: tuple[Any, ...] = (None, [], {}, "x", 7, True, {"": 1}, {"x": {"y": []}}, {"name": None}, {"content": 7})
FIELDS = [
    "type",
    "name",
    "slug",
    "members",
    "content",
    "reply_to",
    "title",
    "status",
    "labels",
    "assignees",
    "depends_on",
    "to",
    "words",
    "verdict",
]
VALUES: tuple[Any, ...] = (None, "", "\u202e", "x" * 10_000, -1, 2**63 - 1, 0.5, [None], [[]], ["x"] * 2_000, {}, False)


async def test_no_body_however_wrong_makes_the_server_stumble(server: Serving) -> None:
    """Each is answered for what it is; that nothing was logged is looked at when the server ends."""
    bo = await agent(server)
    dock = await project(server, bo["slug"])
    task = await made(server, f"/projects/{dock['id']}/tasks", {"title": "A task"})
    routes = [
        ("POST", "/members"),
        ("PATCH", f"/members/{bo['id']}"),
        ("POST", "/projects"),
        ("PATCH", f"/projects/{dock['id']}"),
        ("POST", f"/projects/{dock['id']}/members"),
        ("POST", f"/projects/{dock['id']}/chats"),
        ("POST", f"/projects/{dock['id']}/tasks"),
        ("POST", f"/chats/{dock['chat_id']}/messages"),
        ("PATCH", f"/tasks/{task['id']}"),
        ("PUT", f"/tasks/{task['id']}/assignees"),
        ("PUT", f"/tasks/{task['id']}/dependencies"),
        ("PUT", f"/tasks/{task['id']}/status"),
        ("POST", f"/tasks/{task['id']}/comments"),
        ("POST", f"/tasks/{task['id']}/review"),
        ("POST", f"/tasks/{task['id']}/handover"),
    ]
    bodies = [*WRONG, *({field: value} for field in FIELDS for value in VALUES)]
    for number, (method, path) in enumerate(routes):
        sent = bodies[number % 3 :: 3]
        for few in range(0, len(sent), 16):
            came = await asyncio.gather(*(ask(server, method, API + path, body) for body in sent[few : few + 16]))
            assert {answer.status for answer in came} <= {200, 201, 400, 403, 404, 409, 415, 422}, (method, path)
