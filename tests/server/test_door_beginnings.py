"""Where a reader begins: never at a silent "now", and always so that what it shows in the end is right."""

from __future__ import annotations

import asyncio

import pytest
from door_client import Frame, ask, attach, chat, finished, replay, stop
from door_serving import Serving, Start
from door_shown import Shown, shown

from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock
from quarterdeck.kernel.ids import RunId, StreamName, run_stream
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.log.log import Log
from quarterdeck.log.rows import cut, event_of
from quarterdeck.runtime.janitor import trim_run
from quarterdeck.views.run_snapshot import RunSnapshot, evolve
from quarterdeck.views.tables import TABLES, VIEWS

HEADER = "Last-Event-ID"


@pytest.fixture(scope="module")
def live(server: Serving) -> list[Frame]:
    """A run that has ended, as it was seen."""
    return asyncio.run(finished(server, "think about it")).frames


def name_of(task: str) -> StreamName:
    return run_stream(LOCAL_TENANT, RunId(task))


def task_of(frames: list[Frame]) -> str:
    return str(frames[0].data["task_id"])


def foreign(frame: Frame) -> str:
    assert frame.id is not None
    version, epoch, seq = frame.id.split(".")
    return f"{version}.{'0' * 8 if epoch != '0' * 8 else '1' * 8}.{seq}"


# A cursor that is not of this log, S03 and S13


@pytest.mark.parametrize("place", [0, 4, -3])
async def test_a_cursor_of_another_epoch_is_answered_with_a_reset(
    server: Serving, live: list[Frame], place: int
) -> None:
    again = await replay(server, task_of(live), headers={HEADER: foreign(live[place])})
    first = again.frames[0]
    assert (first.event, first.data["why"]) == ("stream.reset", "epoch")
    assert shown(again.frames) == shown(live)


@pytest.mark.parametrize("beyond", [1, 1000, 2**53])
async def test_a_cursor_ahead_of_the_head_is_answered_with_a_reset(
    server: Serving, live: list[Frame], beyond: int
) -> None:
    ahead = (live[-2].seq or 0) + beyond
    for headers, query in [({HEADER: str(ahead)}, ""), ({}, f"?after={ahead}")]:
        again = await replay(server, task_of(live), query, headers)
        assert (again.frames[0].event, again.frames[0].data["why"]) == ("stream.reset", "ahead")
        assert shown(again.frames) == shown(live)


async def test_a_reset_run_is_followed_on_to_its_end(server: Serving) -> None:
    begun = await chat(server, "hang")
    frame = await begun.until_seq(6)
    watch = await attach(server, begun.task, headers={HEADER: foreign(frame)})
    assert (await watch.next()).event == "stream.reset"  # type: ignore[union-attr]
    await stop(server, begun.task)
    await asyncio.gather(watch.rest(), begun.rest())
    assert shown(watch.frames) == shown(begun.frames)
    assert watch.frames[-1].event == "end"


@pytest.mark.parametrize(
    "cursor",
    [
        "v1.0123abcd.01",
        "v1.0123ABCD.1",
        "v1.0123abc.1",
        "v2.0123abcd.1",
        "v1.0123abcd.",
        "v1.0123abcd.-1",
        "v1.0123abcd.1.5",
        "v1.0123abcd.1%0A",
        "-1",
        "+1",
        "1e3",
        "0x1",
        "%201",
        "01",
        "99999999999999999999",
        "%D9%A1",
        "",
        "..%2F..",
        "'%20OR%201=1--",
    ],
)
async def test_what_is_no_cursor_is_refused(server: Serving, live: list[Frame], cursor: str) -> None:
    told = await ask(server, "GET", f"/v1/tasks/{task_of(live)}/stream?after={cursor}")
    assert (told.status, told.code) == (400, "bad_cursor")


async def test_what_is_no_cursor_is_refused_in_the_header_too(server: Serving, live: list[Frame]) -> None:
    for cursor in ("nonsense", "v1.x.1", "1,2", "1" * 5000, "\xe9"):
        told = await ask(server, "GET", f"/v1/tasks/{task_of(live)}/stream", headers={HEADER: cursor})
        assert (told.status, told.code) == (400, "bad_cursor")


