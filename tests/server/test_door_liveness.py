"""Quiet runs, slow readers, and a server that goes: everybody can tell, nobody is held up, nothing is lost."""

from __future__ import annotations

import asyncio
import socket

import pytest
from door_client import ID, OPEN, Connection, Watch, ask, attach, chat, finished, let_go, replay, request, stop
from door_serving import Serving, Start, script

# More than all the buffers between two sockets of one machine take.
FLOOD = {"when": "flood", "content": ["x" * 8] * 30_000, "burst": 500}
HANG = {"content": ["one ", "two ", "three"], "burst": 3, "hang": 3}


@pytest.fixture(scope="module")
def lively(start: Start) -> Serving:
    """A server whose heart beats fast and whose patience with readers is short."""
    return start(FLOOD, HANG, constants={"server.sse.BEAT_S": 0.1, "server.protocol.STALL_S": 0.3})


# Heartbeats, S21


async def test_a_quiet_run_beats_with_its_head_and_without_a_cursor(lively: Serving) -> None:
    watch = await chat(lively, "hang")
    head = await watch.until_seq(7)
    for _ in range(3):
        beat = await watch.until("hb")
        assert beat.id is None
        assert beat.data == {"head": head.seq}
    assert beat.raw.startswith(b"event: hb\n"), "a comment would be invisible to a browser"
    await stop(lively, watch.task)
    await watch.rest()


async def test_beats_do_not_move_a_readers_place(lively: Serving) -> None:
    watch = await chat(lively, "hang")
    await watch.until("hb")
    await stop(lively, watch.task)
    await watch.rest()
    assert watch.seqs == list(range(1, len(watch.seqs) + 1))
    again = await replay(lively, watch.task)
    assert again.told == watch.told


async def test_a_reader_that_begins_at_now_beats_too(lively: Serving) -> None:
    begun = await chat(lively, "hang")
    await begun.until_seq(7)
    watch = await attach(lively, begun.task, "?from=now")
    assert (await watch.until("hb")).data == {"head": 7}
    await stop(lively, begun.task)


async def test_a_reader_that_leaves_a_quiet_run_gives_its_connection_back(lively: Serving) -> None:
    begun = await chat(lively, "hang")
    await begun.until_seq(7)
    leaving = [await attach(lively, begun.task) for _ in range(20)]
    for watch in leaving:
        await watch.until_seq(7)
    assert {watch.connection.port for watch in leaving} <= lively.clients()
    gone = {watch.connection.port for watch in leaving}
    for watch in leaving:
        watch.close()
    async with asyncio.timeout(10):
        while lively.clients() & gone:
            await begun.until("hb")
    await stop(lively, begun.task)


# Readers that stop reading, S22


