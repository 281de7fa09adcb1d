"""kill -9 at every exact point of a run: nothing acknowledged is lost, and the run goes on by itself."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from proof_checker import check, read
from proof_clients import Clients
from proof_provider import Asked, Moment, Provider, quietly
from proof_server import ServerProcess

from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock
from quarterdeck.log.log import Log
from quarterdeck.views.tables import TABLES, VIEWS

pytestmark = pytest.mark.proof

BOUND_S = 20.0
KILLED = -9

# Where the server is killed from within, and how often the provider has then been asked once all is over.
WITHIN = {
    "C01 before the request is committed": ("before:run.requested", 1),
    "C02 the request is written, not synced": ("unsynced:run.requested", 1),
    "C02 the request is synced, not returned": ("synced:run.requested", 1),
    "C03 the request is committed, nobody knows": ("after:run.requested", 1),
    "C04 before the claim": ("before:run.claimed", 1),
    "C05 the claim is written, not synced": ("unsynced:run.claimed", 1),
    "C06 claimed, the model not yet called": ("after:run.attempt_started", 1),
    "C08 the first delta is not committed": ("before:run.content", 2),
    "C08 a later delta is not committed": ("before:run.content:4", 2),
    "C09 a delta is committed, nobody was told": ("after:run.content:3", 2),
    "C10 the reply is whole, nothing says so": ("before:run.attempt_finished", 2),
    "C19 the reply is recorded, the run is not": ("after:run.attempt_finished", 1),
    "C20 before the end is committed": ("before:run.finished", 2),  # as C10: the end is one commit with the reply
    "C20 the end is written, not synced": ("unsynced:run.finished", 1),
    "C20 the end is synced, not returned": ("synced:run.finished", 1),
    "C21 the end is committed, nobody knows": ("after:run.finished", 1),
}
# The same in the loop that plans first: how often it has then been asked what to do, and for the answer.
PLANNING = {
    "before the model is asked what to do": ("before:run.attempt_started", 1, 1),
    "about to be asked what to do": ("after:run.attempt_started", 1, 1),
    "what is to be done is known, nothing says so": ("before:run.attempt_finished", 2, 1),
    "what is to be done is recorded": ("after:run.attempt_finished", 1, 1),
    "about to be asked for the answer": ("after:run.attempt_started:2", 1, 1),
    "in the middle of the answer": ("after:run.content:3", 1, 2),
}
BY_PROVIDER: dict[str, tuple[Moment, int]] = {
    "C06 asked, no headers": ("asked", 0),
    "C07 headers, no delta": ("headers", 0),
    "C08 the first delta is on its way": ("delta", 1),
    "C09 in the middle": ("delta", 12),
    "C10 the stream has ended": ("end", 24),
}
CHECKPOINTS = {
    "C22 a checkpoint copies its first page": "copying:1",
    "C22 a checkpoint copies a later page": "copying:5",
    "C22 a checkpoint has copied, not synced": "copied:1",
    "C22 the log begins anew": "restarting:2",
}


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider(pace_s=0.001) as provider:
        yield provider


@pytest.fixture
async def server(tmp_path: Path, provider: Provider) -> AsyncIterator[ServerProcess]:
    server = ServerProcess(tmp_path / "data", provider.url)
    yield server
    await server.close()


async def verified(folder: Path) -> list[str]:
    """What the log itself finds wrong in a copy."""
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm", "*.lock"))
    log = Log(SqliteStore(copy / "quarterdeck.db"), SystemClock(), TABLES, VIEWS)
    try:
        return await log.verify()
    finally:
        await log.close()
        shutil.rmtree(copy)


async def killed_and_restarted(
    server: ServerProcess, kill_at: str | None, message: str, loop: str = "native"
) -> Clients:
    """One run with two clients through one kill to its end."""
    await server.start(kill_at)
    async with Clients(server) as clients:
        asking = clients.ask(message, loop=loop)
        assert await clients.meanwhile(server.gone()) == KILLED
        await server.start()
        await clients.all_ended()
        assert asking.cuts == 1
        assert len(clients.transcripts) == 2
    assert await server.stop() == 0
    return clients


@pytest.mark.parametrize("point", WITHIN)
async def test_a_run_killed_within_goes_on_by_itself(
    point: str, server: ServerProcess, provider: Provider, rounds: int
) -> None:
    kill_at, asked = WITHIN[point]
    for nth in range(rounds):
        async with asyncio.timeout(BOUND_S):
            clients = await killed_and_restarted(server, kill_at, f"round-{nth}")
            check(server.folder, clients.transcripts, provider)
            assert await verified(server.folder) == []
        assert len(provider.asked_for(f"round-{nth}")) == asked


@pytest.mark.parametrize("point", PLANNING)
async def test_what_was_planned_before_a_kill_is_not_asked_again(
    point: str, server: ServerProcess, provider: Provider, rounds: int
) -> None:
    kill_at, planned, asked = PLANNING[point]
    for nth in range(rounds):
        async with asyncio.timeout(BOUND_S):
            clients = await killed_and_restarted(server, kill_at, f"round-{nth}", "roles")
            check(server.folder, clients.transcripts, provider)
            assert await verified(server.folder) == []
        assert provider.planned.count(f"round-{nth}") == planned
        assert len(provider.asked_for(f"round-{nth}")) == asked


@pytest.mark.parametrize("point", BY_PROVIDER)
async def test_a_run_killed_while_its_model_speaks_goes_on_by_itself(
    point: str, server: ServerProcess, provider: Provider, rounds: int
) -> None:
    moment, sent = BY_PROVIDER[point]
    for nth in range(rounds):
        provider.reached = once(server, lambda at, asked: at == moment and asked.sent == sent)
        async with asyncio.timeout(BOUND_S):
            clients = await killed_and_restarted(server, None, f"round-{nth}")
            check(server.folder, clients.transcripts, provider)
            assert await verified(server.folder) == []


@pytest.mark.parametrize("point", CHECKPOINTS)
async def test_a_kill_within_a_checkpoint_loses_nothing(
    point: str, server: ServerProcess, provider: Provider, rounds: int
) -> None:
    provider.deltas, provider.pace_s = 60, 0.002
    await server.start()  # making the tables of a new folder is checkpoints enough
    await server.stop()
    for nth in range(rounds):
        async with asyncio.timeout(BOUND_S):
            clients = await killed_and_restarted(server, CHECKPOINTS[point], f"round-{nth}")
            check(server.folder, clients.transcripts, provider)
            assert await verified(server.folder) == []


def once(server: ServerProcess, due: Callable[[Moment, Asked], bool]) -> Callable[[Moment, Asked], None]:
    """Kill the server when it is due, and never again."""
    spent: list[bool] = []

    def reached(at: Moment, asked: Asked) -> None:
        if not spent and due(at, asked):
            spent.append(True)
            quietly(server.kill)

    return reached


async def test_a_run_that_always_takes_the_server_down_is_left_alone(server: ServerProcess, provider: Provider) -> None:
    """The third crash in a row is its last; a run beside it comes to its end."""
    provider.reached = lambda at, asked: (
        quietly(server.kill) if asked.message == "poison" and at == "delta" and asked.sent == 3 else None
    )
    async with asyncio.timeout(BOUND_S), Clients(server) as clients:
        await server.start()
        poison = clients.ask("poison", watchers=0)
        healthy = clients.ask("healthy", watchers=0)
        for _ in range(3):
            assert await clients.meanwhile(server.gone()) == KILLED
            await server.start()
        await clients.all_ended()
        assert await server.stop() == 0
    check(server.folder, [healthy], provider)
    check(server.folder, [poison], provider, outcome="quarantined")
    assert poison.done["code"] == "quarantined"
    assert len(provider.asked_for("poison")) == 3
    assert len(read(server.folder)["run", poison.task or ""].of("run.claimed")) == 4
