"""Listeners hear of every fact but deltas, once and in order."""

from __future__ import annotations

import asyncio

from logroom import RUN, TALK, Shelf, on_loops_of_their_own, said, say, soon, stream
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.ports import Row


class Ear:
    """Notes what it hears, of one stream or of all, and says when it has heard enough."""

    def __init__(self, log: Log, enough: int, of: StreamName | None = None) -> None:
        self.heard: list[tuple[StreamName, int, int]] = []
        self._enough, self._of, self.done = enough, of, asyncio.Event()
        self.leave = log.listen(self._hear)

    def _hear(self, news: object) -> None:
        pairs: list[tuple[StreamName, Row]] = list(news)  # type: ignore[call-overload]
        self.heard += [(name, row.first, row.last) for name, row in pairs if self._of in {None, name}]
        if len(self.heard) >= self._enough:
            self.done.set()


async def test_every_fact_is_heard_once_and_in_order(log: Log) -> None:
    ear = Ear(log, 400)
    await asyncio.gather(*(say(log, stream(f"s{n % 8}"), n) for n in range(400)))
    await soon(ear.done.wait())
    assert len(set(ear.heard)) == len(ear.heard) == 400
    for which in range(8):
        assert [first for name, first, _ in ear.heard if name == stream(f"s{which}")] == list(range(1, 51))


async def test_deltas_are_not_heard_of(log: Log) -> None:
    ear = Ear(log, 2)
    spout = log.spout(RUN, fence=0, actor="m")
    await say(log, RUN, "before")
    spout.pour("content", 1, ["a", "b"])
    await say(log, RUN, "after")
    await soon(ear.done.wait())
    assert ear.heard == [(RUN, 1, 1), (RUN, 4, 4)]


async def test_what_is_heard_of_can_be_read(log: Log) -> None:
    wrong: list[int] = []

    def check(news: object) -> None:
        for name, row in news:  # type: ignore[attr-defined]
            found = log.recent(name, row.first - 1)
            if not found or found[0].first != row.first:
                wrong.append(row.first)

    log.listen(check)
    await asyncio.gather(*(say(log, TALK, n) for n in range(100)))
    assert wrong == []


async def test_a_refused_append_is_not_heard_of(log: Log) -> None:
    ear = Ear(log, 2)
    jobs = [say(log, TALK, "a"), log.append(Entry(TALK, (said("b"),), fence=9)), say(log, TALK, "c")]
    await asyncio.gather(*jobs, return_exceptions=True)
    await soon(ear.done.wait())
    assert ear.heard == [(TALK, 1, 1), (TALK, 2, 2)]


async def test_who_leaves_hears_nothing_more(log: Log) -> None:
    gone, stays = Ear(log, 1), Ear(log, 2)
    await say(log, TALK, "a")
    await soon(gone.done.wait())
    gone.leave()
    gone.leave()
    await say(log, TALK, "b")
    await soon(stays.done.wait())
    assert len(gone.heard) == 1


def test_listeners_on_every_loop_hear_of_all_loops_facts(shelf: Shelf) -> None:
    log = shelf.open()

    async def act(who: int) -> list[tuple[StreamName, int, int]]:
        ear, ready = Ear(log, 100, TALK), log.follow(stream("ready"))
        await say(log, stream("ready"), who)
        while ready.seq < 4:
            await ready.rows()
        for number in range(25):
            await say(log, TALK, f"{who}-{number}")
        await ear.done.wait()
        return ear.heard

    for heard in on_loops_of_their_own(4, act):
        assert [first for _, first, _ in heard] == list(range(1, 101))
