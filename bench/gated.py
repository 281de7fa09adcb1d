"""Measurements taken while streams stand open: the memory of one, and one stream with many watchers."""

from __future__ import annotations

import asyncio
from typing import Any

from load import Plan, drive, faults, quiet, read_turn, until
from process import Server
from wire import Call, now

WATCH_TIMEOUT_S = 60.0
CONNECTING = 64  # watchers that connect at the same time


async def hold(server: Server, streams: int) -> dict[str, Any]:
    """Memory of an open stream. The server has seen no other load, so that nothing freed hides what is taken."""
    before, during = server.process.rss_mb(), 0.0

    async def weigh(_: list[Call]) -> None:
        nonlocal during
        await asyncio.sleep(0.5)
        during = server.process.rss_mb()

    sample = await drive(server, Plan(tokens=2, streams=streams, ramp_s=1.0, gated=True), weigh)
    return sample | {"rss_per_stream_kb": round((during - before) * 1000 / streams, 1)}


class Audience:
    """The watchers of one run, opened at the gate."""

    def __init__(self, server: Server, count: int, tokens: int) -> None:
        self.server, self.tokens = server, tokens
        self.calls = [Call() for _ in range(count)]
        self.tasks: list[asyncio.Task[Any]] = []
        self.cpu_s, self.begin = 0.0, 0.0

    async def gather(self, runner: list[Call]) -> None:
        target = self.server.target
        found = target.run_id.search(b"".join(data for _, data in runner[0].parts))
        if not found:
            raise RuntimeError(f"{target.name}: no run to watch in the first bytes of the answer")
        raw = target.watch(found[1].decode())
        for at in range(0, len(self.calls), CONNECTING):
            calls = self.calls[at : at + CONNECTING]
            exchanges = [call.exchange(self.server.port, raw, WATCH_TIMEOUT_S) for call in calls]
            self.tasks += [asyncio.create_task(exchange) for exchange in exchanges]
            await until(lambda calls=calls: all(call.parts for call in calls))  # type: ignore[misc]
        await asyncio.sleep(0.3)
        self.cpu_s, self.begin = self.server.process.cpu_s(), now()

    async def leave(self) -> dict[str, Any]:
        with quiet():
            answers = await asyncio.gather(*self.tasks)
            cpu, wall = self.server.process.cpu_s() - self.cpu_s, now() - self.begin
        for call in self.calls:
            call.close()
        turns = [read_turn("", answer, self.server.target, self.tokens) for answer in answers]
        seen, frames = sum(len(turn.arrived) for turn in turns), sum(turn.frames for turn in turns)
        return {
            "watchers": len(turns),
            "deliveries": seen,
            "per_cpu_s": round(seen / cpu) if cpu else None,
            "frames_per_token": round(frames / seen, 3) if seen else None,
            "cpu_s": round(cpu, 3),
            "wall_s": round(wall, 3),
            **faults(turns),
        }


async def watch(server: Server, watchers: int, tokens: int) -> dict[str, Any]:
    """One run at 50 tokens/s and its watchers, each of whom must get every token from the first."""
    audience = Audience(server, watchers, tokens)
    plan = Plan(tokens=tokens, streams=1, delay_ms=20, timeout_s=WATCH_TIMEOUT_S, gated=True, watched=True)
    runner = await drive(server, plan, audience.gather)
    sample = await audience.leave()
    if not sample["problem"] and runner["problem"]:
        sample |= {"cut": runner["cut"], "problem": runner["problem"]}
    return sample
