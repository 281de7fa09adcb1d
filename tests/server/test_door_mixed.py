"""Two tenants at once: requests that are cut off anywhere, and sockets, never mix them up."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import websockets
from door_client import Connection, ask, request
from door_serving import Serving, Start
from guarded import GUARDED, NAME, at_desk, bearer, token
from hub_peer import Peer, close_peers

from quarterdeck.actions.desk import Desk

BOUND_S = 60
CUTS = 200
ORIGIN = f"https://{NAME}"


@pytest.fixture(autouse=True)
async def _part() -> AsyncIterator[None]:
    yield
    await close_peers()


@pytest.fixture(scope="module")
def served(start: Start, tmp_path_factory: pytest.TempPathFactory) -> tuple[Serving, str, str]:
    folder: Path = tmp_path_factory.mktemp("mixed")

    async def people(desk: Desk) -> list[str]:
        made = [await token(desk, "owner", "person:a"), await token(desk, "owner", "person:b", "other")]
        return [issued.token for issued in made]

    one, two = at_desk(folder, people)
    return start(folder=folder, environ={**GUARDED, "QUARTERDECK_TENANT_RATE": "0"}), one, two


@pytest.mark.proof
async def test_requests_that_are_cut_off_leave_no_answer_to_anybody_else(
    served: tuple[Serving, str, str], rounds: int
) -> None:
    serving, one, two = served
    for shown, text in ((one, "first tenant's"), (two, "second tenant's")):
        assert (await ask(serving, "POST", "/v1/memory", {"text": text}, bearer(shown))).status == 201
    chance = random.Random(3)

    async def cut() -> None:
        connection = await Connection.open(serving.port)
        data = request("GET", "/v1/memory", headers=bearer(one), host=NAME)
        connection.send(data[: chance.randrange(1, len(data) + 1)])
        await asyncio.sleep(0)
        connection.close()

    async def asked() -> None:
        told = await ask(serving, "GET", "/v1/memory", None, bearer(two))
        assert told.status == 200
        assert [line["text"] for line in told.document["results"]] == ["second tenant's"]

    async with asyncio.timeout(BOUND_S * rounds):
        for _ in range(CUTS // 20 * rounds):
            await asyncio.gather(*(cut() for _ in range(20)), *(asked() for _ in range(5)))


async def test_a_page_with_a_session_comes_in_at_the_hub_as_its_person(served: tuple[Serving, str, str]) -> None:
    serving, one, _ = served
    told = await ask(serving, "POST", "/api/v1/session", None, bearer(one))
    cookie = told.headers["set-cookie"].split(";")[0]
    page = await Peer.connect(serving, headers={"Cookie": cookie}, origin=ORIGIN)
    frame = await page.next()
    assert (frame["type"], frame["data"]["type"]) == ("auth.ok", "human")
    gone = {"Cookie": cookie, "X-CSRF-Token": told.document["csrf_token"], "Origin": ORIGIN}
    assert (await ask(serving, "DELETE", "/api/v1/session", None, gone)).status == 204
    async with asyncio.timeout(BOUND_S):
        await page.socket.wait_closed()
    assert page.socket.close_code == 4401


@pytest.mark.parametrize("origin", ["https://evil.example", f"http://{NAME}", "null", None])
async def test_a_foreign_page_does_not_come_in_with_the_cookie(
    served: tuple[Serving, str, str], origin: str | None
) -> None:
    serving, one, _ = served
    cookie = (await ask(serving, "POST", "/api/v1/session", None, bearer(one))).headers["set-cookie"].split(";")[0]
    with pytest.raises(websockets.InvalidStatus) as refused:
        await Peer.connect(serving, headers={"Cookie": cookie}, origin=origin)
    assert refused.value.response.status_code == 403


async def test_a_page_without_a_session_does_not_come_in(served: tuple[Serving, str, str]) -> None:
    page = await Peer.connect(served[0], origin=ORIGIN)
    assert (await page.next())["type"] == "auth.error"
