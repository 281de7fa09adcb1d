"""Reading a run over SSE: gapless, the same for everybody, from any place, to exactly one end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest
from door_client import ID, Frame, Watch, ask, attach, chat, finished, replay, stop
from door_serving import Serving

MESSAGES = ("hello", "think about it", "many words")


@pytest.fixture(scope="module")
def taken(server: Serving) -> Iterator[dict[str, list[Frame]]]:
    """What was seen of one run of each kind by whoever started it."""

    async def take() -> dict[str, list[Frame]]:
        return {message: (await finished(server, message)).frames for message in MESSAGES}

    return asyncio.run(take())


def seqs(frames: list[Frame]) -> list[int]:
    return [frame.seq for frame in frames if frame.seq is not None]


def text_of(frames: list[Frame]) -> str:
    return "".join(frame.data["delta"] for frame in frames if frame.event == "content_delta")


# S02, S11, S16


@pytest.mark.parametrize("message", MESSAGES)
async def test_places_count_from_one_without_a_gap(taken: dict[str, list[Frame]], message: str) -> None:
    found = seqs(taken[message])
    assert found == list(range(1, len(found) + 1))


@pytest.mark.parametrize("message", MESSAGES)
async def test_every_event_but_the_end_carries_a_cursor_of_one_epoch(
    taken: dict[str, list[Frame]], message: str
) -> None:
    *events, end = taken[message]
    found = [ID.fullmatch(frame.id or "") for frame in events]
    assert all(found)
    assert len({match[1] for match in found if match}) == 1
    assert (end.event, end.id, end.data) == ("end", None, {})


@pytest.mark.parametrize("message", MESSAGES)
async def test_the_first_event_says_queued_before_any_text(taken: dict[str, list[Frame]], message: str) -> None:
    first = taken[message][0]
    assert first.event == "runtime_status"
    assert first.data["stage"] == "queued"
    assert first.data["task_id"]
    assert first.data["conversation_id"]


async def test_data_is_one_line_that_begins_with_the_task(taken: dict[str, list[Frame]]) -> None:
    for frame in taken["hello"][:-1]:
        line = frame.raw.decode().rstrip("\n").split("\n")[-1]
        assert line.startswith('data: {"task_id": "')


async def test_text_that_looks_like_a_frame_stays_text(taken: dict[str, list[Frame]]) -> None:
    assert text_of(taken["hello"]) == "Hello there,\nfriend of 猫 and \u2028\r\nid: 7."


async def test_the_answer_is_what_the_deltas_add_up_to(server: Serving, taken: dict[str, list[Frame]]) -> None:
    for frames in taken.values():
        told = await ask(server, "GET", f"/v1/tasks/{frames[0].data['task_id']}")
        assert told.document["answer"] == text_of(frames)
        assert told.document["status"] == "completed"


async def test_the_list_of_events_tells_the_same_as_the_stream(server: Serving, taken: dict[str, list[Frame]]) -> None:
    frames = taken["think about it"]
    told = await ask(server, "GET", f"/v1/tasks/{frames[0].data['task_id']}/events")
    assert [(e["seq"], e["event_type"], e["payload"]) for e in told.document] == [
        (frame.seq, frame.event, frame.data) for frame in frames[:-1]
    ]


# S10, S12: every reader sees the same bytes, from wherever it begins


@pytest.mark.parametrize("message", MESSAGES)
async def test_a_replay_is_byte_for_byte_what_was_seen_live(
    server: Serving, taken: dict[str, list[Frame]], message: str
) -> None:
    live = taken[message]
    again = await replay(server, live[0].data["task_id"])
    assert [frame.raw for frame in again.frames] == [frame.raw for frame in live]


@pytest.mark.parametrize("message", ["hello", "think about it"])
async def test_a_reader_resumes_at_every_place_of_a_run(
    server: Serving, taken: dict[str, list[Frame]], message: str
) -> None:
    live = taken[message]
    for place, frame in enumerate(live[:-2], 1):
        rest = await replay(server, live[0].data["task_id"], headers={"Last-Event-ID": frame.id or ""})
        assert [each.raw for each in rest.frames] == [each.raw for each in live[place:]]


async def test_a_reader_resumes_in_the_middle_of_a_coalesced_row(
    server: Serving, taken: dict[str, list[Frame]]
) -> None:
    live = taken["many words"]
    task = live[0].data["task_id"]
    rows = server.rows(
        "SELECT first, last FROM row JOIN stream ON row.stream = stream.id WHERE key = ? AND last > first", (task,)
    )
    assert rows, "nothing was coalesced"
    first, last = max(rows, key=lambda row: row[1] - row[0])
    for place in {first, (first + last) // 2, last - 1, last}:
        rest = await replay(server, task, f"?after={place}")
        assert [each.raw for each in rest.frames] == [each.raw for each in live[place:]]


async def test_the_bare_number_means_the_same_as_the_cursor(server: Serving, taken: dict[str, list[Frame]]) -> None:
    live = taken["hello"]
    task, frame = live[0].data["task_id"], live[4]
    by_number = await replay(server, task, f"?after={frame.seq}")
    by_cursor = await replay(server, task, f"?after={frame.id}")
    assert by_number.raw == by_cursor.raw
    assert by_number.seqs[0] == 6


async def test_the_header_goes_before_the_address(server: Serving, taken: dict[str, list[Frame]]) -> None:
    live = taken["hello"]
    rest = await replay(server, live[0].data["task_id"], "?after=1&from=now", headers={"Last-Event-ID": "5"})
    assert rest.seqs == seqs(live)[5:]


@pytest.mark.proof
async def test_readers_that_leave_and_come_back_anywhere_miss_and_double_nothing(
    server: Serving, taken: dict[str, list[Frame]], rounds: int
) -> None:
    live = taken["many words"]
    task = live[0].data["task_id"]
    for seed in range(5 * rounds):
        chance = random.Random(seed)
        seen: list[bytes] = []
        while len(seen) < len(live):
            reader = await attach(server, task, headers={"Last-Event-ID": str(len(seen))} if seen else None)
            for _ in range(chance.randint(1, 900)):
                frame = await reader.next()
                if frame is None:
                    break
                seen.append(frame.raw)
            reader.close()
        assert seen == [frame.raw for frame in live], f"seed {seed}"


# S01, S17, S19: watchers of a run that goes on


async def test_two_watchers_and_a_late_one_see_the_same_bytes(server: Serving) -> None:
    first = await chat(server, "paced")
    await first.until("content_delta")
    second = await attach(server, first.task)
    await first.until_seq(30)
    late = await attach(server, first.task)
    resumed = await attach(server, first.task, "?after=10")
    for watch in (first, second, late, resumed):
        await watch.rest()
        watch.close()
    assert second.raw == late.raw == first.raw
    assert [frame.raw for frame in resumed.frames] == [frame.raw for frame in first.frames[10:]]


async def test_a_watcher_of_one_run_sees_nothing_of_another(server: Serving) -> None:
    one, other = await chat(server, "paced"), await chat(server, "paced")
    for watch in (one, other):
        await watch.rest()
        watch.close()
    for watch in (one, other):
        assert {frame.data["task_id"] for frame in watch.frames[:-1]} == {watch.task}
    assert one.task != other.task


async def test_a_run_goes_on_when_nobody_watches(server: Serving) -> None:
    watch = await chat(server, "paced")
    await watch.until("content_delta")
    watch.close()
    again = await replay(server, watch.task)
    assert text_of(again.frames) == "".join(f"t{n} " for n in range(60))
    assert again.frames[-2].data["status"] == "completed"


@pytest.mark.parametrize("message", MESSAGES)
async def test_the_end_comes_once_and_last(taken: dict[str, list[Frame]], message: str) -> None:
    names = [frame.event for frame in taken[message]]
    assert names.count("done") == names.count("end") == 1
    assert names[-2:] == ["done", "end"]


async def test_a_stopped_run_ends_with_what_there_was(server: Serving) -> None:
    watch = await chat(server, "hang")
    await watch.until_seq(7)
    assert (await stop(server, watch.task)).status == 202
    await watch.rest()
    assert [frame.event for frame in watch.frames][-2:] == ["done", "end"]
    assert watch.frames[-2].data["status"] == "stopped"
    assert (await ask(server, "GET", f"/v1/tasks/{watch.task}")).document["answer"] == "one two three"
    watch.close()


async def test_a_failed_run_ends_like_any_other_and_says_why(server: Serving) -> None:
    watch = await finished(server, "fail")
    done = watch.frames[-2]
    assert (done.event, done.data["status"], done.data["code"]) == ("done", "failed", "provider_rejected")


async def test_text_of_an_attempt_that_broke_is_taken_back_by_its_places(server: Serving) -> None:
    watch = await finished(server, "stumble")
    taken_back = next(frame for frame in watch.frames if frame.event == "attempt_superseded")
    gone = range(taken_back.data["from"], taken_back.data["to"] + 1)
    kept = [f.data["delta"] for f in watch.frames if f.event == "content_delta" and f.seq not in gone]
    lost = [f.data["delta"] for f in watch.frames if f.event == "content_delta" and f.seq in gone]
    assert "".join(kept) == "ABCD"
    assert lost == ["a", "b"]
    again = await replay(server, watch.task)
    assert again.raw == watch.raw


@pytest.mark.parametrize("query", ["?after={head}", "?after={cursor}"])
async def test_who_has_seen_the_end_is_told_to_stop_asking(
    server: Serving, taken: dict[str, list[Frame]], query: str
) -> None:
    done = taken["hello"][-2]
    path = f"/v1/tasks/{done.data['task_id']}/stream" + query.format(head=done.seq, cursor=done.id)
    told = await ask(server, "GET", path)
    assert (told.status, told.body) == (204, b"")


async def test_who_has_seen_all_but_the_end_is_told_it(server: Serving, taken: dict[str, list[Frame]]) -> None:
    live = taken["hello"]
    rest = await replay(server, live[0].data["task_id"], f"?after={(live[-2].seq or 0) - 1}")
    assert [frame.raw for frame in rest.frames] == [frame.raw for frame in live[-2:]]


async def test_the_connection_serves_on_after_a_stream_ended(server: Serving) -> None:
    watch = await chat(server, "hello")
    await watch.rest()
    watch.connection.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert (await watch.connection.answer()).document == {"status": "ok"}
    watch.close()


# S07: commit, then speak


async def test_no_event_is_sent_before_it_is_in_the_database(server: Serving) -> None:
    watches = [await chat(server, "paced") for _ in range(4)]

    async def check(watch: Watch) -> int:
        checked = 0
        while (frame := await watch.next()) is not None:
            if frame.seq is not None:
                assert server.heads()[watch.task] >= frame.seq
                checked += 1
        return checked

    assert min(await asyncio.gather(*map(check, watches))) > 60
    for watch in watches:
        watch.close()


async def test_the_read_models_are_level_with_the_first_frame(server: Serving) -> None:
    for _ in range(10):
        watch = await chat(server, "hello")
        await watch.next()
        told = await ask(server, "GET", f"/v1/tasks/{watch.task}")
        assert told.document["conversation_id"] == watch.frames[0].data["conversation_id"]
        talk = await ask(server, "GET", f"/v1/conversations/{told.document['conversation_id']}")
        assert talk.document["messages"][0]["content"] == "hello"
        await watch.rest()
        watch.close()


async def test_whoever_saw_the_end_reads_the_answer_at_once(server: Serving) -> None:
    for _ in range(10):
        watch = await chat(server, "hello")
        await watch.until("done")
        told = (await ask(server, "GET", f"/v1/tasks/{watch.task}")).document
        assert (told["status"], told["stage"]) == ("completed", None)
        assert told["answer"].startswith("Hello")
        watch.close()
