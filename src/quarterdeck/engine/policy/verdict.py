"""Whether a call may run, must be asked about, or is refused; and what a permission is bound to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from quarterdeck.kernel.parts import Risk

Verdict = Literal["run", "ask", "refuse"]
_ORDER: tuple[Risk, ...] = get_args(Risk)
_Json: TypeAlias = str | bool | list["_Json"] | dict[str, "_Json"] | None


def rank(risk: Risk) -> int:
    return _ORDER.index(risk)


def higher(one: Risk, other: Risk) -> Risk:
    return max(one, other, key=rank)


def declared_risk(said: object) -> Risk:
    """The risk that a model declares, as it wrote it. What is none of ours was meant to warn, and is asked about."""
    if said is None or said == "":
        return "none"
    word = said.strip().casefold() if isinstance(said, str) else ""
    return next((risk for risk in _ORDER if risk == word), "medium")


def verdict(declared: Risk, weighed: Risk, *, rule_allows: bool = False, run_allows: bool = False) -> Verdict:
    """What a model declares may raise the risk, never lower it. What is forbidden stays so, whoever allowed it.

    A rule, or leave for this run, must cover exactly this; that it does is for the caller to see.
    """
    risk = higher(declared, weighed)
    if risk == "forbidden":
        return "refuse"
    if risk in {"none", "low"} or rule_allows or run_allows:
        return "run"
    return "ask"


def bound_hash(tool: str, arguments: str, bound: Mapping[str, str]) -> str:
    """Over exactly what would be done: another byte of any value is another hash; the order of names is not.

    Numbers count as they are written, and a name that stands twice counts twice, so that nothing that two readers might
    understand differently has the same hash. What is no JSON counts as the text it is.
    """
    return _digest(["bound/1", tool, _canonical(arguments), *(part for pair in sorted(bound.items()) for part in pair)])


def _digest(parts: list[str]) -> str:
    return hashlib.sha256(_written(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _written(value: _Json | list[str]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _canonical(arguments: str) -> str:
    try:
        read = json.loads(
            arguments, object_pairs_hook=_ordered, parse_int=_number, parse_float=_number, parse_constant=_number
        )
        return "json " + _written(read)
    except (ValueError, RecursionError):
        return "text " + arguments


def _ordered(pairs: list[tuple[str, _Json]]) -> _Json:
    """An object. This and a number are all that is written as one, each under its own name: nothing passes for them."""
    return {"object": [[name, value] for name, value in sorted(pairs, key=lambda pair: pair[0])]}


def _number(text: str) -> _Json:
    return {"number": text}
