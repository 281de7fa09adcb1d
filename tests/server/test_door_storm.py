"""Many clients on a network that cuts, stalls and slices: every one of them ends with exactly what the log holds."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from door_client import Watch, attach, chat, replay
from door_proxy import Proxy
from door_serving import Serving, Start

PATIENCE_S = 0.25
GONE = (OSError, EOFError, TimeoutError, ValueError)


@pytest.fixture(scope="module")
def server(start: Start) -> Serving:
    words = [f"w{n} " for n in range(150)]
    return start(
        {"when": "paced", "content": words, "reasoning": ["hm"] * 20, "pace": 0.005},
        {"content": words, "burst": 5},
        constants={"server.sse.BEAT_S": 0.05},
    )


async def persistent(port: int, task: str) -> tuple[list[bytes], int]:
    """A client that applies `seq == last + 1` and comes back from there until it has heard the end."""
    seen: list[bytes] = []
    tries = 0
    while True:
        tries += 1
        watch: Watch | None = None
        try:
            async with asyncio.timeout(PATIENCE_S):
                watch = await attach(port, task, headers={"Last-Event-ID": str(len(seen))} if seen else None)
            if watch.status == 204:
                return seen, tries
            assert watch.status == 200
            while True:
                async with asyncio.timeout(PATIENCE_S):
                    frame = await watch.next()
                if frame is None or frame.event == "end":
                    break
                if frame.seq is None:
                    assert frame.event == "hb", frame
                    assert frame.data["head"] >= len(seen)
                    continue
                assert frame.seq == len(seen) + 1, "missed or doubled within a connection"
                seen.append(frame.raw)
        except GONE:
            pass
        finally:
            if watch is not None:
                watch.close()


async def storm(server: Serving, task: str, clients: int, seed: int) -> int:
    async with Proxy(server.port, seed) as proxy, asyncio.timeout(100):
        heard = await asyncio.gather(*(persistent(proxy.port, task) for _ in range(clients)))
        cuts = proxy.cuts
    truth = [frame.raw for frame in (await replay(server, task)).frames[:-1]]
    for seen, _ in heard:
        assert seen == truth, f"seed {seed}"
    return cuts


@pytest.mark.proof
async def test_clients_cut_anywhere_in_a_run_under_way_end_with_the_log(server: Serving, rounds: int) -> None:
    cuts = 0
    for seed in range(rounds):
        begun = await chat(server, "paced")
        await begun.next()
        cuts += await storm(server, begun.task, 20, seed)
        begun.close()
    assert cuts >= 20 * rounds, "the network was too kind to prove anything"


@pytest.mark.proof
async def test_clients_cut_anywhere_in_a_stored_run_end_with_the_log(server: Serving, rounds: int) -> None:
    begun = await chat(server, "at once")
    await begun.rest()
    cuts = sum([await storm(server, begun.task, 20, 1000 + seed) for seed in range(rounds)])
    assert cuts >= 20 * rounds


@pytest.mark.proof
async def test_clients_ride_out_a_server_that_is_killed_again_and_again(start: Start, rounds: int) -> None:
    words = [f"w{n} " for n in range(80)]
    server = start({"content": words, "pace": 0.005}, constants={"server.sse.BEAT_S": 0.05})
    for _ in range(rounds):
        begun = await chat(server, "anything")
        await begun.next()
        port, task = server.port, begun.task
        riding = [asyncio.ensure_future(persistent(port, task)) for _ in range(5)]
        for seq in (10, 20):
            with contextlib.suppress(*GONE):
                await begun.until_seq(seq)
            server.kill()
            server.start(port)
            begun = await attach(server, task)
        async with asyncio.timeout(60):
            heard = await asyncio.gather(*riding)
        truth = [frame.raw for frame in (await replay(server, task)).frames if frame.seq]
        for seen, _ in heard:
            assert seen == truth