async def test_a_cursor_of_another_run_is_only_a_place(server: Serving, live: list[Frame]) -> None:
    """A cursor is no permission: it says where, and the address says of what."""
    other = await finished(server, "hello")
    again = await replay(server, other.task, headers={HEADER: live[2].id or ""})
    assert [frame.raw for frame in again.frames] == [frame.raw for frame in other.frames[3:]]


# A beginning that was asked for, S14 and S15


async def test_a_reader_without_a_cursor_begins_at_the_start(server: Serving, live: list[Frame]) -> None:
    for query in ("", "?from=start"):
        again = await replay(server, task_of(live), query)
        assert [frame.raw for frame in again.frames] == [frame.raw for frame in live]


async def test_a_reader_from_a_snapshot_shows_the_same_and_hears_the_end(server: Serving, live: list[Frame]) -> None:
    again = await replay(server, task_of(live), "?from=snapshot")
    assert [frame.event for frame in again.frames] == ["snapshot", "done", "end"]
    assert shown(again.frames) == shown(live)
    assert again.frames[1].raw == live[-2].raw


async def test_readers_from_snapshots_of_a_run_under_way_all_show_the_same(server: Serving) -> None:
    begun = await chat(server, "paced")
    watches = []
    for seq in range(1, 60, 4):
        await begun.until_seq(seq)
        watches.append(await attach(server, begun.task, "?from=snapshot"))
    await asyncio.gather(begun.rest(), *(watch.rest() for watch in watches))
    assert len({watch.frames[0].seq for watch in watches}) > 3, "all began at the same place"
    for watch in watches:
        assert shown(watch.frames) == shown(begun.frames)


async def test_a_reader_from_now_is_told_what_it_skips(server: Serving) -> None:
    begun = await chat(server, "paced")
    await begun.until_seq(20)
    watch = await attach(server, begun.task, "?from=now")
    skip = await watch.next()
    assert skip is not None
    assert (skip.event, skip.data["from"], skip.data["to"], skip.data["why"]) == ("skip", 1, skip.seq, "asked")
    assert skip.seq is not None
    assert skip.seq >= 20
    await asyncio.gather(begun.rest(), watch.rest())
    assert [frame.raw for frame in watch.frames[1:]] == [frame.raw for frame in begun.frames[skip.seq :]]


async def test_a_reader_from_now_of_a_run_that_has_ended_hears_the_end(server: Serving, live: list[Frame]) -> None:
    again = await replay(server, task_of(live), "?from=now")
    assert [frame.event for frame in again.frames] == ["skip", "done", "end"]
    assert again.frames[1].raw == live[-2].raw


async def test_an_unknown_beginning_is_refused(server: Serving, live: list[Frame]) -> None:
    told = await ask(server, "GET", f"/v1/tasks/{task_of(live)}/stream?from=tomorrow")
    assert (told.status, told.code) == (422, "invalid_request")


# The snapshot law, for every place of a stored run


async def test_a_snapshot_and_what_follows_show_what_a_whole_replay_shows(start: Start) -> None:
    server = start()
    runs = [await finished(server, message) for message in ("think about it", "stumble", "hello", "fail")]
    server.terminate()
    log = Log(SqliteStore(server.database), SystemClock(), TABLES, VIEWS)
    try:
        for run in runs:
            rows = await log.read(name_of(run.task), 0, 10_000)
            for seq in range(len(run.seqs)):
                shot = RunSnapshot()
                for row in rows:
                    if row.first <= seq:
                        # The part of the row up to here: a snapshot may stand in the middle of a row.
                        whole, rest = event_of(row), cut(row, seq)
                        part = whole if row.last <= seq else type(whole)(1, whole.texts[: rest.first - row.first])  # type: ignore[call-arg,attr-defined]
                        shot = evolve(shot, part)
                assert shot.seq == seq
                screen = Shown(**shot.told())
                assert screen == shown(run.frames[:seq]), f"at {seq}"
                for frame in run.frames[seq:]:
                    screen = screen.take(frame)
                assert screen == shown(run.frames), f"from {seq}"
    finally:
        await log.close()


