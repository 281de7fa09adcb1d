"""Skills, usage and the command audit over HTTP."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from door_client import ask
from door_serving import Serving, Start

from quarterdeck.actions.audit import audit_entry
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock
from quarterdeck.events.audit import CommandAudited
from quarterdeck.events.run import AttemptFinished, AttemptStarted
from quarterdeck.kernel.ids import RunId, TenantId, run_stream
from quarterdeck.kernel.parts import Usage
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.settings import DATABASE
from quarterdeck.views.tables import TABLES, VIEWS

SKILL = "---\nname: {name}\ndescription: Deploy the site.\n---\nDo it."
PRICES = '{"m/dear": {"input": 100000, "output": 200000}}'


def audited(folder: Path, *commands: str) -> None:
    """What a server that ran before left behind."""

    async def write() -> None:
        log = Log(SqliteStore(folder / DATABASE), SystemClock(), TABLES, VIEWS)
        for number, command in enumerate(commands, 1):
            ran = CommandAudited(
                f"r{number}", "c1", command, "shell", "shell", "medium", "person", approved=True, ok=True
            )
            await log.append(audit_entry(TenantId("local"), ran))
            await log.append(audit_entry(TenantId("elsewhere"), ran))
        for tenant in ("local", "elsewhere"):
            called = (
                AttemptStarted(1, "action", "m/dear"),
                AttemptFinished(1, "action", "stop", usage=Usage(5, 3, 1)),
                AttemptStarted(2, "thinker", "m/unknown"),
            )
            await log.append(Entry(run_stream(TenantId(tenant), RunId("past")), called))
        await log.close()

    asyncio.run(write())


@pytest.fixture(scope="module")
def server(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Serving:
    folder = tmp_path_factory.mktemp("records")
    audited(folder, *(f"make target{number}" for number in range(1, 6)), "curl -u ann:hunter2 https://example.org")
    (folder / "skills" / "mine").mkdir(parents=True)
    (folder / "skills" / "mine" / "SKILL.md").write_text(SKILL.format(name="mine"))
    return start(folder=folder, environ={"QUARTERDECK_PRICES": PRICES})


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / ".quarterdeck" / "skills" / "yours").mkdir(parents=True)
    (tmp_path / ".quarterdeck" / "skills" / "yours" / "SKILL.md").write_text(SKILL.format(name="yours"))
    return tmp_path


# Skills


async def test_skills_are_listed_with_their_origin(server: Serving, workspace: Path) -> None:
    skills = (await ask(server, "GET", "/v1/skills")).document
    assert all(set(skill) == {"name", "description", "origin"} for skill in skills)
    origins = {skill["name"]: skill["origin"] for skill in skills}
    assert (origins["analyze_project"], origins["mine"]) == ("built_in", "user")
    assert "yours" not in origins
    there = (await ask(server, "GET", f"/v1/skills?workspace={quote(str(workspace))}")).document
    assert {"name": "yours", "description": "Deploy the site.", "origin": "workspace"} in there


async def test_one_skill_is_shown_whole(server: Serving, workspace: Path) -> None:
    skill = (await ask(server, "GET", "/v1/skills/analyze_project")).document
    assert skill["body"].startswith("# Analyze a project")
    path = f"/v1/skills/yours?workspace={quote(str(workspace))}"
    assert (await ask(server, "GET", path)).document["body"] == "Do it."
    missing = await ask(server, "GET", "/v1/skills/yours")
    assert (missing.status, missing.code) == (404, "skill_not_found")


@pytest.mark.parametrize("workspace", ["relative", "../.."])
async def test_a_workspace_is_a_whole_path(server: Serving, workspace: str) -> None:
    answer = await ask(server, "GET", f"/v1/skills?workspace={workspace}")
    assert (answer.status, answer.code) == (422, "invalid_request")


# Usage


async def test_usage_counts_calls_tokens_and_money(server: Serving) -> None:
    (day,) = (await ask(server, "GET", "/v1/usage?days=2")).document
    assert datetime.fromisoformat(day["day"]).replace(tzinfo=UTC) <= datetime.now(UTC)
    tokens = {"input_tokens": 5, "output_tokens": 3, "reasoning_tokens": 1}
    assert {**day, "day": "", "models": []} == {"day": "", "calls": 2, **tokens, "usd": 1.1, "models": []}
    dear, unknown = day["models"]
    assert dear == {"model": "m/dear", "calls": 1, **tokens, "usd": 1.1}
    assert (unknown["model"], unknown["calls"], unknown["usd"]) == ("m/unknown", 1, None)


@pytest.mark.parametrize("days", ["0", "-1", "367", "x"])
async def test_usage_is_asked_for_by_a_number_of_days_that_makes_sense(server: Serving, days: str) -> None:
    assert (await ask(server, "GET", f"/v1/usage?days={days}")).status == 422


# Audit


async def test_commands_are_listed_the_latest_first_and_page_by_page(server: Serving) -> None:
    everything = (await ask(server, "GET", "/v1/audit/commands")).document
    assert [line["seq"] for line in everything] == [6, 5, 4, 3, 2, 1]
    assert everything[1]["event_type"] == "command_audit"
    assert everything[1]["payload"]["command"] == "make target5"
    assert everything[1]["payload"]["approved"] is True
    pages, path = [], "/v1/audit/commands?limit=4"
    while path:
        answer = await ask(server, "GET", path)
        pages.append([line["seq"] for line in answer.document])
        link = answer.headers.get("link", "")
        path = link[1 : link.index(">")] if link else ""
    assert pages == [[6, 5, 4, 3], [2, 1]]
    one = (await ask(server, "GET", "/v1/audit/commands?task_id=r3")).document
    assert [line["payload"]["command"] for line in one] == ["make target3"]


async def test_no_secret_and_no_such_word_is_in_what_is_told(server: Serving) -> None:
    for path in ("", "/export", "/verify"):
        body = (await ask(server, "GET", f"/v1/audit/commands{path}")).body.lower()
        assert b"hunter2" not in body
        assert b"password" not in body


async def test_the_audit_can_be_taken_away_and_checked(server: Serving) -> None:
    answer = await ask(server, "GET", "/v1/audit/commands/export")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert [line["seq"] for line in lines] == [1, 2, 3, 4, 5, 6]
    verdict = (await ask(server, "GET", "/v1/audit/commands/verify")).document
    assert verdict == {"ok": True, "count": 6, "head_hash": lines[-1]["hash"], "troubles": []}
