"""A run's events at the runtime door: a reader that keeps the contract can follow every one of them."""

from __future__ import annotations

from quarterdeck.client.frames import FrameReader
from quarterdeck.client.stream import Reading
from quarterdeck.ports import Row
from quarterdeck.views.run_wire import RunDoor


def test_an_event_of_a_later_release_that_takes_several_places_is_no_loss_to_a_reader() -> None:
    row = Row(4, 9, 0.0, "run.of_tomorrow", 1, "worker", None, b'{"a": 1}', b"", b"")
    reading = Reading("v1.0000000a.3")
    frames = FrameReader().feed(RunDoor("task", "talk", "0000000a").frames(row))
    told = [each for each in map(reading.take, frames) if each is not None]
    assert [(each.seq, each.event) for each in told] == [(8, "skip"), (9, "event")]
    assert reading.seq == 9
