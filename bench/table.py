"""One Markdown table of an outcome: medians over the rounds, and ratios to `direct` and to `proxy`."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

BASES = ("direct", "proxy")
FAULTS = ("missing", "doubled", "disordered", "garbled")
Rounds = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table. An `added` one is the difference to `direct`, which has no ratio to it; a `plain` one has
    no ratios at all."""

    title: str
    part: str
    key: str = ""
    digits: int = 1
    added: bool = False
    plain: bool = False


def rows(steps: list[int]) -> list[Row]:
    paced = [
        row
        for step in steps
        for row in (
            Row(f"{step} streams at 50/s: CPU-s per 1,000 tokens", f"paced{step}", "cpu_s_per_1k", 4),
            Row(f"{step} streams: lag p99, ms", f"paced{step}", "lag_p99_ms"),
            Row(f"{step} streams: frames per token", f"paced{step}", "frames_per_token", 2, plain=True),
        )
    ]
    return [
        Row("64 streams, flat out: CPU-s per 1,000 tokens", "burst", "cpu_s_per_1k", 4),
        Row("64 streams, flat out: tokens/s", "burst", "tokens_per_s", 0),
        Row("first token, one stream: p50, ms", "single", "ttft_p50_ms", 2),
        Row("… added", "single", "ttft_p50_ms", 2, added=True),
        Row("first token, 64 at once: p50, ms", "burst", "ttft_p50_ms"),
        Row("… added", "burst", "ttft_p50_ms", added=True),
        *paced,
        Row("most streams held at 50/s", "most_held", digits=0),
        Row("memory idle, MB", "idle_mb"),
        Row("memory per open stream, kB", "hold", "rss_per_stream_kb"),
        Row("one stream, many watchers: deliveries per CPU-s", "watch", "per_cpu_s", 0),
        Row("watchers: frames per token", "watch", "frames_per_token", 2, plain=True),
        Row("cold start, s", "cold_start_s", digits=2),
        Row("import, ms", "import_ms", digits=0),
    ]


def median(rounds: Rounds, row: Row) -> float | None:
    found = [entry[row.part] for entry in rounds if entry.get(row.part) is not None]
    values = [part[row.key] if row.key else part for part in found]
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def ratio(value: float | None, base: float | None) -> str:
    return f"{value / base:.2f}×" if value and base else "–"


def mark(rounds: Rounds, part: str) -> str:
    """Follows a figure that was measured while the step was mostly not held."""
    held = [entry[part]["held"] for entry in rounds if part in entry] if part.startswith("paced") else []
    return " ✗" if held and statistics.mean(held) < 0.5 else ""


def cell(results: dict[str, Rounds], values: dict[str, float | None], row: Row, name: str, base: str | None) -> str:
    if not base:
        return number(values[name], row.digits) + mark(results[name], row.part)
    return "" if row.plain else ratio(values[name], values[base])


def line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def columns(results: dict[str, Rounds]) -> Iterator[tuple[str, str | None]]:
    """Every target, each followed by its ratios to the bases that were measured before it in the order of things."""
    for name in results:
        yield name, None
        for base in BASES[: BASES.index(name)] if name in BASES else BASES:
            if base in results:
                yield name, base


def figures(results: dict[str, Rounds], row: Row) -> dict[str, float | None]:
    values = {name: median(rounds, row) for name, rounds in results.items()}
    if not row.added:
        return values
    base = values.get("direct")
    return {
        name: None if value is None or base is None or name == "direct" else value - base
        for name, value in values.items()
    }


def tally(rounds: Rounds) -> str:
    """Faults of all tokens of all rounds: missing/doubled/out of order/garbled."""
    samples = [part for entry in rounds for part in entry.values() if isinstance(part, dict)]
    if not samples:
        return "not measured"
    return "/".join(str(sum(sample.get(fault, 0) for sample in samples)) for fault in FAULTS)


def markdown(results: dict[str, Rounds], steps: list[int]) -> str:
    """The table; a line that nobody has a figure for is left out."""
    plan = list(columns(results))
    lines = [
        line(["measure", *(f"÷ {base}" if base else name for name, base in plan)]),
        "|---" + "|--:" * len(plan) + "|",
    ]
    for row in rows(steps):
        values = figures(results, row)
        if all(value is None for value in values.values()):
            continue
        lines.append(line([row.title, *(cell(results, values, row, name, base) for name, base in plan)]))
    cells = ["" if base else tally(results[name]) for name, base in plan]
    lines += [line(["tokens missing/doubled/out of order/garbled", *cells]), "", "✗: the step was not held."]
    return "\n".join(lines)
