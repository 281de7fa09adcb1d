"""Whether a call may run, must be asked about, or is refused; and what a permission is bound to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

from quarterdeck.kernel.parts import Risk

Verdict = Literal["run", "ask", "refuse"]
_ORDER: tuple[Risk, ...] = ("none", "low", "medium", "high", "forbidden")


def higher(one: Risk, other: Risk) -> Risk:
    return max(one, other, key=_ORDER.index)


def verdict(declared: Risk, weighed: Risk, *, rule_allows: bool = False, run_allows: bool = False) -> Verdict:
    """What a model declares may raise the risk, never lower it. What is forbidden stays so, whoever allowed it."""
    risk = higher(declared, weighed)
    if risk == "forbidden":
        return "refuse"
    if risk in {"none", "low"} or rule_allows or run_allows:
        return "run"
    return "ask"


def bound_hash(tool: str, arguments: str, bound: Mapping[str, str]) -> str:
    """Over exactly what would run: any change of any byte of it is another hash; the order of keys is not a change."""
    exact = [tool, _canonical(arguments), sorted(bound.items())]
    return hashlib.sha256(json.dumps(exact, ensure_ascii=True).encode()).hexdigest()


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True, ensure_ascii=True)
    except (ValueError, RecursionError):
        return arguments
