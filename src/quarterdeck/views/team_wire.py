"""A team's run as watchers see it: one frame for each place of its stream, as SSE or on the hub, and the whole as it
stands."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from quarterdeck.engine.team import TeamState, evolve
from quarterdeck.engine.team.told import told
from quarterdeck.events.base import Erased, Unknown
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.fold import Fold
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Row
from quarterdeck.views import hub_wire

_printed = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class TeamDoor:
    """What every frame of one team's run needs to know beside its event."""

    run: str
    epoch: str

    def frames(self, row: Row) -> bytes:
        """Kept with the row: the next watcher is handed the same bytes."""
        if row.wire is None:
            name, payload = _told(row)
            row.wire = frame(name, self.epoch, row.last, {"run_id": self.run, **payload})
        return row.wire


def hub_frame(run: str, row: Row) -> bytes:
    """The same event as the hub tells it: `seq` in the place of the SSE id."""
    name, payload = _told(row)
    span = {"from": row.first} if row.first < row.last else {}  # of a kind that only a later release knows
    return hub_wire.frame(name, {**payload, **span, "run_id": run, "seq": row.last})


def _told(row: Row) -> tuple[str, dict[str, Any]]:
    event = event_of(row)
    return ("event", {"kind": row.kind}) if isinstance(event, Erased | Unknown) else told(event)


def frame(name: str, epoch: str, place: int, payload: dict[str, Any]) -> bytes:
    return f"id: v1.{epoch}.{place}\nevent: {name}\ndata: {_printed(payload)}\n\n".encode()


async def standing(log: Log, name: StreamName, *, but_the_end: bool = False) -> tuple[TeamState, int]:
    """The run as it stands, and at which place. Without its end, whoever reads on from there is still told that."""
    fold = Fold(log, name, TeamState(), evolve)
    state = await fold.catch_up()
    ended = state.outcome is not None and but_the_end
    return state, fold.seq - ended


def picture(state: TeamState) -> dict[str, Any]:
    """All that is there to see: the plan and how it stands, who works on what, verdicts, guidance."""
    runs: dict[str | None, str | None] = {part.phase: part.run for part in state.parts.values() if part.work == "phase"}
    phases = [
        {
            **asdict(phase.planned),
            "status": phase.state,
            "result": phase.result,
            "detail": phase.detail,
            "run": runs.get(phase.id),
        }
        for phase in state.phases
    ]
    names = ("key", "work", "expert", "phase", "round", "run")
    return {
        "plan_version": state.version,
        "phases": phases,
        "parts": [{name: getattr(part, name) for name in names} for part in state.open_parts],
        "verdicts": [asdict(verdict) for verdict in state.verdicts.values()],
        "guidance": [{"words": one.words, "to": one.to} for one in state.guidance],
        "waits_for": waits_for(state),
        "debates": state.debates,
    }


def waits_for(state: TeamState) -> str | None:
    if state.outcome is not None:
        return None
    if state.version and not state.approved:
        return "approval"
    return "resume" if state.paused else None
