"""A team's run on the hub: what its own stream tells, from any place, to whoever may read it and to nobody else."""

from __future__ import annotations

from typing import Any

import pytest
from door_client import ask
from door_serving import Serving, Start
from door_teams import TURNS, begun, said, watched
from guarded import GUARDED, at_desk, bearer, token
from hub_peer import Peer, agent

from quarterdeck.actions.desk import Desk
from quarterdeck.server.hub.told import TEAM_EVENTS

WAITS: dict[str, Any] = {"plan": None, "approve_plan": True}


@pytest.fixture(scope="module")
def teams(start: Start) -> Serving:
    return start(*TURNS, constants={"server.hub.limits.TEAM_RUNS": 2})


def ident(run: str) -> str:
    return run.rpartition("/")[2]


async def streamed(server: Serving, run: str) -> list[tuple[str, int, dict[str, Any]]]:
    """All that the run's own stream tells, to its end."""
    frames = await (await watched(server, run)).rest()
    return [(str(frame.event), frame.seq, frame.data) for frame in frames if frame.seq is not None]


async def heard(peer: Peer, run: str) -> list[tuple[str, int, dict[str, Any]]]:
    """All that the hub tells of a run until it is done, in the order in which it came."""
    found: list[tuple[str, int, dict[str, Any]]] = []
    while not found or found[-1][0] != "done":
        frame = await peer.next()
        if frame["data"].get("run_id") == ident(run) and "seq" in frame["data"]:
            data = dict(frame["data"])
            found.append((frame["type"], data.pop("seq"), data))
    return found


async def test_every_change_is_told_live_and_the_same_as_on_the_runs_own_stream(teams: Serving) -> None:
    run = await begun(teams, **WAITS)
    first, second = await Peer.enter(teams), await Peer.enter(teams)
    for peer in (first, second):
        answer = await peer.ask("team.subscribe", run_id=ident(run), after=0)
        assert answer["type"] == "team.subscribed"
        assert (answer["data"]["after"], answer["data"]["epoch"]) == (0, peer.me["epoch"])
        plan = await peer.until("plan_update")
        assert (plan["run_id"], plan["change"], plan["version"]) == (ident(run), "plan", 1)
    late = await Peer.enter(teams)
    now = (await late.ask("team.subscribe", run_id=ident(run)))["data"]
    assert now["after"] == now["head"]
    await said(teams, run, "/approve")
    assert (await late.until("plan_update"))["change"] == "approved"
    await late.until("done")
    for peer in (first, second):
        await peer.until("done")
    whole = await Peer.enter(teams)
    await whole.say("team.subscribe", run_id=ident(run), after=0)
    truth = await streamed(teams, run)
    assert await heard(whole, run) == truth
    assert [seq for _, seq, _ in truth] == list(range(1, len(truth) + 1))
    for peer, after in ((first, 0), (second, 0), (late, now["after"])):
        places = [frame["data"]["seq"] for frame in peer.heard if "seq" in frame["data"]]
        assert places == list(range(after + 1, len(truth) + 1))


async def test_a_subscriber_resumes_behind_any_place(teams: Serving) -> None:
    run = await begun(teams)
    truth = await streamed(teams, run)
    for after in (0, 1, len(truth) // 2, len(truth) - 1):
        peer = await Peer.enter(teams)
        cursor = f"v1.{peer.me['epoch']}.{after}" if after % 2 else after
        await peer.say("team.subscribe", run_id=ident(run), after=cursor)
        assert await heard(peer, run) == truth[after:]
    for cursor, why in ((10_000, "ahead"), ("v1.00000000.3", "epoch")):
        answer = (await peer.ask("team.subscribe", run_id=ident(run), after=cursor))["data"]
        assert (answer["reset"], answer["after"]) == (why, 0)
        assert await heard(peer, run) == truth
    refused = await peer.ask("team.subscribe", run_id=ident(run), after="nonsense")
    assert refused["data"]["code"] == "bad_cursor"


async def test_whoever_leaves_hears_no_more_and_only_so_many_are_followed(teams: Serving) -> None:
    runs = [await begun(teams, **WAITS) for _ in range(3)]
    peer, other = await Peer.enter(teams), await Peer.enter(teams)
    for run in runs[:2]:
        assert (await peer.ask("team.subscribe", run_id=ident(run)))["type"] == "team.subscribed"
    refused = await peer.ask("team.subscribe", run_id=ident(runs[2]))
    assert refused["data"]["code"] == "too_many_team_runs"
    assert (await peer.ask("team.unsubscribe", run_id=ident(runs[0])))["type"] == "ok"
    assert (await peer.ask("team.subscribe", run_id=ident(runs[2])))["type"] == "team.subscribed"
    before = len(peer.heard)
    await other.say("team.subscribe", run_id=ident(runs[0]), after=0)
    for run in runs:
        await said(teams, run, "/stop")
    await other.until("done")
    for _ in runs[1:]:
        await peer.until("done")
    about = {frame["data"].get("run_id") for frame in peer.heard[before:]}
    assert ident(runs[0]) not in about
    assert {ident(run) for run in runs[1:]} <= about


async def test_agents_do_not_look_at_runs_and_nobody_plays_the_server(teams: Serving) -> None:
    run = await begun(teams)
    peer = await Peer.enter(teams, (await agent(teams))["token"])
    refused = await peer.ask("team.subscribe", run_id=ident(run), after=0)
    assert (refused["type"], refused["data"]["code"]) == ("error", "not_allowed")
    for kind in ("team.subscribed", "plan_update"):
        assert (await peer.ask(kind, run_id=ident(run)))["data"]["code"] == "reserved_type"
    assert not [frame for frame in peer.heard if frame["type"] in TEAM_EVENTS]


async def test_another_tenants_run_is_not_there(start: Start, tmp_path: Any) -> None:
    async def people(desk: Desk) -> dict[str, str]:
        made = {
            "member": await token(desk, "member", "person:mia"),
            "viewer": await token(desk, "viewer", "person:vera"),
            "operator": await token(desk, "operator", "person:root", "elsewhere"),
            "other": await token(desk, "owner", "person:otto", "elsewhere"),
        }
        return {name: issued.token for name, issued in made.items()}

    tokens = at_desk(tmp_path, people)
    server = start(*TURNS, folder=tmp_path, environ=GUARDED)
    mia = bearer(tokens["member"])
    crew = {"name": "Crew", "experts": [{"name": "lead", "lead": True}]}
    formed = await ask(server, "POST", "/api/v1/teams", crew, mia)
    assert formed.status == 201, formed
    begun = await ask(server, "POST", f"/api/v1/teams/{formed.document['id']}/runs", {"task": "Find out"}, mia)
    assert begun.status == 201, begun
    run = begun.document["id"]

    async def enter(who: str) -> Peer:
        peer = await Peer.connect(server, headers=bearer(tokens[who]))
        assert (await peer.next())["type"] == "auth.ok"
        return peer

    other = await enter("other")
    nobodys = await other.ask("team.subscribe", run_id="nobody", after=0)
    theirs = await other.ask("team.subscribe", run_id=run, after=0)
    assert theirs["data"] == nobodys["data"]
    assert theirs["data"]["code"] == "team_run_not_found"
    for who in ("member", "viewer", "operator"):
        peer = await enter(who)
        assert (await peer.ask("team.subscribe", run_id=run, after=0))["type"] == "team.subscribed", who
        await peer.until("done")
    assert not [frame for frame in other.heard if frame["type"] in TEAM_EVENTS]
