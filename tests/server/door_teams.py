"""A team on a real server: five experts, eight phases, a debate among them, all played by a script."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from door_client import Watch, ask
from door_serving import Serving

MEMBERS = ("ada", "bob", "cy", "di")
# A phase, who has it, what it waits for.
SHAPE = (
    ("p1", "ada", ()),
    ("p2", "bob", ()),
    ("p3", "cy", ("p1",)),
    ("d1", "lead", ("p1", "p2")),
    ("p4", "di", ("d1",)),
    ("p5", "ada", ("p3",)),
    ("p6", "bob", ("p4", "p5")),
    ("p7", "cy", ("p6",)),
)
TURNS: tuple[Mapping[str, Any], ...] = (
    {"when": "Divide the task", "json": {"phases": [{"id": "x", "expert": "ada", "task": "all of it", "name": "x"}]}},
    {"when": "the work is over", "content": ["the ", "whole ", "answer"], "pace": 0.005},
    {"when": "Give the verdict", "json": {"verdict": "left", "reasons": ["shorter"], "confidence": 0.8}},
    {"when": "The debate goes on", "content": ["yes, ", "well\n", "AGREE"], "pace": 0.005},
    {"when": "hang here", "content": ["half a ", "result"], "hang": 1},
    {"content": [f"w{n} " for n in range(8)], "pace": 0.005},
)


def plan() -> list[dict[str, Any]]:
    return [
        {"id": name, "name": name, "expert": who, "task": f"do {name}", "depends_on": list(after)}
        | ({"type": "debate", "topic": "left or right?", "participants": ["ada", "bob"]} if name[0] == "d" else {})
        for name, who, after in SHAPE
    ]


async def formed(server: Serving) -> str:
    experts = [{"name": "lead", "lead": True}, *({"name": name} for name in MEMBERS)]
    answer = await ask(server, "POST", "/api/v1/teams", {"name": "Crew", "experts": experts})
    assert answer.status == 201, answer.document
    return str(answer.document["id"])


async def begun(server: Serving, team: str | None = None, **more: Any) -> str:
    """The path of a run that has begun."""
    team = team or await formed(server)
    body = {"task": "Find out", "plan": plan(), **more}
    answer = await ask(server, "POST", f"/api/v1/teams/{team}/runs", {k: v for k, v in body.items() if v is not None})
    assert answer.status == 201, answer.document
    return f"/api/v1/teams/{team}/runs/{answer.document['id']}"


async def watched(server: Serving, run: str, query: str = "", headers: Mapping[str, str] | None = None) -> Watch:
    return await Watch.open(server, "GET", f"{run}/stream{query}", None, headers)


async def said(server: Serving, run: str, text: str, key: str | None = None) -> str:
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = await ask(server, "POST", f"{run}/interventions", {"text": text}, headers)
    assert answer.status == 202, answer.document
    return str(answer.document["id"])


def events(server: Serving, run: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of a team's run as they are committed."""
    rows = server.rows(
        "SELECT row.kind, row.data FROM row JOIN stream ON row.stream = stream.id "
        "WHERE stream.kind = 'team_run' AND stream.key = ? ORDER BY row.first",
        (run.rpartition("/")[2],),
    )
    return [(kind, json.loads(data)) for kind, data in rows]


def check_whole(server: Serving, run: str, words: list[str]) -> None:
    """Nothing was done twice, nothing is lost, and it ended once."""
    told = events(server, run)
    kinds = Counter(kind for kind, _ in told)
    assert (told[-1][0], kinds["team.run_finished"]) == ("team.run_finished", 1)
    assert told[-1][1]["outcome"] == "completed", told[-1]
    parts = [data["part"] for kind, data in told if kind == "team.part_started"]
    assert len(parts) == len(set(parts))
    done = Counter(data["part"] for kind, data in told if kind == "team.part_ended")
    assert done == Counter(parts)
    phases = Counter(
        data["phase"] for kind, data in told if kind == "team.phase_changed" and data["state"] == "completed"
    )
    assert {name: phases[name] for name, _, _ in SHAPE} == {name: 1 for name, _, _ in SHAPE}
    heeded = [data["intervention"] for kind, data in told if kind == "team.intervention_heeded"]
    accepted = [data["intervention"] for kind, data in told if kind == "team.intervention_accepted"]
    assert heeded == accepted
    assert set(words) <= set(accepted)
    runs = {data["run"] for kind, data in told if kind == "team.part_started"}
    known = server.rows("SELECT id, open FROM view_run")
    assert {ident for ident, _ in known} == runs
    assert {still for _, still in known} == {0}
