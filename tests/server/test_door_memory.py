"""The routes of what is remembered: memories, lessons, looking back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from door_client import Answer, ask
from door_serving import Serving, Start

from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock
from quarterdeck.events.memory import LessonProposed, MemoryStored
from quarterdeck.events.run import RunFinished, RunRequested
from quarterdeck.kernel.ids import RunId, TenantId, experience_stream, memory_stream, run_stream
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.views.tables import TABLES, VIEWS

BOUND_S = 20.0
FOREIGN = TenantId("elsewhere")
LOOK_BACK = {"when": "The exchange", "content": "Fine. Reusable lesson: mind the zebra."}


async def seeded(folder: Path) -> None:
    """What only a run, or another tenant, could have left there."""
    log = Log(SqliteStore(folder / "quarterdeck.db"), SystemClock(), TABLES, VIEWS)
    tainted = MemoryStored("tainted", "run the walrus script", scope="global", source_run="r1", tainted=True)
    theirs = MemoryStored("theirs", "the zebra is theirs", scope="global")
    await log.append(
        Entry(memory_stream(LOCAL_TENANT), (tainted,)),
        Entry(memory_stream(FOREIGN), (theirs,)),
        Entry(experience_stream(LOCAL_TENANT), tuple(LessonProposed(f"l{n}", f"lesson {n}", "r1") for n in range(4))),
        Entry(experience_stream(FOREIGN), (LessonProposed("their-lesson", "theirs", "r1"),)),
        Entry(run_stream(LOCAL_TENANT, RunId("ended")), (RunRequested("c", "hello"), RunFinished("completed", "hi"))),
        Entry(run_stream(FOREIGN, RunId("foreign")), (RunRequested("c", "hello"), RunFinished("completed", "hi"))),
    )
    await log.close()


@pytest.fixture(scope="module")
def server(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Serving:
    folder = tmp_path_factory.mktemp("remembering")
    asyncio.run(seeded(folder))
    return start(LOOK_BACK, {"content": "Hello."}, folder=folder)


@pytest.fixture(autouse=True)
async def _forget(server: Serving) -> AsyncIterator[None]:
    yield
    for each in (await ask(server, "GET", "/v1/memory?limit=500")).document["results"]:
        if each["id"] != "tainted":
            await ask(server, "DELETE", f"/v1/memory/{each['id']}")


async def add(server: Serving, text: str, **more: Any) -> dict[str, Any]:
    answer = await ask(server, "POST", "/v1/memory", {"text": text, **more})
    assert answer.status == 201, answer.body
    memory: dict[str, Any] = answer.document
    return memory


async def listed(server: Serving, query: str = "") -> list[str]:
    answer = await ask(server, "GET", f"/v1/memory{query}")
    assert answer.status == 200, answer.body
    return [each["text"] for each in answer.document["results"] if each["id"] != "tainted"]


def refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.code) == (status, code), answer.body


async def test_a_memory_lives_from_its_adding_to_its_forgetting(server: Serving) -> None:
    memory = await add(server, "Пользователя зовут Владимир.", scope="global", memory_type="fact", importance=0.8)
    assert (memory["scope"], memory["state"], memory["use_count"]) == ("global", "active", 0)
    place = f"/v1/memory/{memory['id']}"
    assert (await ask(server, "GET", place)).document == memory
    changed = (await ask(server, "PATCH", place, {"text": "Пользователя зовут Ли."})).document
    assert (changed["text"], changed["importance"]) == ("Пользователя зовут Ли.", 0.8)
    assert await listed(server) == ["Пользователя зовут Ли."]
    gone = await ask(server, "DELETE", place)
    assert (gone.status, gone.body) == (204, b"")
    for method, body in (("GET", None), ("DELETE", None), ("PATCH", {"text": "x"})):
        refused(await ask(server, method, place, body), 404, "memory_not_found")
    refused(await ask(server, "POST", f"{place}/accept"), 404, "memory_not_found")
    assert await listed(server) == []


async def test_a_list_is_the_latest_first_and_is_paged(server: Serving) -> None:
    for number in range(7):
        await add(server, f"m{number}")
    assert await listed(server) == [f"m{n}" for n in range(6, -1, -1)]
    seen: list[str] = []
    path: str | None = "/v1/memory?limit=3"
    while path is not None:
        answer = await ask(server, "GET", path)
        seen += [each["text"] for each in answer.document["results"] if each["id"] != "tainted"]
        link = answer.headers.get("link")
        path = None if link is None else link[1 : link.index(">")]
    assert seen == [f"m{n}" for n in range(6, -1, -1)]


async def test_a_workspace_shows_its_own_and_the_global_ones(server: Serving, tmp_path: Path) -> None:
    one, two = quote(str(tmp_path / "one")), quote(str(tmp_path / "two"))
    await add(server, "global zebra")
    await add(server, "zebra of one", workspace=str(tmp_path / "one"))
    await add(server, "zebra of two", workspace=str(tmp_path / "two"))
    await add(server, "zebra of a talk", conversation_id="talk")
    assert await listed(server, f"?workspace={one}") == ["zebra of one", "global zebra"]
    assert await listed(server, f"?workspace={two}&scope=workspace") == ["zebra of two"]
    assert await listed(server, "?scope=conversation") == ["zebra of a talk"]
    assert sorted(await listed(server, f"?q=zebras&workspace={one}")) == ["global zebra", "zebra of one"]
    assert len(await listed(server, "?q=zebra")) == 4
    assert await listed(server, "?q=invoice") == []


async def test_a_question_finds_in_three_languages_and_says_how_well(server: Serving) -> None:
    for text in ("Пользователя зовут Владимир.", "The user's name is Vladimir", "用户的名字叫李雷"):
        await add(server, text)
    for query, text in (
        ("как меня зовут", "Пользователя зовут Владимир."),
        ("what is my name", "The user's name is Vladimir"),
        ("我叫什么名字", "用户的名字叫李雷"),
    ):
        answer = await ask(server, "GET", f"/v1/memory?q={quote(query)}")
        assert [each["text"] for each in answer.document["results"]] == [text]
        assert answer.document["results"][0]["score"] > 0


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid_request"),
        ({"text": ""}, 422, "text_empty"),
        ({"text": "x" * 4001}, 422, "text_too_long"),
        ({"text": 7}, 422, "invalid_request"),
        ({"text": "x", "importance": 1.5}, 422, "invalid_request"),
        ({"text": "x", "importance": "0.5"}, 422, "invalid_request"),
        ({"text": "x", "scope": "universe"}, 422, "invalid_request"),
        ({"text": "x", "scope": "workspace"}, 422, "scope_unclear"),
        ({"text": "x", "memory_type": "secret"}, 422, "invalid_request"),
        ({"text": "x", "tainted": False}, 422, "invalid_request"),
        ({"text": "x", "conversation_id": "../up"}, 422, "invalid"),
        (b"{", 400, "bad_json"),
    ],
)
async def test_a_body_that_makes_no_sense_is_refused(server: Serving, body: object, status: int, code: str) -> None:
    headers = {"Content-Type": "application/json"} if isinstance(body, bytes) else None
    if isinstance(body, bytes):
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    refused(await ask(server, "POST", "/v1/memory", body, headers), status, code)
    assert await listed(server) == []


async def test_questions_that_make_no_sense_are_refused(server: Serving) -> None:
    memory = await add(server, "x")
    refused(await ask(server, "PATCH", f"/v1/memory/{memory['id']}", {}), 422, "nothing_to_change")
    refused(await ask(server, "GET", "/v1/memory?q=x&after=y"), 422, "bad_page")
    refused(await ask(server, "GET", "/v1/memory?limit=501"), 422, "invalid_request")
    refused(await ask(server, "GET", f"/v1/memory?q={'x' * 2001}"), 422, "invalid_request")
    refused(await ask(server, "GET", "/v1/memory?scope=universe"), 422, "invalid_request")


async def test_the_same_request_stores_it_once(server: Serving) -> None:
    headers = {"Idempotency-Key": "mem-1"}
    answers = [await ask(server, "POST", "/v1/memory", {"text": "once"}, headers) for _ in range(3)]
    assert [answer.status for answer in answers] == [201] * 3
    assert len({answer.document["id"] for answer in answers}) == 1
    refused(await ask(server, "POST", "/v1/memory", {"text": "other"}, headers), 422, "idempotency_mismatch")
    assert await listed(server) == ["once"]


async def test_everything_can_be_taken_along(server: Serving) -> None:
    texts = ["one\nline", "二", "три"]
    for text in texts:
        await add(server, text)
    answer = await ask(server, "GET", "/v1/memory/export")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert [line["text"] for line in lines if line["id"] != "tainted"] == texts
    assert {"id", "scope", "workspace", "importance", "created_at"} <= set(lines[0])


async def test_what_came_of_untrusted_reading_is_shown_as_proposed_until_it_is_accepted(server: Serving) -> None:
    assert (await ask(server, "GET", "/v1/memory/tainted")).document["state"] == "proposed"
    assert (await ask(server, "POST", "/v1/memory/tainted/accept")).document["state"] == "active"
    assert (await ask(server, "POST", "/v1/memory/tainted/accept")).document["state"] == "active"


async def test_another_tenants_are_not_there(server: Serving) -> None:
    unknown = (await ask(server, "GET", "/v1/memory/nobody")).body
    assert (await ask(server, "GET", "/v1/memory/theirs")).body == unknown
    assert (await ask(server, "PATCH", "/v1/memory/theirs", {"text": "mine"})).body == unknown
    assert (await ask(server, "DELETE", "/v1/memory/theirs")).body == unknown
    assert (await ask(server, "POST", "/v1/memory/theirs/accept")).body == unknown
    assert await listed(server, "?q=zebra") == []
    for method, path in (
        ("POST", "/v1/experience/their-lesson/accept"),
        ("POST", "/v1/experience/their-lesson/reject"),
        ("DELETE", "/v1/experience/their-lesson"),
        ("GET", "/v1/experience/their-lesson"),
    ):
        refused(await ask(server, method, path), 404, "lesson_not_found")
    refused(await ask(server, "POST", "/v1/tasks/foreign/reflect"), 404, "task_not_found")
    assert server.rows("SELECT text FROM view_memory WHERE tenant = 'elsewhere'") == [("the zebra is theirs",)]


async def test_lessons_are_accepted_rejected_and_forgotten(server: Serving) -> None:
    lessons = (await ask(server, "GET", "/v1/experience?limit=4")).document
    assert isinstance(lessons, list)
    assert (await ask(server, "POST", "/v1/experience/l0/accept")).document["state"] == "accepted"
    assert (await ask(server, "POST", "/v1/experience/l0/reject")).document["state"] == "rejected"
    assert (await ask(server, "GET", "/v1/experience/l0")).document["decided_at"] is not None
    assert (await ask(server, "DELETE", "/v1/experience/l3")).status == 204
    refused(await ask(server, "DELETE", "/v1/experience/l3"), 404, "lesson_not_found")
    page = await ask(server, "GET", "/v1/experience?limit=2")
    assert len(page.document) == 2
    assert 'rel="next"' in page.headers["link"]


async def test_a_run_that_has_ended_is_looked_back_at_when_asked(server: Serving) -> None:
    answer = await ask(server, "POST", "/v1/tasks/ended/reflect")
    assert (answer.status, answer.document) == (202, {"task_id": "ended", "status": "reflecting"})
    async with asyncio.timeout(BOUND_S):
        while not (found := [each for each in await lessons(server) if each["source_run"] == "ended"]):
            await ask(server, "GET", "/healthz")
    assert (found[0]["text"], found[0]["state"]) == ("mind the zebra.", "proposed")
    refused(await ask(server, "POST", "/v1/tasks/nobody/reflect"), 404, "task_not_found")


async def lessons(server: Serving) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await ask(server, "GET", "/v1/experience?limit=500")).document
    return found


async def test_what_was_forgotten_is_in_no_file_of_a_server_that_runs(server: Serving) -> None:
    word = "бирюзовый-носорог"
    memory = await add(server, f"{word} один")
    await ask(server, "PATCH", f"/v1/memory/{memory['id']}", {"text": f"{word} два"})
    assert await listed(server, f"?q={quote(word)}") == [f"{word} два"]
    assert scanned(server.folder, word)
    assert (await ask(server, "DELETE", f"/v1/memory/{memory['id']}")).status == 204
    assert scanned(server.folder, word) == []
    assert await listed(server, f"?q={quote(word)}") == []


def scanned(folder: Path, word: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


async def test_many_edits_at_once_leave_one_text_that_somebody_sent(server: Serving) -> None:
    memory = await add(server, "first")
    place = f"/v1/memory/{memory['id']}"
    texts = [f"edit {n}" for n in range(20)]
    answers = await asyncio.gather(*(ask(server, "PATCH", place, {"text": text}) for text in texts))
    assert {answer.status for answer in answers} == {200}
    assert (await ask(server, "GET", place)).document["text"] in texts
