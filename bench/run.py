"""Measures Quarterdeck beside the mock model itself and a hand-written proxy; prints one table of ratios.

    python bench/run.py                      every target, three rounds, under eight minutes
    python bench/run.py --quick              the same in about a minute, with fewer and smaller steps
    python bench/run.py proxy quarterdeck    only these

The server has the first core to itself; the mock model and the load generator have the others. What to trust on a busy
machine are CPU-seconds and ratios within one run. Exits with 1 when a token was missing, doubled, out of order or
garbled, when an answer was cut outside the paced steps, or when a target could not be measured.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import uvloop

from gated import hold, watch
from load import Plan, drive
from process import OTHER_CORES, Server, import_ms, mock_model, running
from table import FAULTS, markdown
from targets import HERE, ROOT, TARGETS, Target

RESULTS = HERE / "results"
PACE_MS = 20  # between two tokens: 50 tokens/s


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured."""

    rounds: int
    burst_turns: int
    single_turns: int
    steps: tuple[int, ...]
    paced_tokens: int
    open_streams: int
    watchers: int
    watched_tokens: int
    tokens: int = 200


FULL = Scale(3, 8, 40, (20, 200, 300, 1000), 200, 200, 1000, 100)
QUICK = Scale(1, 2, 20, (20, 200), 125, 100, 200, 50)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


async def paced(server: Server, scale: Scale) -> dict[str, Any]:
    """Step by step to more streams, until a step is not held."""
    row: dict[str, Any] = {"most_held": 0}
    length_s = scale.paced_tokens * PACE_MS / 1000
    for streams in scale.steps:
        plan = Plan(scale.paced_tokens, streams, delay_ms=PACE_MS, ramp_s=1.0, timeout_s=1.5 * length_s + 4)
        sample = row[f"paced{streams}"] = await drive(server, plan)
        word = "held" if sample["held"] else "the rig was too slow" if sample["rig_limited"] else "not held"
        say(f"  {streams} streams: {word}, lag p99 {sample['lag_p99_ms']} ms, {sample['cpu_s_per_1k']} CPU-s/1k")
        if not sample["held"]:
            break
        row["most_held"] = streams
    return row


async def warm_up(server: Server) -> dict[str, Any]:
    """Two turns in each of two sessions; without them there is nothing to measure."""
    sample = await drive(server, Plan(tokens=20, streams=2, turns=2, timeout_s=20))
    if sample["cut"]:
        raise RuntimeError(f"warm-up: {sample['problem']}")
    return sample


async def measure_open(target: Target, upstream: int, scale: Scale, row: dict[str, Any]) -> None:
    """A first server: what it costs to stand, to keep streams open, and to serve an audience."""
    with running(target, upstream) as server:
        row |= {"cold_start_s": server.cold_start_s, "warm_up": await warm_up(server)}
        row["idle_mb"] = server.process.rss_mb()
        row["hold"] = await hold(server, scale.open_streams)
        row["watch"] = await watch(server, scale.watchers, scale.watched_tokens)
        say(f"  {row['hold']['rss_per_stream_kb']} kB per stream, {row['watch']['per_cpu_s']} deliveries/CPU-s")


async def measure_speed(target: Target, upstream: int, scale: Scale, row: dict[str, Any]) -> None:
    """A second server: what a token costs, and how many live streams it holds."""
    with running(target, upstream) as server:
        await warm_up(server)
        row["single"] = await drive(server, Plan(tokens=20, streams=1, turns=scale.single_turns))
        row["burst"] = await drive(server, Plan(scale.tokens, streams=64, turns=scale.burst_turns, timeout_s=90))
        say(f"  {row['burst']['cpu_s_per_1k']} CPU-s/1k flat out, first token {row['single']['ttft_p50_ms']} ms")
        row |= await paced(server, scale)


async def measure(target: Target, upstream: int, scale: Scale) -> dict[str, Any]:
    row: dict[str, Any] = {}
    try:
        await measure_open(target, upstream, scale, row)
        await measure_speed(target, upstream, scale, row)
        if target.imports:
            row["import_ms"] = import_ms(target.imports, ROOT / "src")
    except (RuntimeError, OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
        row["error"] = f"{type(error).__name__}: {error}"
    return row


def remark(row: dict[str, Any]) -> None:
    """More than one call of the model per turn makes a target dearer than its relaying is: whoever reads must know."""
    samples = {part: sample for part, sample in row.items() if isinstance(sample, dict)}
    many = {
        part: sample["model_calls_per_turn"] for part, sample in samples.items() if "model_calls_per_turn" in sample
    }
    if any(calls > 1 for calls in many.values()):
        say(f"  calls of the model per turn: {many}")


def complaints(name: str, row: dict[str, Any]) -> list[str]:
    """What must not happen. An answer cut in a paced step only means that the step was not held."""
    found = [f"{name}: {row['error']}"] if "error" in row else []
    for part, sample in row.items():
        if not isinstance(sample, dict):
            continue
        wrong = {fault: sample[fault] for fault in FAULTS if sample[fault]}
        if sample["cut"] and not part.startswith("paced"):
            wrong["cut"] = sample["cut"]
        if wrong:
            found.append(f"{name}, {part}: {wrong}: {sample['problem']}")
    return found


async def measure_all(names: list[str], scale: Scale) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Rounds over all targets, each round beginning with another, so that no target always has the same neighbour."""
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    wrong: list[str] = []
    task = asyncio.current_task()
    if task:  # so that being ended ends what was started
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with mock_model() as upstream:
        for index in range(scale.rounds):
            shift = index % len(names)
            for name in names[shift:] + names[:shift]:
                say(f"round {index + 1} of {scale.rounds}: {TARGETS[name].about}")
                row = await measure(TARGETS[name], upstream, scale)
                remark(row)
                results[name].append(row)
                wrong += complaints(name, row)
    return results, wrong


def keep(results: dict[str, list[dict[str, Any]]], scale: Scale) -> Path:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / time.strftime("%Y%m%d-%H%M%S.json")
    machine = {"python": platform.python_version(), "system": platform.platform(), "cores": os.cpu_count()}
    document = {"machine": machine, "scale": asdict(scale), "results": results}
    path.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    return path


def parse() -> tuple[list[str], Scale]:
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about = "; ".join(f"{name}: {target.about}" for name, target in TARGETS.items())
    cli.add_argument("targets", nargs="*", metavar="target", help=about)
    cli.add_argument("--quick", action="store_true", help="one small round, about a minute")
    cli.add_argument("--rounds", type=int, help="rounds over all targets (default 3, with --quick 1)")
    args = cli.parse_args()
    unknown = [name for name in args.targets if name not in TARGETS]
    if unknown or (args.rounds is not None and args.rounds < 1):
        cli.error(f"no such target: {', '.join(unknown)}" if unknown else "at least one round")
    scale = QUICK if args.quick else FULL
    settings = asdict(scale) | ({"rounds": args.rounds} if args.rounds else {})
    return [name for name in TARGETS if name in (args.targets or TARGETS)], Scale(**settings)


def main() -> int:
    names, scale = parse()
    os.sched_setaffinity(0, OTHER_CORES)
    begin = time.monotonic()
    try:
        results, wrong = uvloop.run(measure_all(names, scale))
    except (KeyboardInterrupt, asyncio.CancelledError):
        say("ended early; nothing is left running")
        return 130
    say(f"{time.monotonic() - begin:.0f} s; everything is in {keep(results, scale)}")
    print(markdown(results, list(scale.steps)), flush=True)
    for complaint in wrong:
        say(f"FAILED {complaint}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
