"""Reading what models wrote: plans, verdicts, whether somebody agrees. Whatever it is, it is contained and told of."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quarterdeck.engine.team.plan import LONGEST_TASK, MOST_PHASES, faults, renamed
from quarterdeck.events.team import Planned

LOOKED_AT = 200_000  # characters of a reply; what an honest plan needs many times over
MOST_TRIES = 200  # places at which JSON might begin
DEPTH = 40
LONGEST_ID, LONGEST_NAME, LONGEST_TOPIC = 40, 120, 2_000
LONGEST_VERDICT, LONGEST_REASON, MOST_REASONS = 8_000, 1_000, 12
_NOT_ID = re.compile(r"[^\w.-]+")
_AGREES = re.compile(r"\W*(AGREE|DIFFER)\b", re.IGNORECASE)


class NoPlan(Exception):
    """The reply is no plan; the message says why, for people and for whoever is asked again."""


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """`notes` are what had to be put right to make sense of it."""

    phases: tuple[Planned, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadVerdict:
    verdict: str
    reasons: tuple[str, ...] = ()
    dissent: tuple[str, ...] = ()
    confidence: float | None = None


def read_plan(text: str, experts: Sequence[str], lead: str, known: Iterable[str] = (), debates: int = 0) -> ReadPlan:
    """The plan in a reply. `known` are phases that are there already, `debates` how many it may open."""
    told = _first(text, "phases")
    listed = told.get("phases") if isinstance(told, dict) else None
    if not isinstance(listed, list):
        raise NoPlan('there is no JSON object with a list "phases" in it')
    shapes = [one for one in listed if isinstance(one, dict)]
    if not shapes:
        raise NoPlan("it has no phases")
    if len(shapes) > MOST_PHASES:
        raise NoPlan(f"it has {len(shapes)} phases, and {MOST_PHASES} is the most")
    notes = [f"{len(listed) - len(shapes)} entries were no phases."] if len(shapes) < len(listed) else []
    names = _names(shapes)
    phases = [
        _phase(shape, name, names, _Team(experts, lead, frozenset(known)), notes)
        for shape, name in zip(shapes, names[1], strict=True)
    ]
    phases = _fewer_debates(phases, debates, notes)
    if wrong := faults([_alone(phase, names[1]) for phase in phases], experts):
        raise NoPlan(wrong[0][:1].lower() + wrong[0][1:].rstrip("."))
    return ReadPlan(tuple(phases), tuple(notes))


@dataclass(frozen=True, slots=True)
class _Team:
    experts: Sequence[str]
    lead: str
    known: frozenset[str]

    def member(self, said: str) -> str | None:
        asked = said.strip().lstrip("@").casefold()
        return next((name for name in self.experts if name.casefold() == asked), None)


def _names(shapes: Sequence[Mapping[str, Any]]) -> tuple[dict[str, str], list[str]]:
    """Ids that are safe and differ, and what each phase was called in the reply."""
    clean, calls = list[str](), dict[str, str]()
    for number, shape in enumerate(shapes, 1):
        stem = _NOT_ID.sub("-", _text(shape.get("id"), LONGEST_ID)).strip("-.") or f"p{number}"
        name = stem if stem not in clean else renamed(set(clean), [stem])[stem]
        clean.append(name)
        for call in (shape.get("id"), shape.get("name"), name):
            calls.setdefault(_text(call, LONGEST_NAME).casefold(), name)
    return calls, clean


def _phase(
    shape: Mapping[str, Any], ident: str, names: tuple[dict[str, str], list[str]], team: _Team, notes: list[str]
) -> Planned:
    asked = _text(_any(shape, "expert", "assigned_expert", "assignee", "member"), LONGEST_NAME)
    expert = team.member(asked)
    debate = _text(_any(shape, "type", "kind", "phase_type"), 40).casefold() == "debate"
    if expert is None:
        expert = team.lead
        if not debate:
            notes.append(
                f"Phase {ident!r} was given to {asked or 'nobody'!r}, who is not in the team; the lead has it."
            )
    topic = _text(_any(shape, "topic", "task", "name"), LONGEST_TOPIC) if debate else ""
    wanted = [_text(one, LONGEST_NAME) for one in _items(_any(shape, "depends_on", "dependencies", "after"))]
    depends_on = []
    for call in wanted:
        other = names[0].get(call.casefold()) or (call if call in team.known else None)
        if other is None:
            notes.append(f"Phase {ident!r} was to wait for {call!r}, which is not there.")
        else:
            depends_on.append(other)
    who = [team.member(_text(one, LONGEST_NAME)) for one in _items(shape.get("participants"))] if debate else []
    task = _text(_any(shape, "task", "task_description", "description", "name"), LONGEST_TASK)
    name = _text(shape.get("name"), LONGEST_NAME) or ident
    kind = "debate" if debate else "execution"
    return Planned(
        ident,
        name,
        team.lead if debate else expert,
        task or name,
        tuple(dict.fromkeys(depends_on)),
        kind,  # type: ignore[arg-type]
        topic,
        tuple(dict.fromkeys(filter(None, who))),
    )


def _alone(phase: Planned, ids: Sequence[str]) -> Planned:
    """Without what it waits for outside of this plan."""
    return Planned(phase.id, phase.name, phase.expert, phase.task, tuple(i for i in phase.depends_on if i in ids))


def _fewer_debates(phases: Sequence[Planned], most: int, notes: list[str]) -> list[Planned]:
    """Those that are too many are left out; who waited for one waits for what that waited for."""
    left = list(phases)
    for one in [phase for phase in phases if phase.kind == "debate"][max(0, most) :]:
        notes.append(f"The debate {one.id!r} is one too many and was left out.")
        before = next(phase for phase in left if phase.id == one.id).depends_on
        left = [_bridged(phase, one.id, before) for phase in left if phase.id != one.id]
    return left


def _bridged(phase: Planned, gone: str, before: Sequence[str]) -> Planned:
    if gone not in phase.depends_on:
        return phase
    depends_on = dict.fromkeys([*(i for i in phase.depends_on if i != gone), *(i for i in before if i != phase.id)])
    return Planned(
        phase.id, phase.name, phase.expert, phase.task, tuple(depends_on), phase.kind, phase.topic, phase.participants
    )


def read_verdict(text: str) -> ReadVerdict:
    """A verdict in its form, or the words themselves where it has none."""
    told = _first(text, "verdict")
    if not isinstance(told, dict) or not (verdict := _text(told.get("verdict"), LONGEST_VERDICT)):
        return ReadVerdict(_text(text, LONGEST_VERDICT))
    given = told.get("confidence")
    sure = float(given) if isinstance(given, int | float) and not isinstance(given, bool) else None
    if sure is not None and 1 < sure <= 100:
        sure /= 100  # said in percent
    if sure is not None and not 0 <= sure <= 1:
        sure = None
    return ReadVerdict(verdict, _sentences(told.get("reasons")), _sentences(told.get("dissent")), sure)


def agrees(text: str) -> bool:
    """Whether somebody's last line says that they agree."""
    lines = [line for line in text[-LOOKED_AT:].splitlines() if line.strip()]
    found = _AGREES.match(lines[-1]) if lines else None
    return found is not None and found[1].upper() == "AGREE"


