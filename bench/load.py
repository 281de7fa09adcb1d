"""The load generator: opens streams, lets the clock run, then verifies every token and sums up."""

from __future__ import annotations

import asyncio
import gc
import itertools
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

from process import Server
from targets import Target
from tokens import WIDTH, Verdict, verify
from wire import Answer, Call, Reading, ask, now

TURNS_PER_SESSION = 4
HELD_LAG_MS = 250.0  # a stream that is further behind its model than this is not live
HELD_START_MS = 1000.0  # nor is one that makes its reader wait this long for the first token
HELD_PACE = 0.95  # of the tokens per second asked for; below it the model, not the server, was too slow
serial = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Plan:
    """One measurement. A gated one stops after every stream is open and before its first token; others may join a
    watched one."""

    tokens: int
    streams: int
    turns: int = 1
    delay_ms: int = 0
    ramp_s: float = 0.0
    timeout_s: float = 60.0
    gated: bool = False
    watched: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One verified answer: when each of its tokens arrived, and what was wrong."""

    tag: str
    sent: float
    arrived: list[float]
    frames: int
    whole: bool
    verdict: Verdict
    problem: str


def read_turn(tag: str, answer: Answer, target: Target, tokens: int) -> Turn:
    reading, ended, size = Reading(answer), False, 0
    texts: list[str] = []
    arrived: list[float] = []
    for event in reading.events():
        ended = ended or target.ends(event)
        if text := target.delta(event):
            texts.append(text)
            size += len(text)
            arrived += [event.at] * (size // WIDTH - len(arrived))
    whole = answer.whole and ended and reading.status == 200
    raw = b"".join(data for _, data in answer.parts)[-300:].decode(errors="replace")
    verdict = verify("".join(texts), tokens, whole=whole)
    problem = "" if whole and not verdict.faults else f"status {reading.status}, {verdict}, ends {raw!r}"
    return Turn(tag, answer.sent, arrived, len(texts), whole, verdict, problem)


def percentile(values: list[float], percent: float) -> float | None:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else None


def milliseconds(values: list[float], percent: float) -> float | None:
    value = percentile(values, percent)
    return None if value is None else round(value * 1000, 3)


@contextmanager
def quiet() -> Iterator[None]:
    """No collection of garbage inside: it would show up as the server's jitter."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def set_model(server: Server, plan: Plan) -> None:
    ask(server.model_port, f"/set?tokens={plan.tokens}&delay_ms={plan.delay_ms}&gated={int(plan.gated)}")


async def until(condition: Callable[[], bool], timeout_s: float = 20.0) -> bool:
    end = now() + timeout_s
    while not condition():
        if now() > end:
            return False
        await asyncio.sleep(0.02)
    return True


def encode(server: Server, plan: Plan) -> list[list[tuple[str, bytes]]]:
    """For each worker its turns, a tag and a request each."""
    run, tags = next(serial), itertools.count(next(serial) * 1_000_000)
    workers: list[list[tuple[str, bytes]]] = []
    for worker in range(plan.streams):
        turns: list[tuple[str, bytes]] = []
        for turn in range(plan.turns):
            tag, session = str(next(tags)), f"bench-{run}-{worker}-{turn // TURNS_PER_SESSION}"
            text = f"Say the numbers. #{tag}#"
            turns.append((tag, server.target.turn(session, text, watched=plan.watched)))
        workers.append(turns)
    return workers


async def work(server: Server, plan: Plan, call: Call, turns: list[tuple[str, bytes]], delay: float) -> list[Answer]:
    await asyncio.sleep(delay)
    answers = [await call.exchange(server.port, raw, plan.timeout_s) for _, raw in turns]
    call.close()
    return answers


AtGate = Callable[[list[Call]], Awaitable[None]]


