"""Teams through the door: formed, given a task, watched, stepped in with, and carried on over any crash."""

from __future__ import annotations

import asyncio
import random

import pytest
from door_client import ask
from door_serving import Serving, Start
from door_teams import SHAPE, TURNS, begun, check_whole, events, formed, plan, said, watched


@pytest.fixture(scope="module")
def teams(start: Start) -> Serving:
    return start(*TURNS)


async def test_a_team_works_through_its_plan_and_every_change_is_told(teams: Serving) -> None:
    run = await begun(teams)
    watch = await watched(teams, run)
    frames = await watch.rest()
    places = [frame.seq for frame in frames if frame.seq is not None]
    assert places == list(range(1, len(places) + 1))
    done = next(frame for frame in frames if frame.event == "done")
    assert (done.data["status"], done.data["answer"]) == ("completed", "the whole answer")
    changes = {frame.data["change"] for frame in frames if frame.event == "plan_update"}
    assert changes == {"plan", "started", "phase"}
    whole = (await ask(teams, "GET", run)).document
    assert {phase["id"]: phase["status"] for phase in whole["phases"]} == {name: "completed" for name, _, _ in SHAPE}
    assert whole["verdicts"][0]["verdict"] == "left"
    assert (whole["status"], whole["waits_for"], whole["parts"]) == ("completed", None, [])
    part = next(frame.data["run"] for frame in frames if frame.data.get("change") == "started")
    assert (await ask(teams, "GET", f"/v1/tasks/{part}")).document["status"] == "completed"


async def test_a_watcher_resumes_from_any_event_and_may_begin_anywhere(teams: Serving) -> None:
    run = await begun(teams)
    all_of_it = await (await watched(teams, run)).rest()
    told = [frame.raw for frame in all_of_it if frame.id is not None]
    for place in (1, len(told) // 2, len(told) - 1):
        again = await (await watched(teams, run, headers={"Last-Event-ID": all_of_it[place - 1].id or ""})).rest()
        assert [frame.raw for frame in again if frame.id is not None] == told[place:]
    assert (await watched(teams, run, f"?after={len(told)}")).status == 204
    shot = (await (await watched(teams, run, "?from=snapshot")).rest())[0]
    assert (shot.event, shot.data["snapshot"]["plan_version"]) == ("snapshot", 1)
    now = await (await watched(teams, run, "?from=now")).rest()
    assert [frame.event for frame in now] == ["skip", "done", "end"]
    ahead = (await (await watched(teams, run, "?after=9999")).rest())[0]
    assert (ahead.event, ahead.data["why"]) == ("stream.reset", "ahead")


async def test_words_get_receipts_and_a_debate_opens_when_it_is_asked_for(teams: Serving) -> None:
    run = await begun(teams)
    await (await watched(teams, run)).until("plan_update")
    receipts = [await said(teams, run, text) for text in ("/debate up or down?", "/skip nothing", "mind the costs")]
    assert await said(teams, run, "once", "key-1") == await said(teams, run, "once", "key-1")
    await (await watched(teams, run)).rest()
    told = (await ask(teams, "GET", f"{run}/interventions")).document
    assert [(one["id"], one["status"]) for one in told[:3]] == list(
        zip(receipts, ("applied", "ignored", "applied"), strict=True)
    )
    assert (told[1]["code"], len(told)) == ("no_such_phase", 4)
    one = (await ask(teams, "GET", f"{run}/interventions/{receipts[0]}")).document
    assert one["phase"] == "debate1"
    assert (await ask(teams, "POST", f"{run}/interventions", {"text": "late"})).code == "team_run_ended"
    assert [kind for kind, _ in events(teams, run)].count("team.debate_closed") == 2


async def test_a_plan_waits_is_edited_and_stop_keeps_what_is_there(teams: Serving) -> None:
    run = await begun(teams, plan=None, approve_plan=True)
    watch = await watched(teams, run)
    await watch.until("plan_update")
    assert (await ask(teams, "GET", run)).document["waits_for"] == "approval"
    bad = await ask(teams, "PUT", f"{run}/plan", {"phases": [{"id": "a", "task": "x", "depends_on": ["a"]}]})
    assert (bad.status, bad.code) == (422, "bad_plan")
    mine = {
        "phases": [{"id": "a", "expert": "ada", "task": "be quick"}, {"id": "b", "expert": "bob", "task": "hang here"}]
    }
    assert (await ask(teams, "PUT", f"{run}/plan", mine)).document["plan_version"] == 2
    async with asyncio.timeout(20):
        while (frame := await watch.next()) is not None and frame.data.get("status") != "completed":
            pass
    await said(teams, run, "/stop")
    done = await watch.until("done")
    assert (done.data["status"], done.data["answer"]) == ("stopped", "the whole answer")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": "x", "experts": []}, "bad_team"),
        ({"name": "x", "experts": [{"name": "a"}, {"name": "A"}]}, "bad_team"),
        ({"name": "x", "experts": [{}]}, "bad_expert"),
        ({"name": "x", "experts": [{"employee_id": "nobody"}]}, "employee_not_found"),
        ({"name": "x", "experts": [{"member_id": "nobody"}]}, "member_not_found"),
        ({"name": "\x07", "experts": [{"name": "a"}]}, "bad_name"),
    ],
)
async def test_a_team_that_is_none_is_refused_with_its_reason(teams: Serving, body: object, code: str) -> None:
    assert (await ask(teams, "POST", "/api/v1/teams", body)).code == code


