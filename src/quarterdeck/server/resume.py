"""Where a reader of a run begins, and what it is told when it cannot begin where it asked to: never a silent "now"."""

from __future__ import annotations

from typing import Literal, Protocol

from starlette.responses import Response

from quarterdeck.events.base import Event
from quarterdeck.kernel.cursor import parse_place
from quarterdeck.kernel.errors import NotFound
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.fold import Fold
from quarterdeck.log.log import Log
from quarterdeck.ports import StreamState
from quarterdeck.server.reach import Found
from quarterdeck.server.sse import ENDS, PLAIN, Door, EventStream, Manner
from quarterdeck.server.station import Station
from quarterdeck.views.run_snapshot import RunSnapshot, evolve, restored
from quarterdeck.views.run_wire import Payload, RunDoor

Begin = Literal["start", "snapshot", "now"]


class RunView(Door, Protocol):
    """How a run looks at one door, and what is said there besides its events."""

    @property
    def named(self) -> Payload: ...

    @property
    def epoch(self) -> str: ...

    def said(self, event: str, place: int, payload: Payload) -> bytes: ...


async def attached(
    here: Station,
    run: Found,
    place: str | None,
    begin: Begin,
    door: RunView | None = None,
    manner: Manner = PLAIN,
) -> Response:
    """The stream of a run from the place asked for; 204 where it has ended and the reader has seen the end."""
    log, line = here.desk.log, run.line
    state = await log.look(run.run)
    if state is None:
        raise NotFound("There is no such task.", code="task_not_found")
    door = door or RunDoor(line["id"], line["conversation"], log.epoch)
    seq, opening = await _beginning(log, state, door, place, begin)
    if state.closed and seq >= state.head and not opening:
        return Response(status_code=204)
    return EventStream(log.follow(run.run, seq), door, here.streams, last=ENDS, opening=opening, manner=manner)


async def _beginning(log: Log, state: StreamState, door: RunView, place: str | None, begin: Begin) -> tuple[int, bytes]:
    """The seq to read behind, and what is said before."""
    if place is not None:
        asked = parse_place(place)
        if asked.epoch is not None and asked.epoch != log.epoch:
            return await _from_snapshot(log, state, door, "stream.reset", {"why": "epoch"})
        if asked.seq > state.head:
            return await _from_snapshot(log, state, door, "stream.reset", {"why": "ahead"})
        if asked.seq < state.floor:
            return await _from_snapshot(log, state, door, "stream.gap", {"from": asked.seq + 1})
        return asked.seq, b""
    if begin == "now":
        now = state.head - state.closed  # the last event is told to everybody
        return now, door.said("skip", now, {"from": 1, "to": now, "why": "asked"})
    if begin == "snapshot":
        return await _from_snapshot(log, state, door, "snapshot", {})
    if state.floor:
        return await _from_snapshot(log, state, door, "stream.gap", {"from": 1})
    return 0, b""


async def _from_snapshot(log: Log, state: StreamState, door: RunView, event: str, said: Payload) -> tuple[int, bytes]:
    shot = await snapshot(log, state.name)
    span: Payload = {"to": shot.seq} if event == "stream.gap" else {}
    return shot.seq, door.said(event, shot.seq, {**door.named, **said, **span, "snapshot": shot.told()})


async def snapshot(log: Log, name: StreamName) -> RunSnapshot:
    """The run as it stands, from what was stored at its floor and all that came after; the last event stays outside,
    so that a reader who begins here is still told how it ended."""
    shot = await at_floor(log, name)

    def but_the_end(shot: RunSnapshot, event: Event) -> RunSnapshot:
        return shot if event.TERMINAL else evolve(shot, event)

    return await Fold(log, name, shot, but_the_end, shot.seq).catch_up()


async def at_floor(log: Log, name: StreamName) -> RunSnapshot:
    """What stands for the places that are gone."""
    kept = await log.snapshot(name)
    return restored(kept) if kept is not None else RunSnapshot()