def unmoved(before: str, now: str) -> bool:
    """Whether somebody says again, all but word for word, what they said before."""
    one, other = _shingles(before), _shingles(now)
    return bool(one) and len(one & other) >= 0.85 * len(one | other)


def _shingles(text: str) -> set[str]:
    said = " ".join(text[:8000].casefold().split())
    return {said[place : place + 4] for place in range(max(1, len(said) - 3))} if said else set()


def _sentences(told: object) -> tuple[str, ...]:
    return tuple(filter(None, (_text(one, LONGEST_REASON) for one in _items(told)[:MOST_REASONS])))


def _items(told: object) -> list[object]:
    if isinstance(told, list):
        return told[:100]
    return [] if told is None or told == "" else [told]


def _any(shape: Mapping[str, Any], *names: str) -> object:
    return next((shape[name] for name in names if shape.get(name)), None)


def _text(told: object, most: int) -> str:
    """Something a model wrote as one text, of bounded length and without half characters."""
    if isinstance(told, bool) or not isinstance(told, str | int | float):
        return ""
    return str(told)[:most].encode("utf-8", "replace").decode().replace("\x00", "").strip()


def _first(text: str, member: str) -> object:
    """The first JSON object in the reply that has this member, or a list that might have been meant as it."""
    looked_at, decoder = text[:LOOKED_AT], json.JSONDecoder()
    if looked_at.count("[") + looked_at.count("{") > 50 * DEPTH and _too_deep(looked_at):
        return None
    place, tries = -1, 0
    while tries < MOST_TRIES and (place := _next_bracket(looked_at, place + 1)) >= 0:
        tries += 1
        try:
            told, end = decoder.raw_decode(looked_at, place)
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict) and member in told:
            return told
        if isinstance(told, list) and told and isinstance(told[0], dict):
            return {member: told}
        if not isinstance(told, dict) or not told:
            place = end - 1
    return None


def _too_deep(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char in "[{") - (char in "]}")
        if depth > DEPTH:
            return True
    return False


def _next_bracket(text: str, start: int) -> int:
    found = [place for place in (text.find("{", start), text.find("[", start)) if place >= 0]
    return min(found, default=-1)