# Below the floor, S13


@pytest.fixture(scope="module")
def trimmed(start: Start) -> tuple[Serving, list[Frame], list[Frame]]:
    """A server with two runs whose past is partly gone: one to its last event, one to the middle of its text."""
    server = start()

    async def prepare() -> tuple[list[Frame], list[Frame]]:
        whole, half = await finished(server, "think about it"), await finished(server, "paced")
        server.terminate()
        log = Log(SqliteStore(server.database), SystemClock(), TABLES, VIEWS)
        assert await trim_run(log, name_of(whole.task))
        shot = RunSnapshot()
        for row in await log.read(name_of(half.task), 0, 10_000):
            if row.last > 30:
                break
            shot = evolve(shot, event_of(row))
        await log.trim(name_of(half.task), shot.seq, shot.stored())
        await log.close()
        return whole.frames, half.frames

    whole, half = asyncio.run(prepare())
    server.start()
    return server, whole, half


@pytest.mark.parametrize("query", ["", "?after=0", "?after=3", "?from=start", "?from=snapshot"])
async def test_below_the_floor_a_gap_is_told_with_a_snapshot(
    trimmed: tuple[Serving, list[Frame], list[Frame]], query: str
) -> None:
    server, whole, _ = trimmed
    again = await replay(server, task_of(whole), query)
    assert [frame.event for frame in again.frames] == ["snapshot" if "snap" in query else "stream.gap", "done", "end"]
    gap = again.frames[0]
    if gap.event == "stream.gap":
        assert (gap.data["from"], gap.data["to"]) == (4 if query == "?after=3" else 1, gap.seq)
    assert shown(again.frames) == shown(whole)


@pytest.mark.parametrize("after", [0, 1, 10, 20])
async def test_a_gap_in_the_middle_of_a_text_loses_no_letter(
    trimmed: tuple[Serving, list[Frame], list[Frame]], after: int
) -> None:
    server, _, half = trimmed
    again = await replay(server, task_of(half), f"?after={after}")
    assert again.frames[0].event == "stream.gap"
    assert shown(again.frames) == shown(half)


async def test_above_the_floor_nothing_has_changed(trimmed: tuple[Serving, list[Frame], list[Frame]]) -> None:
    server, _, half = trimmed
    for after in (40, 55):
        again = await replay(server, task_of(half), f"?after={after}")
        assert [frame.raw for frame in again.frames] == [frame.raw for frame in half[after:]]


async def test_a_foreign_cursor_below_the_floor_is_reset(trimmed: tuple[Serving, list[Frame], list[Frame]]) -> None:
    server, _, half = trimmed
    again = await replay(server, task_of(half), headers={HEADER: foreign(half[3])})
    assert again.frames[0].event == "stream.reset"
    assert shown(again.frames) == shown(half)


async def test_the_list_of_events_says_what_is_gone(trimmed: tuple[Serving, list[Frame], list[Frame]]) -> None:
    server, whole, half = trimmed
    for frames in (whole, half):
        told = (await ask(server, "GET", f"/v1/tasks/{task_of(frames)}/events")).document
        assert told[0]["event_type"] == "stream.gap"
        assert told[0]["payload"]["from"] == 1
        assert told[0]["payload"]["to"] == told[0]["seq"] == told[1]["seq"] - 1
        above = (await ask(server, "GET", f"/v1/tasks/{task_of(frames)}/events?after={told[0]['seq']}")).document
        assert above[0] == told[1]


async def test_a_trimmed_run_still_tells_its_answer(trimmed: tuple[Serving, list[Frame], list[Frame]]) -> None:
    server, whole, _ = trimmed
    told = (await ask(server, "GET", f"/v1/tasks/{task_of(whole)}")).document
    assert told["answer"] == shown(whole).content
