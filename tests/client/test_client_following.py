"""Following a run over real sockets to a server that cuts, forgets, repeats and falls silent."""

from __future__ import annotations

import asyncio

import pytest
from sse_stage import END, EPOCH, HEAD, TASK, beat, frame, frames, refusal, staged

from quarterdeck.client import Client, Refused, Told, Unreachable
from quarterdeck.client.follow import Patience
from quarterdeck.kernel.errors import Invalid

QUICK = Patience(silence_s=0.3, behind_s=0.1, out_of_touch_s=20.0, first_wait_s=0.01)
WHOLE = list(range(1, 9))


async def seqs(url: str, *, after: str | None = None, ask: bool = False, patience: Patience = QUICK) -> list[int]:
    async with asyncio.timeout(20), Client(url, patience=patience) as client:
        source = client.ask("hi") if ask else client.watch(TASK, after=after)
        return [told.seq async for told in source]


async def test_a_stream_that_is_cut_anywhere_is_resumed_from_the_last_whole_event() -> None:
    whole = frames(1, 3)
    for cut in range(0, len(whole) + 1, 5):
        async with staged(HEAD + whole[:cut], HEAD + whole + END) as stage:
            assert await seqs(stage.url) == [1, 2, 3], cut


async def test_a_reader_goes_on_behind_what_it_holds() -> None:
    async with staged(HEAD + frames(1, 4), HEAD + frames(5, 8) + END) as stage:
        assert await seqs(stage.url) == WHOLE
    assert stage.cursors() == [None, f"v1.{EPOCH}.4"]


async def test_what_comes_twice_is_applied_once() -> None:
    async with staged(HEAD + frames(1, 5), HEAD + frames(3, 8) + END) as stage:
        assert await seqs(stage.url) == WHOLE


async def test_a_place_that_is_left_out_makes_the_reader_come_back_for_it() -> None:
    async with staged(HEAD + frames(1, 3) + frames(5, 8) + END, HEAD + frames(4, 8) + END) as stage:
        assert await seqs(stage.url) == WHOLE
    assert stage.cursors()[1] == f"v1.{EPOCH}.3"


async def test_a_place_that_is_always_left_out_is_told_instead_of_asking_for_ever() -> None:
    async with staged(HEAD + frames(1, 3) + frames(5, 8) + END) as stage:
        with pytest.raises(Refused) as refused:
            await seqs(stage.url)
    assert refused.value.code == "stream_gap"


async def test_silence_makes_the_reader_come_back() -> None:
    async with staged(HEAD + frames(1, 4), HEAD + frames(5, 8) + END, hang=[0]) as stage:
        assert await seqs(stage.url) == WHOLE


async def test_a_heartbeat_ahead_of_what_came_makes_the_reader_come_back_sooner_than_silence() -> None:
    patient = Patience(silence_s=3600.0, behind_s=0.1, first_wait_s=0.01)
    async with staged(HEAD + frames(1, 4) + beat(5), HEAD + frames(5, 8) + END, hang=[0]) as stage:
        assert await seqs(stage.url, patience=patient) == WHOLE


async def test_a_server_that_drains_is_come_back_to() -> None:
    draining = b'event: draining\ndata: {"code": 4503, "retry_ms": 10}\n\n'
    acts = (
        HEAD + frames(1, 4) + draining,
        refusal(503, "draining", "retry-after: 0"),
        HEAD + frames(5, 8) + END,
    )
    async with staged(*acts) as stage:
        assert await seqs(stage.url) == WHOLE
    assert len(stage.requests) == 3


async def test_no_content_means_that_all_was_seen() -> None:
    async with staged(HEAD + frames(1, 8), b"HTTP/1.1 204 No Content\r\n\r\n") as stage:
        assert await seqs(stage.url) == WHOLE


async def test_a_request_is_sent_again_under_its_key_until_its_run_is_known_and_never_afterwards() -> None:
    acts = (b"", HEAD, refusal(503, "draining"), HEAD + frames(1, 2), HEAD + frames(3, 8) + END)
    async with staged(*acts) as stage:
        assert await seqs(stage.url, ask=True) == WHOLE
    assert [request.split()[0] for request in stage.requests] == ["POST", "POST", "POST", "POST", "GET"]
    assert len(stage.keys()) == 1
    assert len({request.partition("\r\n\r\n")[2] for request in stage.requests[:4]}) == 1


@pytest.mark.parametrize(("status", "code"), [(404, "task_not_found"), (422, "message_empty"), (503, "no_model")])
async def test_a_refusal_for_good_is_raised_with_its_code_and_its_sentence(status: int, code: str) -> None:
    async with staged(refusal(status, code)) as stage:
        with pytest.raises(Refused) as refused:
            await seqs(stage.url, ask=True)
    assert (refused.value.code, refused.value.detail, refused.value.status) == (code, f"No: {code}.", status)
    assert len(stage.requests) == 1


async def test_a_reset_is_told_and_the_reader_goes_on_from_there() -> None:
    reset = frame(2, "stream.reset", '{"why": "epoch", "snapshot": {"content": "x"}}', epoch="ffffffff")
    rest = frame(3, epoch="ffffffff") + END
    async with staged(HEAD + reset + rest) as stage, asyncio.timeout(20), Client(stage.url, patience=QUICK) as client:
        told = [each async for each in client.watch(TASK, after=f"v1.{EPOCH}.40")]
    assert [(each.seq, each.event) for each in told] == [(2, "stream.reset"), (3, "content_delta")]


async def test_a_server_that_is_gone_is_given_up_after_a_while_and_named() -> None:
    async with staged(HEAD) as stage:
        url = stage.url
    with pytest.raises(Unreachable) as unreachable:
        await seqs(url, patience=Patience(out_of_touch_s=0.0, first_wait_s=0.01))
    assert url in unreachable.value.detail


@pytest.mark.parametrize("url", ["", "127.0.0.1:8101", "ftp://x", "http://", "http://x:port"])
async def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(Invalid):
        Client(url)


async def test_what_is_no_quarterdeck_is_said_to_be_none() -> None:
    page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5\r\n\r\n<p>hi"
    async with staged(page) as stage, Client(stage.url) as client:
        with pytest.raises(Refused) as refused:
            await client.ready()
    assert refused.value.code == "not_quarterdeck"


async def test_leaving_early_closes_the_connection() -> None:
    async with staged(HEAD + frames(1, 4), hang=[0]) as stage, asyncio.timeout(20), Client(stage.url) as client:
        source = client.watch(TASK)
        assert await anext(source) == Told(1, "content_delta", {"task_id": TASK, "delta": "<1>"})
        await source.aclose()