async def test_a_run_that_cannot_be_is_refused_with_its_reason(teams: Serving) -> None:
    runs = f"/api/v1/teams/{await formed(teams)}/runs"
    for body, code in (
        ({"task": " "}, "task_empty"),
        ({"task": "x", "debate_style": "loud"}, "bad_debate_style"),
        ({"task": "x", "plan": [{"id": "a", "expert": "eve"}]}, "bad_plan"),
        ({"task": "x", "plan": plan() * 4}, "bad_plan"),
    ):
        assert (await ask(teams, "POST", runs, body)).code == code
    assert (await ask(teams, "POST", "/api/v1/teams/nobody/runs", {"task": "x"})).code == "team_not_found"
    assert (await ask(teams, "GET", f"{runs}/nobody")).code == "team_run_not_found"
    other = await begun(teams)
    assert (await ask(teams, "GET", f"{runs}/{other.rpartition('/')[2]}")).code == "team_run_not_found"


async def test_employees_join_a_team_with_what_they_are(teams: Serving) -> None:
    hired = {"name": "Анна", "role": "analyst", "system_prompt": "You count.", "model": "scripted/other", "tools": []}
    employee = (await ask(teams, "POST", "/api/v1/employees", hired)).document["id"]
    body = {"name": "x", "experts": [{"name": "lead", "lead": True}, {"employee_id": employee, "persona": "strict"}]}
    answer = await ask(teams, "POST", "/api/v1/teams", body, {"Idempotency-Key": "team-1"})
    assert answer.document["experts"][1] == {
        "name": "Анна",
        "about": "strict",
        "lead": False,
        "model": "scripted/other",
        "tools": [],
        "skills": None,
    }
    again = await ask(teams, "POST", "/api/v1/teams", body, {"Idempotency-Key": "team-1"})
    assert again.document["id"] == answer.document["id"]
    listed = (await ask(teams, "GET", "/api/v1/teams?limit=500")).document
    assert answer.document["id"] in {team["id"] for team in listed}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each life of a team that is killed three times is a test of its own."""
    if "life" in metafunc.fixturenames:
        metafunc.parametrize("life", range(metafunc.config.getoption("--rounds")))


@pytest.mark.proof
async def test_a_kill_at_any_moment_loses_nothing_and_does_nothing_twice(start: Start, life: int) -> None:
    chance, server = random.Random(life), start(*TURNS)
    run, words = await begun(server), list[str]()
    for kill in range(3):
        watch = await watched(server, run, "?from=now")
        far = len(events(server, run)) + chance.randint(1, 14)
        if kill < 2:
            word = chance.choice(["mind the costs", "@ada be brief", "/debate up or down?"])
            words.append(await said(server, run, word))
        async with asyncio.timeout(20):
            while (frame := await watch.next()) is not None and (frame.seq or 0) < far and frame.event != "done":
                pass
        server.kill()
        server.start()
    await (await watched(server, run)).rest()
    check_whole(server, run, words)
    server.stop()