async def drive(server: Server, plan: Plan, at_gate: AtGate | None = None) -> dict[str, Any]:
    """Runs a plan and returns its sample. `at_gate` is called when every stream waits for its first token."""
    set_model(server, plan)
    workers = encode(server, plan)
    calls = [Call() for _ in workers]
    with quiet():
        cpu, begin = server.process.cpu_s(), now()
        delays = [plan.ramp_s * index / plan.streams for index in range(plan.streams)]
        jobs = zip(calls, workers, delays, strict=True)
        tasks = [asyncio.create_task(work(server, plan, *job)) for job in jobs]
        if at_gate:
            if not await until(lambda: bool(ask(server.model_port, "/state")[1]["waiting"] == plan.streams)):
                print(f"{server.target.name}: not all of {plan.streams} streams reached the model", file=sys.stderr)
            await at_gate(calls)
            ask(server.model_port, "/go")
        answers = await asyncio.gather(*tasks)
        wall, cpu = now() - begin, server.process.cpu_s() - cpu
    tags = [tag for turns in workers for tag, _ in turns]
    whole = itertools.chain.from_iterable(answers)
    turns = [read_turn(tag, answer, server.target, plan.tokens) for tag, answer in zip(tags, whole, strict=True)]
    return summary(plan, turns, ask(server.model_port, "/sent")[1]) | usage(turns, wall, cpu)


def usage(turns: list[Turn], wall: float, cpu: float) -> dict[str, Any]:
    tokens = sum(len(turn.arrived) for turn in turns)
    return {
        "wall_s": round(wall, 3),
        "cpu_s": round(cpu, 3),
        "cpu_s_per_1k": round(cpu / tokens * 1000, 5) if tokens else None,
        "tokens_per_s": round(tokens / wall, 1),
    }


def faults(turns: list[Turn]) -> dict[str, Any]:
    """What was wrong in all turns; `cut` are the answers that did not end well, whose tokens are not called missing."""
    names = [part.name for part in fields(Verdict)]
    counts = {name: sum(getattr(turn.verdict, name) for turn in turns) for name in names}
    problem = next((turn.problem for turn in turns if turn.problem), "")
    return {"cut": sum(not turn.whole for turn in turns), **counts, "problem": problem}


def summary(plan: Plan, turns: list[Turn], records: dict[str, Any]) -> dict[str, Any]:
    ttft = [turn.arrived[0] - turn.sent for turn in turns if turn.arrived]
    tokens, frames = sum(len(turn.arrived) for turn in turns), sum(turn.frames for turn in turns)
    sample = {
        "streams": plan.streams,
        "turns": len(turns),
        "tokens": tokens,
        "frames_per_token": round(frames / tokens, 3) if tokens else None,
        "model_calls_per_turn": round(sum(record["calls"] for record in records.values()) / len(turns), 2),
        "ttft_p50_ms": milliseconds(ttft, 50),
        "ttft_p99_ms": milliseconds(ttft, 99),
        **faults(turns),
    }
    return sample | pace(plan, turns, records) if plan.delay_ms else sample


def pace(plan: Plan, turns: list[Turn], records: dict[str, Any]) -> dict[str, Any]:
    """How far the client was behind the model, and whether the model itself kept the pace."""
    lag: list[float] = []
    rates: list[float] = []
    for turn in turns:
        sent = records.get(turn.tag, {}).get("sent", [])
        lag += [got - left for got, left in zip(turn.arrived, sent, strict=False)]
        if len(sent) > 1:
            rates.append((len(sent) - 1) / (sent[-1] - sent[0]))
    lag_p99, rate = milliseconds(lag, 99), percentile(rates, 50)
    asked = 1000 / plan.delay_ms
    offered = rate is not None and rate >= HELD_PACE * asked
    ttft_p99 = milliseconds([turn.arrived[0] - turn.sent for turn in turns if turn.arrived], 99)
    live = lag_p99 is not None and lag_p99 <= HELD_LAG_MS and ttft_p99 is not None and ttft_p99 <= HELD_START_MS
    well = live and all(turn.whole for turn in turns)
    return {
        "lag_p50_ms": milliseconds(lag, 50),
        "lag_p99_ms": lag_p99,
        "offered_per_s": rate and round(rate, 1),
        "held": well and offered,
        "rig_limited": well and not offered,
    }
