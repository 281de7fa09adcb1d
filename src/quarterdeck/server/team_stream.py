"""Where a reader of a team's run begins; the contract is that of a run's stream."""

from __future__ import annotations

from starlette.responses import Response

from quarterdeck.kernel.cursor import parse_place
from quarterdeck.kernel.ids import StreamName
from quarterdeck.ports import StreamState
from quarterdeck.server.resume import Begin
from quarterdeck.server.sse import ENDS, EventStream
from quarterdeck.server.station import Station
from quarterdeck.views.team_wire import TeamDoor, frame, picture, standing


async def attached(here: Station, name: StreamName, place: str | None, begin: Begin) -> Response:
    """The stream from the place asked for; 204 where it has ended and the reader has seen the end."""
    log, door = here.desk.log, TeamDoor(name.key, here.desk.log.epoch)
    state = await log.look(name)
    assert state is not None
    seq, opening = await _beginning(here, state, door, place, begin)
    if state.closed and seq >= state.head and not opening:
        return Response(status_code=204)
    return EventStream(log.follow(name, seq), door, here.streams, last=ENDS, opening=opening)


async def _beginning(
    here: Station, state: StreamState, door: TeamDoor, place: str | None, begin: Begin
) -> tuple[int, bytes]:
    """The place to read behind, and what is said before."""
    if place is None and begin == "start":
        return 0, b""
    if place is None and begin == "now":
        now = state.head - state.closed  # the last event is told to everybody
        return now, frame("skip", door.epoch, now, {"run_id": door.run, "from": 1, "to": now, "why": "asked"})
    if place is None:
        return await _from_snapshot(here, state, door, "snapshot", {})
    asked = parse_place(place)
    if asked.epoch is not None and asked.epoch != door.epoch:
        return await _from_snapshot(here, state, door, "stream.reset", {"why": "epoch"})
    if asked.seq > state.head:
        return await _from_snapshot(here, state, door, "stream.reset", {"why": "ahead"})
    return asked.seq, b""


async def _from_snapshot(
    here: Station, state: StreamState, door: TeamDoor, event: str, said: dict[str, object]
) -> tuple[int, bytes]:
    stands, seq = await standing(here.desk.log, state.name, but_the_end=True)
    return seq, frame(event, door.epoch, seq, {"run_id": door.run, **said, "snapshot": picture(stands)})
