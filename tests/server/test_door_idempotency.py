"""The same request made twice is carried out once: S28."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from door_client import Answer, Connection, Watch, ask, attach, chat, let_go, replay, request, stop
from door_serving import Serving, Start

from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock
from quarterdeck.kernel.ids import RunId, run_stream
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.log.log import Log
from quarterdeck.runtime.janitor import trim_run
from quarterdeck.views.tables import TABLES, VIEWS

KEY = "Idempotency-Key"


async def whole(server: Serving, message: str, key: str, **more: object) -> Answer:
    return await ask(server, "POST", "/v1/chat", {"message": message, **more}, {KEY: key})


def runs(server: Serving) -> int:
    return int(server.rows("SELECT count(*) FROM stream WHERE kind = 'run'")[0][0])


async def test_the_same_key_with_the_same_body_gives_the_same_run(server: Serving) -> None:
    first, again = await whole(server, "hello", "k1"), await whole(server, "hello", "k1")
    assert first.status == again.status == 200
    assert again.document == first.document


async def test_the_same_stream_is_told_again_from_its_beginning(server: Serving) -> None:
    first = await chat(server, "hello", {KEY: "k2"})
    again = await chat(server, "hello", {KEY: "k2"})
    await asyncio.gather(first.rest(), again.rest())
    assert again.raw == first.raw


async def test_who_lost_the_connection_at_once_finds_the_run_by_asking_again(server: Serving) -> None:
    lost = await Connection.open(server.port)
    body = {"message": "hang", "loop": "native"}
    lost.send(request("POST", "/v1/chat/stream", body, {KEY: "k3"}, host=server.host))
    await lost.writer.drain()
    lost.close()
    await let_go(server, lost)
    before = runs(server)
    again = await chat(server, "hang", {KEY: "k3"})
    await again.until_seq(7)
    assert runs(server) - before in {0, 1}
    third = await chat(server, "hang", {KEY: "k3"})
    await third.next()
    assert third.task == again.task
    await stop(server, again.task)


@pytest.mark.proof
async def test_fifty_at_once_start_one_run(server: Serving, rounds: int) -> None:
    for turn in range(rounds):
        before = runs(server)
        watches = await asyncio.gather(*(chat(server, "hello", {KEY: f"many{turn}"}) for _ in range(50)))
        await asyncio.gather(*(watch.rest() for watch in watches))
        assert len({bytes(watch.raw) for watch in watches}) == 1
        assert runs(server) == before + 1
        for watch in watches:
            watch.close()


@pytest.mark.parametrize(
    "other", [{"message": "hello!"}, {"message": "hello", "debug": True}, {"message": "hello", "loop": "native"}]
)
async def test_the_same_key_with_another_body_is_refused(server: Serving, other: dict[str, Any]) -> None:
    await whole(server, "hello", "k4")
    before = runs(server)
    told = await ask(server, "POST", "/v1/chat", other, {KEY: "k4"})
    assert (told.status, told.code) == (422, "idempotency_mismatch")
    assert runs(server) == before


async def test_a_refused_request_uses_up_no_key(server: Serving) -> None:
    told = await ask(server, "POST", "/v1/chat", {"message": ""}, {KEY: "k5"})
    assert told.status == 422
    assert (await whole(server, "hello", "k5")).status == 200


async def test_keys_of_different_routes_are_independent(server: Serving) -> None:
    answered = await whole(server, "hello", "k6")
    watched = await chat(server, "hello", {KEY: "k6"})
    await watched.rest()
    assert watched.task != answered.document["task_id"]


async def test_different_keys_and_no_key_start_runs_of_their_own(server: Serving) -> None:
    answers = [await whole(server, "hello", key) for key in ("k7", "k8")]
    answers += [await ask(server, "POST", "/v1/chat", {"message": "hello"}) for _ in range(2)]
    assert len({answer.document["task_id"] for answer in answers}) == 4


@pytest.mark.parametrize("key", ["", " ", "a b", "a/b", "x" * 129, "..", "ключ".encode().decode("latin-1"), "a\tb"])
async def test_a_key_that_is_no_name_is_refused(server: Serving, key: str) -> None:
    told = await whole(server, "hello", key)
    assert told.status == 422
    assert told.code
    assert KEY in told.document["detail"]


async def test_a_key_is_remembered_over_a_restart(start: Start) -> None:
    server = start()
    first = await whole(server, "hello", "k9")
    server.kill()
    server.start()
    again = await whole(server, "hello", "k9")
    assert again.document == first.document
    assert runs(server) == 1


async def test_a_key_of_a_trimmed_run_still_leads_to_its_answer(start: Start) -> None:
    server = start()
    answered, watched = await whole(server, "hello", "k10"), await chat(server, "hello", {KEY: "k11"})
    await watched.rest()
    server.terminate()
    log = Log(SqliteStore(server.database), SystemClock(), TABLES, VIEWS)
    for task in (answered.document["task_id"], watched.task):
        assert await trim_run(log, run_stream(LOCAL_TENANT, RunId(task)))
    await log.close()
    server.start()
    assert (await whole(server, "hello", "k10")).document == answered.document
    again: Watch = await chat(server, "hello", {KEY: "k11"})
    await again.rest()
    assert [frame.event for frame in again.frames] == ["stream.gap", "done", "end"]
    assert again.raw == (await replay(server, watched.task)).raw


async def test_stopping_twice_is_told_apart_from_stopping_once(server: Serving) -> None:
    begun = await chat(server, "hang")
    await begun.until_seq(7)
    assert (await stop(server, begun.task)).document == {"task_id": begun.task, "status": "stopping"}
    await begun.rest()
    told = await stop(server, begun.task)
    assert (told.status, told.code) == (409, "task_ended")
    assert (await attach(server, begun.task, f"?after={begun.seqs[-1]}")).status == 204
