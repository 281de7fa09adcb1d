"""A plan: phases that form a graph without circles. What is wrong with one, what is ready, and how it may change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from quarterdeck.events.team import PhaseState, Planned

MOST_PHASES = 24
LONGEST_TASK = 8_000
ENDED = frozenset({"completed", "failed", "skipped", "stopped"})
SATISFIED = frozenset({"completed", "skipped"})


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase and how it stands. `started` counts every beginning, `failures` those since it was last wished for."""

    planned: Planned
    state: PhaseState = "pending"
    result: str = ""
    detail: str = ""
    started: int = 0
    failures: int = 0
    had_by: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.planned.id

    @property
    def expert(self) -> str:
        return self.planned.expert

    @property
    def depends_on(self) -> tuple[str, ...]:
        return self.planned.depends_on

    @property
    def is_debate(self) -> bool:
        return self.planned.kind == "debate"

    @property
    def ended(self) -> bool:
        return self.state in ENDED


def faults(phases: Sequence[Planned], experts: Iterable[str]) -> tuple[str, ...]:
    """Every reason why this cannot be carried out, as sentences; none for a plan that can."""
    known, ids = set(experts), [phase.id for phase in phases]
    found = [] if phases else ["There is no phase in it."]
    if len(phases) > MOST_PHASES:
        found.append(f"It has {len(phases)} phases; {MOST_PHASES} is the most.")
    found += [f"Two phases are called {name!r}." for name in sorted({i for i in ids if ids.count(i) > 1})]
    for phase in phases:
        if phase.expert not in known:
            found.append(f"Phase {phase.id!r} is given to {phase.expert!r}, who is not in the team.")
        found += [f"{who!r} is to debate in {phase.id!r} and is not in the team." for who in strangers(phase, known)]
        missing = [other for other in phase.depends_on if other not in ids]
        found += [
            f"Phase {phase.id!r} can never be reached: it waits for {other!r}, which is not there." for other in missing
        ]
    if circle := in_circles(phases):
        found.append("These phases wait for each other in a circle: " + ", ".join(circle) + ".")
    return tuple(found)


def strangers(phase: Planned, known: set[str]) -> list[str]:
    return [who for who in phase.participants if who not in known]


def in_circles(phases: Sequence[Planned]) -> tuple[str, ...]:
    """Phases that can never begin because they wait, in the end, for themselves. Those they wait for are peeled off
    layer by layer; what is left waits for what is left."""
    ids = {phase.id for phase in phases}
    waiting = {phase.id: {other for other in phase.depends_on if other in ids} for phase in phases}
    while free := [one for one, others in waiting.items() if not others]:
        waiting = {one: others for one, others in waiting.items() if others}
        waiting = {one: others.difference(free) for one, others in waiting.items()}
    return tuple(sorted(waiting))


def ready(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    """Those that may begin now."""
    stands = {phase.id: phase.state for phase in phases}
    return tuple(
        phase
        for phase in phases
        if phase.state == "pending" and all(stands.get(other) in SATISFIED for other in phase.depends_on)
    )


def stalled(phases: Sequence[Phase]) -> bool:
    """Whether something is left to do and nothing that goes on will ever let it begin."""
    waiting = any(phase.state == "pending" for phase in phases)
    moving = any(phase.state == "running" for phase in phases) or bool(ready(phases))
    return waiting and not moving


def over(phases: Sequence[Phase]) -> bool:
    return all(phase.ended for phase in phases)


def settled(phases: Sequence[Phase], planned: Sequence[Planned]) -> tuple[Phase, ...]:
    """The phases under a new plan: those that are known keep how they stand."""
    before = {phase.id: phase for phase in phases}
    return tuple(replace(before[each.id], planned=each) if each.id in before else Phase(each) for each in planned)


def merged(phases: Sequence[Phase], fresh: Sequence[Planned]) -> tuple[Planned, ...]:
    """What has begun or ended stays as it is; what has not begun is replaced by what is fresh.

    A fresh phase under the name of one that stays gets another. What it would wait for in vain, because that failed or
    was stopped, it does not wait for. One that would wait for nothing waits for the debates that are open."""
    stay = [phase for phase in phases if phase.state != "pending" or phase.is_debate]
    before = {phase.id for phase in stay}
    vain = {phase.id for phase in stay if phase.state in {"failed", "stopped"}}
    debates = tuple(phase.id for phase in stay if phase.is_debate and not phase.ended)
    names = renamed(before, [each.id for each in fresh])
    there = before | set(names.values())
    new = []
    for each in fresh:
        wanted = (names.get(other, other) for other in each.depends_on)
        depends_on = tuple(dict.fromkeys(other for other in wanted if other in there and other not in vain))
        new.append(replace(each, id=names[each.id], depends_on=depends_on or debates))
    kept = [
        replace(phase.planned, depends_on=tuple(other for other in phase.depends_on if other in before))
        for phase in stay
    ]
    return (*kept, *new)


def renamed(taken: set[str], wanted: Sequence[str]) -> Mapping[str, str]:
    names: dict[str, str] = {}
    for one in wanted:
        name, number = one, 2
        while name in taken or name in names.values():
            name, number = f"{one}.{number}", number + 1
        names[one] = name
    return names


def with_debate(phases: Sequence[Phase], debate: Planned) -> tuple[Planned, ...]:
    """The plan with a debate about what is there. It builds on all that is finished; what has not begun and builds on
    any of it, or on nothing at all, waits for the verdict. All else goes on, and so does what something finished was
    built on and is done again."""
    finished = {phase.id for phase in phases if phase.state == "completed"}
    beneath = _beneath(phases, finished)
    opened = replace(debate, depends_on=tuple(phase.id for phase in phases if phase.id in finished))
    planned = []
    for phase in phases:
        waits = phase.state == "pending" and (not phase.depends_on or bool(finished & set(phase.depends_on)))
        more = (debate.id,) if waits and not phase.is_debate and phase.id not in beneath else ()
        planned.append(replace(phase.planned, depends_on=(*phase.depends_on, *more)))
    return (*planned, opened)


def _beneath(phases: Sequence[Phase], ids: set[str]) -> set[str]:
    """Whatever these build on, and what that builds on."""
    builds_on = {phase.id: set(phase.depends_on) for phase in phases}
    found, looked_at = set[str](), set(ids)
    while more := {other for one in looked_at for other in builds_on.get(one, ())} - found:
        found |= more
        looked_at = more
    return found


def free_id(phases: Iterable[Phase], stem: str) -> str:
    taken, number = {phase.id for phase in phases}, 1
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"
