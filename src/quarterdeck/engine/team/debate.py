"""How a debate goes: the question, blind first positions, rebuttals in bounded rounds, then the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quarterdeck.engine.team.plan import Phase
from quarterdeck.engine.team.reading import agrees, read_verdict, unmoved
from quarterdeck.engine.team.state import Part, TeamState
from quarterdeck.engine.team.styles import MAX_ROUNDS, style_of
from quarterdeck.events.base import Event
from quarterdeck.events.team import DebateClosed, PartStarted, PhaseChanged, Work

MOST_VERDICTS = 2  # tries at one


@dataclass(frozen=True, slots=True)
class Turns:
    """What everybody said in one round, in the order in which they sit. Nobody heard the others of the same round."""

    round: int
    parts: tuple[Part, ...]

    @property
    def said(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.end == "completed" and part.text.strip())


def who_debates(state: TeamState, phase: Phase) -> tuple[str, ...]:
    """Those who were named, else all members; the lead takes a side only where there would be nobody to answer."""
    who = phase.planned.participants or state.members
    return who if len(who) > 1 or state.lead.name in who else (*who, state.lead.name)


def rounds_of(state: TeamState, phase: Phase) -> int:
    """How many rounds of rebuttals there may be."""
    style = style_of(state.requested.debate_style if state.requested else "")
    return min(style.rounds + state.extended.get(phase.id, 0), MAX_ROUNDS)


def opening(state: TeamState, phase: Phase) -> PartStarted:
    """The moderator frames the question."""
    return _part(phase, "frame", state.lead.name, "frame", started=phase.started + 1)


def question(state: TeamState, phase: Phase) -> str:
    """As the moderator framed it, or as it was asked."""
    framed = state.parts.get(f"{_stem(phase)}.frame")
    return (
        framed.text if framed is not None and framed.end == "completed" and framed.text.strip() else phase.planned.topic
    )


def rounds(state: TeamState, phase: Phase) -> tuple[Turns, ...]:
    """Positions first, then every round of rebuttals that has begun."""
    found = []
    for number in range(MAX_ROUNDS + 1):
        keys = (f"{_stem(phase)}.{number}.{name}" for name in who_debates(state, phase))
        parts = tuple(state.parts[key] for key in keys if key in state.parts)
        if not parts:
            break
        found.append(Turns(number, parts))
    return tuple(found)


def next_turns(state: TeamState, phase: Phase) -> tuple[PartStarted, ...]:
    """Whose turn it is; nobody's while somebody still speaks, and when the verdict is there."""
    framed = state.parts.get(f"{_stem(phase)}.frame")
    if framed is None or framed.open:
        return ()
    held, names = rounds(state, phase), who_debates(state, phase)
    if held and (late := [name for name in names if name not in {part.expert for part in held[-1].parts}]):
        return tuple(_turn(phase, len(held) - 1, name) for name in late)
    if held and any(part.open for part in held[-1].parts):
        return ()
    if not held or why_over(state, phase, held) is None:
        return tuple(_turn(phase, len(held), name) for name in names)
    tries = verdicts(state, phase)
    spoken, lost = any(turns.said for turns in held), all(one.end == "failed" for one in tries)
    if spoken and lost and len(tries) < MOST_VERDICTS:
        return (_part(phase, "verdict", state.lead.name, f"verdict.{len(tries) + 1}"),)
    return ()


def why_over(state: TeamState, phase: Phase, held: Sequence[Turns]) -> str | None:
    """Why there is no further round; None where there is one."""
    if not any(turns.said for turns in held):
        return "nobody spoke"
    if phase.id in state.closing:
        return "closed by a person"
    if len(held) > 1:
        last, before = held[-1], {part.expert: part.text for part in held[-2].said}
        if not last.said:
            return "nobody had anything more to say"
        if all(agrees(part.text) for part in last.said) and not _extended_since(state, phase, held):
            return "they agree"
        if all(unmoved(before.get(part.expert, ""), part.text) for part in last.said):
            return "nobody moves any more"
    if len(held) > rounds_of(state, phase):
        return "all rounds are over"
    return None


def _extended_since(state: TeamState, phase: Phase, held: Sequence[Turns]) -> bool:
    """A person who asks for another round gets it, whether they agree or not."""
    style = style_of(state.requested.debate_style if state.requested else "")
    return state.extended.get(phase.id, 0) > 0 and len(held) <= style.rounds + state.extended.get(phase.id, 0)


def closed(state: TeamState, phase: Phase) -> tuple[Event, ...]:
    """What follows once there is a verdict, or there will be none; nothing while it goes on."""
    held = rounds(state, phase)
    framed = state.parts.get(f"{_stem(phase)}.frame")
    if framed is None or framed.open or not held or any(part.open for part in held[-1].parts):
        return ()
    why, tries = why_over(state, phase, held), verdicts(state, phase)
    if why is None or any(one.open for one in tries) or next_turns(state, phase):
        return ()
    spoken = len(held) - 1
    last = tries[-1] if tries else None
    if last is None or last.end != "completed" or not last.text.strip():
        none = DebateClosed(phase.id, why, spoken, "")
        return (none, PhaseChanged(phase.id, "skipped", phase.expert, positions(held), f"no verdict: {why}"))
    read = read_verdict(last.text)
    verdict = DebateClosed(phase.id, why, spoken, read.verdict, read.reasons, read.dissent, read.confidence)
    return (verdict, PhaseChanged(phase.id, "completed", phase.expert, printed(verdict), why))


def verdicts(state: TeamState, phase: Phase) -> list[Part]:
    keys = (f"{_stem(phase)}.verdict.{number}" for number in range(1, MOST_VERDICTS + 1))
    return [state.parts[key] for key in keys if key in state.parts]


def printed(verdict: DebateClosed) -> str:
    """A verdict as those who build on it read it."""
    lines = [verdict.verdict]
    lines += [f"+ {reason}" for reason in verdict.reasons]
    lines += [f"- {view}" for view in verdict.dissent]
    if verdict.confidence is not None:
        lines.append(f"({verdict.confidence:.0%})")
    return "\n".join(lines)


def positions(held: Sequence[Turns], each: int = 1500) -> str:
    """What everybody said last, shortened."""
    latest = {part.expert: part.text for turns in held for part in turns.said}
    return "\n\n".join(f"{name}: {text[:each]}" for name, text in latest.items())


def _turn(phase: Phase, number: int, name: str) -> PartStarted:
    return _part(phase, "rebuttal" if number else "position", name, f"{number}.{name}", round_=number)


def _stem(phase: Phase) -> str:
    return f"debate.{phase.id}.{phase.started}"


def _part(
    phase: Phase, work: Work, expert: str, name: str, *, round_: int = 0, started: int | None = None
) -> PartStarted:
    number = phase.started if started is None else started
    return PartStarted(f"debate.{phase.id}.{number}.{name}", work, expert, phase.id, round_)
