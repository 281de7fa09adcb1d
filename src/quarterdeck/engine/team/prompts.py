"""What each expert is told for each part, in the language of the task; bounded, and with its sources named.

What models wrote stands between marks that it cannot forge, under a heading that says it is data. What a person said
stands under a heading of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quarterdeck.engine.team import debate
from quarterdeck.engine.team.plan import MOST_PHASES, Phase
from quarterdeck.engine.team.state import TeamState
from quarterdeck.engine.team.styles import style_of
from quarterdeck.engine.team.texts import TEXTS, Texts
from quarterdeck.events.team import PartStarted

ROOM = 48_000  # characters of what others wrote, in one prompt
LEAST = 200  # of each of them
MOST_GUIDANCE = 12_000
MOST_REPORT = 100_000
_NO_MARKS = str.maketrans(dict.fromkeys('<>"\n\r', " "))


def prompt(state: TeamState, part: PartStarted, room: int = ROOM) -> str:
    """What the expert of this part is asked, once it is about to begin."""
    assert state.requested is not None
    told = TEXTS[state.language]
    task = section(told.task, clipped(state.requested.task, room, told))
    match part.work:
        case "plan":
            why = filled(told.trouble, "why", state.refused[-1]) if state.refused else ""
            asked = filled(told.plan, "most", str(MOST_PHASES))
            return _joined(task, _members(state, told), _guidance(state, told), asked, why)
        case "revise":
            why = filled(told.trouble, "why", state.refused[-1]) if state.refused else ""
            stands = section(told.stands, _stands(state, told))
            return _joined(task, _members(state, told), stands, _guidance(state, told), told.revise, why)
        case "phase":
            return _joined(task, _phase(state, part, told, room))
        case "synthesis":
            return _joined(task, synthesis(state, told, room))
        case _:
            return _joined(task, _debate(state, part, told, room))


def section(heading: str, body: str) -> str:
    return f"## {heading}\n{body}" if body else ""


def filled(text: str, name: str, words: str) -> str:
    """The text with one of its blanks filled in; other brackets are left alone, in the text as in the words."""
    return text.replace("{" + name + "}", words, 1)


def quoted(source: str, text: str) -> str:
    """What a model wrote, between marks; one that it wrote itself is made harmless."""
    inert = text.replace("</result", "< /result")
    return f'<result from="{source.translate(_NO_MARKS)}">\n{inert}\n</result>'


def clipped(text: str, most: int, told: Texts) -> str:
    return text if len(text) <= most else text[:most] + "\n" + filled(told.cut, "count", str(len(text) - most))


def guidance(state: TeamState, told: Texts, to: str | None = None) -> str:
    """What a person said meanwhile, for this expert or, with nobody named, all of it; the latest where it is much."""
    lines, room = list[str](), MOST_GUIDANCE
    for one in reversed(state.guidance):
        if to is not None and one.to not in {None, to}:
            continue
        whose = f"({filled(told.only_for, 'name', one.to)}) " if one.to is not None else ""
        room -= len(one.words)
        if room < 0 and lines:
            break
        lines.append(f"- {whose}{clipped(one.words, MOST_GUIDANCE, told)}")
    return section(told.guidance, "\n".join(reversed(lines)))


def synthesis(state: TeamState, told: Texts, room: int = ROOM) -> str:
    done = [phase for phase in state.phases if phase.result.strip()]
    results = _results(done, told, room)
    undone = [phase for phase in state.phases if phase.state != "completed"]
    missing = section(told.missing, "\n".join(_line(phase, told) for phase in undone))
    dissent = [f"- {view}" for verdict in state.verdicts.values() for view in verdict.dissent]
    asked = told.synthesis + ("\n" + told.stopped if state.stops else "")
    return _joined(results, section(told.dissent, "\n".join(dissent)), missing, _guidance(state, told), asked)


def report(state: TeamState) -> str:
    """What there is, in words of our own: for where no model sums it up."""
    told = TEXTS[state.language]
    done = [phase for phase in state.phases if phase.result.strip()]
    undone = [phase for phase in state.phases if phase.state != "completed"]
    each = max(LEAST, MOST_REPORT // max(1, len(done)))
    parts = [f"### {p.planned.name} ({p.expert})\n{clipped(p.result, each, told)}" for p in done]
    missing = section(told.missing, "\n".join(_line(phase, told) for phase in undone))
    return _joined(told.report if done else told.nothing, *parts, missing)


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def _guidance(state: TeamState, told: Texts) -> str:
    return guidance(state, told)


def _members(state: TeamState, told: Texts) -> str:
    lines = []
    for expert in state.experts:
        leads = f" ({told.lead})" if expert.name == state.lead.name else ""
        lines.append(f"- {expert.name}{leads}: {clipped(' '.join(expert.about.split()), 600, told)}".rstrip(": "))
    return section(told.team, "\n".join(lines))


def _stands(state: TeamState, told: Texts) -> str:
    return "\n".join(_line(phase, told) for phase in state.phases)


def _line(phase: Phase, told: Texts) -> str:
    why = f" ({' '.join(phase.detail.split())[:300]})" if phase.detail and phase.state != "completed" else ""
    after = f" ← {', '.join(phase.depends_on)}" if phase.depends_on else ""
    return f"- {phase.id}: {phase.planned.name} [{phase.expert}]{after}: {told.states[phase.state]}{why}"


def _results(phases: Sequence[Phase], told: Texts, room: int) -> str:
    each = max(LEAST, room // max(1, len(phases)))
    written = [
        quoted(f"{phase.expert}, {phase.id}: {phase.planned.name}", clipped(phase.result, each, told))
        for phase in phases
    ]
    return section(told.results, "\n".join(written))


def _phase(state: TeamState, part: PartStarted, told: Texts, room: int) -> str:
    phase = state.phase(part.phase)
    assert phase is not None
    inputs = [p for p in state.phases if p.id in phase.depends_on and p.result.strip()]
    absent = [p for p in state.phases if p.id in phase.depends_on and not p.result.strip()]
    others = [p for p in state.phases if p.id != phase.id and p.id not in phase.depends_on]
    doing = "\n".join(f"- {p.expert}: {p.planned.name}" for p in others)
    name = phase.planned.name
    mine = phase.planned.task if phase.planned.task.startswith(name) else f"{name}\n{phase.planned.task}"
    return _joined(
        _results(inputs, told, room),
        section(told.missing, "\n".join(_line(p, told) for p in absent)),
        section(told.others, doing),
        section(told.your_phase, mine),
        guidance(state, told, part.expert),
        told.phase,
    )


def _debate(state: TeamState, part: PartStarted, told: Texts, room: int) -> str:
    phase = state.phase(part.phase)
    assert phase is not None
    inputs = _results([p for p in state.phases if p.id in phase.depends_on and p.result.strip()], told, room // 2)
    if part.work == "frame":
        return _joined(inputs, _guidance(state, told), filled(told.frame, "topic", phase.planned.topic))
    asked = section(told.debate, clipped(debate.question(state, phase), room // 4, told))
    held = debate.rounds(state, phase)
    if part.work == "verdict":
        why = debate.why_over(state, phase, held) or ""
        said = _said(held, told, room)
        return _joined(inputs, asked, said, _guidance(state, told), filled(told.verdict, "why", why))
    assert state.requested is not None
    names = debate.who_debates(state, phase)
    place = names.index(part.expert) if part.expert in names else 0
    stance = style_of(state.requested.debate_style).stance(state.language, place)
    mine = guidance(state, told, part.expert)
    if part.work == "position":
        return _joined(inputs, asked, mine, told.position, stance)
    heard = [turns for turns in held if turns.round < part.round]
    return _joined(asked, _said(heard[-2:], told, room), mine, told.rebuttal, stance)


def _said(held: Iterable[debate.Turns], told: Texts, room: int) -> str:
    parts = [part for turns in held for part in turns.said]
    each = max(LEAST, room // max(1, len(parts)))
    return section(told.said, "\n".join(quoted(f"{p.expert}, {p.round}", clipped(p.text, each, told)) for p in parts))
