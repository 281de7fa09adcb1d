"""kill -9 at random moments under many runs, and going in good order while they stream."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from proof_checker import check, read
from proof_clients import Clients, Transcript
from proof_provider import Asked, Moment, Provider, quietly
from proof_server import ServerProcess

pytestmark = pytest.mark.proof

BOUND_S = 60.0
KILLED = -9
RUNS = 12
KILLS = 2  # the third crash in a row would be a run's last


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with Provider(deltas=40, pace_s=0.003) as provider:
        yield provider


@pytest.fixture
async def server(tmp_path: Path, provider: Provider) -> AsyncIterator[ServerProcess]:
    server = ServerProcess(tmp_path / "data", provider.url, QUARTERDECK_DRAIN_S="0.2")
    yield server
    await server.close()


class Fate:
    """Ends the server by a signal once the provider has sent so many deltas in all, to whichever run."""

    def __init__(self, server: ServerProcess, provider: Provider, how: signal.Signals = signal.SIGKILL) -> None:
        self._server, self._provider, self._how = server, provider, how
        self._at = -1
        provider.reached = self._reached

    def comes_after(self, deltas: int) -> None:
        self._at = self._provider.total + deltas

    def _reached(self, at: Moment, asked: Asked) -> None:
        if self._at >= 0 and self._provider.total >= self._at:
            self._at = -1
            quietly(self._server.kill if self._how == signal.SIGKILL else self._server.terminate)


async def test_many_runs_come_through_kills_at_any_moment(
    server: ServerProcess, provider: Provider, rounds: int
) -> None:
    chance, fate = random.Random(20_26), Fate(server, provider)
    seen: list[Transcript] = []
    await server.start()
    for nth in range(rounds):
        async with asyncio.timeout(BOUND_S), Clients(server) as clients:
            for run in range(RUNS):
                clients.ask(f"round-{nth}.{run}", loop=chance.choice(["roles", "native"]))
            for _ in range(KILLS):
                fate.comes_after(chance.randrange(1, RUNS * provider.deltas // 2))
                assert await clients.meanwhile(server.gone()) == KILLED
                await server.start()
            await clients.all_ended()
            seen += clients.transcripts
        assert sum(transcript.cuts for transcript in clients.transcripts) >= RUNS
    assert await server.stop() == 0
    check(server.folder, seen, provider)
    assert len([1 for kind, _ in read(server.folder) if kind == "run"]) == rounds * RUNS


async def test_a_request_sent_again_and_again_through_kills_starts_one_run(
    server: ServerProcess, provider: Provider, rounds: int
) -> None:
    """Four clients send the same request with the same key at the same time; all of them do so again after the kill."""
    for nth in range(rounds):
        async with asyncio.timeout(BOUND_S), Clients(server) as clients:
            await server.start("before:run.requested" if nth % 2 else "after:run.requested")
            asked = [clients.ask(f"same-{nth}", watchers=0) for _ in range(4)]
            clients.ask(f"other-{nth}", watchers=0)
            assert await clients.meanwhile(server.gone()) == KILLED
            await server.start()
            await clients.all_ended()
            assert len({transcript.task for transcript in asked}) == 1
            assert await server.stop() == 0
        check(server.folder, clients.transcripts, provider)


async def test_a_server_that_is_asked_to_go_lets_go_in_good_order(
    server: ServerProcess, provider: Provider, rounds: int
) -> None:
    """Any number of times, and not one of them counts as a crash."""
    chance, fate = random.Random(7), Fate(server, provider, signal.SIGTERM)
    provider.pace_s, goings = 0.02, 4
    for nth in range(rounds):
        async with asyncio.timeout(BOUND_S), Clients(server) as clients:
            await server.start()
            for run in range(3):
                clients.ask(f"round-{nth}.{run}")
            for _ in range(goings):
                fate.comes_after(chance.randrange(3, 60))
                assert await clients.meanwhile(server.gone()) == 0
                await server.start()
            provider.pace_s = 0.0
            await clients.all_ended()
            assert await server.stop() == 0
            provider.pace_s = 0.02
        check(server.folder, clients.transcripts, provider)
        stories = [story for (kind, _), story in read(server.folder).items() if kind == "run"]
        assert max(len(story.of("run.released")) for story in stories) >= 3
        for transcript in clients.transcripts:
            assert "event: draining\n" in transcript.raw


async def test_a_short_run_is_given_the_time_to_finish(server: ServerProcess, provider: Provider) -> None:
    server.settings["QUARTERDECK_DRAIN_S"] = "30"
    Fate(server, provider, signal.SIGTERM).comes_after(5)
    async with asyncio.timeout(BOUND_S), Clients(server) as clients:
        await server.start()
        clients.ask("short")
        assert await clients.meanwhile(server.gone()) == 0
        await clients.all_ended()
    check(server.folder, clients.transcripts, provider)
    assert [transcript.cuts for transcript in clients.transcripts] == [0, 0]


async def test_whoever_asks_it_to_go_twice_does_not_wait(server: ServerProcess, provider: Provider) -> None:
    """The grace is an hour; the second signal ends it, and the run is let go in good order all the same."""
    server.settings["QUARTERDECK_DRAIN_S"] = "3600"
    provider.pace_s = 0.02
    held = asyncio.Event()
    provider.hold = held

    def reached(at: Moment, asked: Asked) -> None:
        if at == "delta" and asked.nth == 1 and asked.sent == 5:
            held.clear()
            server.terminate()

    held.set()
    provider.reached = reached
    async with asyncio.timeout(BOUND_S), Clients(server) as clients:
        await server.start()
        clients.ask("long", watchers=0)
        await server.says("Stopping")
        server.terminate()
        assert await clients.meanwhile(server.gone()) == 0
        held.set()
        await server.start()
        await clients.all_ended()
        assert await server.stop() == 0
    check(server.folder, clients.transcripts, provider)
    [story] = [story for (kind, _), story in read(server.folder).items() if kind == "run"]
    assert len(story.of("run.released")) == 1
