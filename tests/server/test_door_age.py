"""How soon to come back, and when a stream has been open for long enough."""

from __future__ import annotations

from door_client import attach, chat, stop
from door_serving import Start

QUIET = {"content": ["one"], "hang": 1}


async def test_a_stream_says_how_soon_to_come_back_once_and_before_all_else(start: Start) -> None:
    serving = start(QUIET, constants={"server.sse.BEAT_S": 0.1})
    watch = await chat(serving, "hang")
    await watch.until("hb")
    assert watch.raw.startswith(b"retry: 1000\n\n")
    assert watch.raw.count(b"retry: ") == 1
    await stop(serving, watch.task)


async def test_a_quiet_stream_that_was_open_for_long_is_asked_to_come_back_and_goes_on(start: Start) -> None:
    serving = start(QUIET, constants={"server.sse.BEAT_S": 0.1, "server.sse.AGE_S": 0.0})
    watch = await chat(serving, "hang")
    draining = await watch.until("draining")
    assert draining.id is None
    assert draining.data["retry_ms"] == 1000
    await stop(serving, watch.task)
    again = await attach(serving, watch.task, f"?after={watch.seqs[-1]}")
    await again.until("done")