async def deaf(server: Serving, task: str) -> Connection:
    """A watcher that takes a few bytes and no more; its own buffer is as small as it goes."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, ("127.0.0.1", server.port))
    await loop.sock_sendall(sock, request("GET", f"/v1/tasks/{task}/stream"))
    connection = Connection(*await asyncio.open_connection(sock=sock, limit=4096))
    OPEN.append(connection)
    connection.reader._transport.pause_reading()  # type: ignore[attr-defined]
    return connection


def hear_again(connection: Connection) -> None:
    """Take what the kernels still hold. A window of a few bytes would open again only by slow timers."""
    transport = connection.reader._transport  # type: ignore[attr-defined]
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    transport.resume_reading()


async def test_a_reader_that_stops_reading_is_cut_and_goes_on_where_it_was(lively: Serving) -> None:
    whole = await finished(lively, "flood")
    for place in (0, 3):
        stuck = await deaf(lively, whole.task)
        await let_go(lively, stuck)
        hear_again(stuck)
        told = await stuck.remainder()
        assert b"event: end" not in told, "it was given everything"
        stuck.close()
        rest = await replay(lively, whole.task, f"?after={place}")
        assert rest.told == whole.told[place:]


async def test_readers_that_stop_reading_hold_up_nobody_and_cost_little(lively: Serving) -> None:
    begun = await chat(lively, "hang")
    await begun.until_seq(7)
    flood = await finished(lively, "flood")
    before = lively.memory()
    stuck = [await deaf(lively, flood.task) for _ in range(40)]
    other = await finished(lively, "flood")
    assert other.frames[-2].data["status"] == "completed"
    assert (await begun.until("hb")).data == {"head": 7}
    assert lively.memory() - before < len(stuck) * 1024 * 1024
    for connection in stuck:
        connection.close()
    await stop(lively, begun.task)


async def test_a_reader_that_is_merely_slow_is_not_cut(lively: Serving) -> None:
    """It takes something within every while of patience, and gets all of it."""
    whole = await finished(lively, "flood")
    slow = await attach(lively, whole.task)
    while (await slow.next()) is not None:
        if len(slow.frames) % 1000 == 0:
            await ask(lively, "GET", "/healthz")
    assert slow.told == whole.told


# A server that goes, S24


async def test_a_server_that_goes_tells_its_watchers_and_takes_the_run_up_again(start: Start) -> None:
    server = start(HANG)
    begun = await chat(server, "anything")
    await begun.until_seq(7)
    late = await attach(server, begun.task, "?after=7")
    server.ask_to_go()
    for watch in (begun, late):
        draining = await watch.until("draining")
        assert draining.id is None
        assert draining.data["retry_ms"] > 0
        assert await watch.next() is None, "nothing follows, and no end is pretended"
    last = max(begun.seqs)
    assert server.wait() == 0
    script(server.folder, {"content": ["four ", "five"]})
    server.start()
    rest = await replay(server, begun.task, headers={"Last-Event-ID": f"{last}"})
    assert rest.seqs == list(range(last + 1, last + 1 + len(rest.seqs)))
    assert rest.frames[-2].data["status"] == "completed"
    assert (await ask(server, "GET", f"/v1/tasks/{begun.task}")).document["answer"] == "four five"
    whole = await replay(server, begun.task)
    assert [frame.raw for frame in begun.frames if frame.seq] == [f.raw for f in whole.frames[:last]]


async def test_a_server_that_is_killed_lost_nothing_that_was_seen(start: Start) -> None:
    server = start(
        {"when": "paced", "content": [f"t{n} " for n in range(60)], "pace": 0.01},
    )
    begun = await chat(server, "paced")
    await begun.until_seq(20)
    server.kill()
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await begun.rest()
    last = max(begun.seqs)
    server.start()
    rest = await replay(server, begun.task, f"?after={last}")
    whole = await replay(server, begun.task)
    assert [frame.raw for frame in [*begun.frames, *rest.frames]] == [frame.raw for frame in whole.frames]
    assert whole.frames[-2].data["status"] == "completed"


async def test_whoever_waits_for_an_answer_is_told_that_the_server_goes(start: Start) -> None:
    server = start(HANG)
    connection = await Connection.open(server.port)
    connection.send(request("POST", "/v1/chat", {"message": "anything"}, host=server.host))
    async with asyncio.timeout(10):
        while not server.heads():
            await ask(server, "GET", "/healthz")
    server.ask_to_go()
    told = await connection.answer()
    assert (told.status, told.code) == (503, "draining")
    assert list(server.heads()) == [told.document["task_id"]]
    assert "retry-after" in told.headers
    server.wait()


async def test_the_time_to_finish_is_given_to_runs_that_can(start: Start) -> None:
    paced = {"content": [f"t{n} " for n in range(60)], "pace": 0.01}
    server = start(paced, environ={"QUARTERDECK_DRAIN_S": "15"})
    begun = await chat(server, "paced")
    await begun.until("content_delta")
    server.ask_to_go()
    await begun.rest()
    assert [frame.event for frame in begun.frames[-2:]] == ["done", "end"]
    assert begun.frames[-2].data["status"] == "completed"
    assert server.wait() == 0


async def test_a_cursor_survives_a_restart(start: Start) -> None:
    server = start({"content": ["a", "b"]})
    whole = await finished(server, "anything")
    server.terminate()
    server.start()
    again = await replay(server, whole.task, headers={"Last-Event-ID": whole.frames[2].id or ""})
    assert [frame.raw for frame in again.frames] == [frame.raw for frame in whole.frames[3:]]
    assert ID.fullmatch(again.frames[0].id or "")


async def test_a_stream_says_how_it_may_be_kept(lively: Serving) -> None:
    watch: Watch = await finished(lively, "flood")
    assert watch.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert watch.headers["cache-control"] == "no-store"
    assert watch.headers["x-accel-buffering"] == "no"
