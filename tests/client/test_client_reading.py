"""The stream contract without a socket: every place once and in order, or a loss that is noticed."""

from __future__ import annotations

import pytest

from quarterdeck.client import Reply, Told
from quarterdeck.client.backoff import Backoff
from quarterdeck.client.frames import Frame
from quarterdeck.client.stream import Draining, Missed, Over, Reading


def at(seq: int, event: str = "content_delta", data: str = "{}", epoch: str = "0000000a") -> Frame:
    return Frame(event, data, f"v1.{epoch}.{seq}")


def standing(seq: int) -> Reading:
    return Reading(f"v1.0000000a.{seq}")


def test_the_next_place_is_applied_and_an_old_one_dropped() -> None:
    reading = standing(4)
    assert reading.take(at(4)) is None
    assert reading.take(at(5)) == Told(5, "content_delta", {})
    assert reading.take(at(5)) is None
    assert reading.cursor == "v1.0000000a.5"


@pytest.mark.parametrize("event", ["content_delta", "done"])
def test_a_step_over_a_place_is_a_loss(event: str) -> None:
    reading = standing(4)
    with pytest.raises(Missed):
        reading.take(at(6, event))
    assert reading.seq == 4


@pytest.mark.parametrize("event", ["skip", "stream.gap"])
def test_a_range_that_is_announced_is_no_loss(event: str) -> None:
    reading = standing(4)
    assert reading.take(at(9, event, '{"from": 5, "to": 9}')) is not None
    assert reading.take(at(10)) is not None


def test_an_announcement_that_begins_too_late_is_a_loss() -> None:
    with pytest.raises(Missed):
        standing(4).take(at(9, "skip", '{"from": 6, "to": 9}'))


def test_a_skip_of_what_was_seen_is_dropped() -> None:
    reading = standing(4)
    assert reading.take(at(3, "skip", '{"from": 1, "to": 3}')) is None
    assert reading.seq == 4


def test_a_reset_may_go_back_and_brings_its_own_epoch() -> None:
    reading = standing(40)
    assert reading.take(at(7, "stream.reset", '{"why": "epoch"}', epoch="0000000b")) is not None
    assert reading.cursor == "v1.0000000b.7"
    assert reading.take(at(8, epoch="0000000b")) is not None


def test_another_epoch_without_a_reset_is_a_loss_even_at_the_next_place() -> None:
    with pytest.raises(Missed):
        standing(4).take(at(5, epoch="0000000b"))


def test_a_heartbeat_that_knows_more_says_that_we_are_behind() -> None:
    reading = standing(4)
    assert reading.take(Frame("hb", '{"head": 5}')) is None
    assert reading.behind
    reading.take(at(5))
    assert not reading.behind


def test_the_end_and_draining_are_told_apart_from_a_broken_connection() -> None:
    with pytest.raises(Over):
        standing(4).take(Frame("end", "{}"))
    with pytest.raises(Draining) as draining:
        standing(4).take(Frame("draining", '{"retry_ms": 1500}'))
    assert draining.value.retry_s == 1.5


def test_text_that_was_taken_back_is_dropped_and_the_rest_stays() -> None:
    reply = Reply()
    for seq, text in ((3, "half"), (4, " a"), (7, "Whole"), (8, ".")):
        if seq == 7:
            reply.apply(Told(5, "attempt_superseded", {"from": 3, "to": 4}))
        reply.apply(Told(seq, "content_delta", {"task_id": "r", "delta": text}))
    assert reply.content == "Whole."


def test_a_snapshot_stands_for_everything_before_it() -> None:
    reply = Reply()
    reply.apply(Told(3, "content_delta", {"delta": "old"}))
    reply.apply(Told(9, "stream.gap", {"snapshot": {"content": "as it is", "reasoning": "why", "stage": "answering"}}))
    reply.apply(Told(10, "content_delta", {"delta": "!"}))
    assert (reply.content, reply.reasoning, reply.stage) == ("as it is!", "why", "answering")
    reply.apply(Told(11, "attempt_superseded", {"from": 2, "to": 10}))
    assert reply.content == ""


def test_waiting_grows_to_half_a_minute_and_never_undercuts_what_was_asked() -> None:
    backoff = Backoff()
    waits = [backoff.next() for _ in range(40)]
    assert all(wait <= min(30.0, 0.5 * 2**number) for number, wait in enumerate(waits))
    assert max(waits[10:]) > 5.0
    assert backoff.next(asked=12.0) >= 12.0
    backoff.worked()
    assert backoff.next() <= 0.5
