"""One tenant's flood: it is told to come back later, and nobody else hears of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from door_client import Answer, Watch, ask
from door_serving import Serving, Start
from guarded import GUARDED, at_desk, bearer, token

from quarterdeck.actions.desk import Desk

BOUND_S = 20
HANG = {"message": "hang", "loop": "native"}
STREAM = "/v1/chat/stream"
# How soon a reader that left is missed, and how long whoever asks too often waits to be told so.
PACE = {"server.news.BEAT_S": 0.2, "server.quotas.HOLD_S": 0.02}


class Two:
    """Two tenants at one server, and its operator."""

    def __init__(self, start: Start, folder: Path, **environ: str) -> None:
        async def people(desk: Desk) -> list[str]:
            made = [
                await token(desk, "member", "person:a"),
                await token(desk, "member", "person:b", "other"),
                await token(desk, "operator", "person:root"),
            ]
            return [issued.token for issued in made]

        self.one, self.two, self.operator = at_desk(folder, people)
        self.serving: Serving = start(folder=folder, environ={**GUARDED, **environ}, constants=PACE)

    async def ask(self, shown: str, method: str = "GET", path: str = "/v1/tasks", body: object = None) -> Answer:
        return await ask(self.serving, method, path, body, bearer(shown))


async def test_who_asks_too_often_is_told_when_to_come_back(start: Start, tmp_path: Path) -> None:
    two = Two(start, tmp_path, QUARTERDECK_TENANT_RATE="0.5")
    told = [await two.ask(two.one) for _ in range(12)]
    assert told[0].status == 200
    refused = [each for each in told if each.status != 200]
    assert {(each.status, each.code) for each in refused} == {(429, "too_many_requests")}
    assert all(1 <= int(each.headers["retry-after"]) <= 2 for each in refused)
    assert (await two.ask(two.two)).status == 200
    assert {(await two.ask(two.operator)).status for _ in range(12)} == {200}
    async with asyncio.timeout(BOUND_S):
        while (await two.ask(two.one)).status != 200:
            pass


async def test_a_tenant_has_only_so_many_runs_at_work(start: Start, tmp_path: Path) -> None:
    two = Two(start, tmp_path, QUARTERDECK_TENANT_RUNS="2")
    open_ = [await Watch.open(two.serving, "POST", STREAM, HANG, bearer(two.one)) for _ in range(2)]
    for watch in open_:
        await watch.until("content_delta")
    for path in (STREAM, "/v1/chat"):
        refused = await two.ask(two.one, "POST", path, HANG)
        assert (refused.status, refused.code) == (429, "too_many_runs")
        assert int(refused.headers["retry-after"]) >= 1
    assert (await two.ask(two.one)).status == 200, "looking is not starting"
    other = await Watch.open(two.serving, "POST", STREAM, HANG, bearer(two.two))
    assert other.status == 200
    assert (await two.ask(two.one, "POST", f"/v1/tasks/{open_[0].task}/stop")).status == 202, "nor is stopping"
    await open_[0].rest()
    async with asyncio.timeout(BOUND_S):
        while (await two.ask(two.one, "POST", "/v1/chat", {"message": "hello", "loop": "native"})).status == 429:
            pass


async def test_runs_that_a_restart_found_open_count_as_well(start: Start, tmp_path: Path) -> None:
    two = Two(start, tmp_path, QUARTERDECK_TENANT_RUNS="1")
    watch = await Watch.open(two.serving, "POST", STREAM, HANG, bearer(two.one))
    await watch.until("content_delta")
    two.serving.kill()
    two.serving.start()
    assert (await two.ask(two.one, "POST", STREAM, HANG)).code == "too_many_runs"


async def test_a_tenant_has_only_so_many_answers_under_way(start: Start, tmp_path: Path) -> None:
    two = Two(start, tmp_path, QUARTERDECK_TENANT_OPEN="3")
    streams = [await Watch.open(two.serving, "GET", "/v1/news", None, bearer(two.one)) for _ in range(3)]
    assert [watch.status for watch in streams] == [200] * 3
    refused = await two.ask(two.one)
    assert (refused.status, refused.code) == (429, "too_many_open")
    assert (await two.ask(two.two)).status == 200
    streams[0].close()
    async with asyncio.timeout(60):
        while (await two.ask(two.one)).status == 429:
            await asyncio.sleep(0)


async def test_a_flood_of_one_tenant_costs_the_other_no_answer(start: Start, tmp_path: Path) -> None:
    two = Two(start, tmp_path, QUARTERDECK_TENANT_RATE="50")
    over, refused = asyncio.Event(), asyncio.Event()

    async def flood() -> None:
        while not over.is_set():
            if (await two.ask(two.one)).status == 429:
                refused.set()

    floods = [asyncio.create_task(flood()) for _ in range(8)]
    answers = [await two.ask(two.two) for _ in range(20)]
    async with asyncio.timeout(BOUND_S):
        await refused.wait()
    answers += [await two.ask(two.two) for _ in range(5)]
    over.set()
    await asyncio.gather(*floods)
    assert {each.status for each in answers} == {200}
