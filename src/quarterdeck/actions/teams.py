"""Teams: form one, give it a task, step in while it works, change its plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.engine.access import check_folder
from quarterdeck.engine.team import STYLES, TeamState, evolve, faults, language_of
from quarterdeck.engine.team.plan import LONGEST_TASK
from quarterdeck.engine.team.reading import LONGEST_NAME, LONGEST_TOPIC
from quarterdeck.engine.team.reckon import revised
from quarterdeck.events.base import Event
from quarterdeck.events.team import (
    Expert,
    PlanChanged,
    Planned,
    TeamFormed,
    TeamInterventionAccepted,
    TeamRunRequested,
)
from quarterdeck.kernel.errors import Closed, Conflict, Invalid, Moved, NotFound
from quarterdeck.kernel.ids import checked_name, team_run_stream, team_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold

MOST_EXPERTS = 12
LONGEST_TEXT = 20_000
LONGEST_ASKED = 100_000
LONGEST_EXPERT = 60
TRIES = 20


@dataclass(frozen=True, slots=True)
class TeamTask:
    """What a team is asked. With a `plan` nobody else makes one; with `ask_first` the lead's waits for approval."""

    task: str
    plan: tuple[Planned, ...] = ()
    ask_first: bool = False
    debate_style: str = "open"
    workspace: str | None = None
    budget_usd: float | None = None


async def form_team(
    desk: Desk, scope: Scope, name: str, experts: Sequence[Expert], *, key: str | None = None, body: bytes = b""
) -> str:
    """Answers with its id once it is durable."""
    ident = desk.ids.mint()
    formed = TeamFormed(_line(name, "name", LONGEST_NAME), _checked_experts(experts))
    once = once_only(scope, "form_team", key, body, {"id": ident})
    appended = await desk.log.append(Entry(team_stream(scope.tenant, ident), (formed,), actor=scope.actor), once=once)
    return ident if appended.answer is None else str(orjson.loads(appended.answer)["id"])


async def start_team_run(
    desk: Desk, scope: Scope, team: str, asked: TeamTask, *, key: str | None = None, body: bytes = b""
) -> str:
    """Answers with the run's id once the request is durable."""
    experts = await experts_of(desk, scope, team)
    check_folder(scope, asked.workspace)
    _check_task(asked)
    _check_plan(asked.plan, experts)
    ident = desk.ids.mint()
    requested = TeamRunRequested(
        team,
        asked.task,
        language_of(asked.task),
        experts,
        asked.ask_first,
        asked.plan,
        asked.debate_style,
        asked.workspace,
        asked.budget_usd,
    )
    once = once_only(scope, f"team_run\n{team}", key, body, {"id": ident})
    entry = Entry(team_run_stream(scope.tenant, ident), (requested,), actor=scope.actor)
    appended = await desk.log.append(entry, once=once)
    return ident if appended.answer is None else str(orjson.loads(appended.answer)["id"])


async def step_in(desk: Desk, scope: Scope, run: str, text: str, *, key: str | None = None, body: bytes = b"") -> str:
    """Accepted once durable; what becomes of it is in the receipt, whose id this returns."""
    if not text.strip():
        raise Invalid("The intervention is empty; say something in `text`.", code="text_empty")
    if len(text) > LONGEST_TEXT:
        raise Invalid(f"The text is longer than {LONGEST_TEXT:,} characters.", code="text_too_long")
    ident = desk.ids.mint()
    once = once_only(scope, f"team_step_in\n{run}", key, body, {"id": ident})
    accepted = TeamInterventionAccepted(ident, run, text)
    appended = await _append(desk, scope, run, accepted, once=once)
    return ident if appended is None else str(orjson.loads(appended)["id"])


async def change_plan(desk: Desk, scope: Scope, run: str, planned: Sequence[Planned]) -> int:
    """A person's own plan of all that has not begun; what has, stays. Also approves one that waits.

    Returns its version."""
    for _ in range(TRIES):
        fold = Fold(desk.log, team_run_stream(scope.tenant, run), TeamState(), evolve)
        state = await fold.catch_up()
        if state.requested is None:
            raise NotFound("There is no such team run.", code="team_run_not_found")
        known = {phase.id for phase in state.phases}
        alone = [replace(each, depends_on=tuple(i for i in each.depends_on if i not in known)) for each in planned]
        _check_plan(planned, state.experts, alone)
        changed = PlanChanged(
            state.version + 1, revised(state, tuple(planned)), scope.actor, "a person changed the plan"
        )
        if wrong := faults(changed.phases, state.names):
            raise Invalid(" ".join(wrong), code="bad_plan")
        try:
            await _append(desk, scope, run, changed, head=fold.seq)
        except Moved:
            continue
        return changed.version
    raise Conflict("The run moves too quickly for that; try again.", code="busy")


async def experts_of(desk: Desk, scope: Scope, team: str) -> tuple[Expert, ...]:
    state = Fold(desk.log, team_stream(scope.tenant, team), TeamFormed("", ()), _formed)
    formed = await state.catch_up()
    if not formed.experts:
        raise NotFound("There is no such team.", code="team_not_found")
    return formed.experts


def _formed(team: TeamFormed, event: Event) -> TeamFormed:
    return event if isinstance(event, TeamFormed) else team


async def _append(
    desk: Desk, scope: Scope, run: str, event: Event, *, head: int | None = None, once: object = None
) -> bytes | None:
    name = team_run_stream(scope.tenant, run)
    if await desk.log.look(name) is None:
        raise NotFound("There is no such team run.", code="team_run_not_found")
    try:
        entry = Entry(name, (event,), actor=scope.actor, head=head)
        appended = await desk.log.append(entry, once=once)  # type: ignore[arg-type]
    except Closed:
        raise Conflict("The team's run has ended already.", code="team_run_ended") from None
    return appended.answer


def _checked_experts(experts: Sequence[Expert]) -> tuple[Expert, ...]:
    """Names that can be told apart and addressed, and one who leads."""
    if not 1 <= len(experts) <= MOST_EXPERTS:
        raise Invalid(f"A team has 1 to {MOST_EXPERTS} experts, not {len(experts)}.", code="bad_team")
    named = [
        replace(each, persona=replace(each.persona, name=_line(each.name, "an expert's name", LONGEST_EXPERT)))
        for each in experts
    ]
    names = [each.name.casefold() for each in named]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Invalid(f"Two experts are called {twice[0]!r}.", code="bad_team")
    leads = [each.name for each in named if each.lead]
    if len(leads) > 1:
        raise Invalid(f"Only one can lead: {', '.join(leads)} are to.", code="bad_team")
    first = leads[0] if leads else named[0].name
    return tuple(replace(each, lead=each.name == first) for each in named)


def _check_task(asked: TeamTask) -> None:
    if not asked.task.strip():
        raise Invalid("The task is empty; say in `task` what the team is to do.", code="task_empty")
    if len(asked.task) > LONGEST_ASKED:
        raise Invalid(f"The task is longer than {LONGEST_ASKED:,} characters.", code="task_too_long")
    if asked.debate_style not in STYLES:
        raise Invalid(f"`debate_style` is one of {', '.join(STYLES)}.", code="bad_debate_style")


def _check_plan(plan: Sequence[Planned], experts: Sequence[Expert], alone: Sequence[Planned] | None = None) -> None:
    """`alone` is the plan without what it waits for outside of itself."""
    if not plan:
        if alone is None:
            return
        raise Invalid("The plan has no phase.", code="bad_plan")
    for phase in plan:
        checked_name(phase.id, "a phase's id")
        _line(phase.name, "a phase's name", LONGEST_NAME)
        if len(phase.task) > LONGEST_TASK or len(phase.topic) > LONGEST_TOPIC:
            raise Invalid(
                f"What phase {phase.id!r} is to do is longer than {LONGEST_TASK:,} characters.", code="bad_plan"
            )
    if wrong := faults(plan if alone is None else alone, [each.name for each in experts]):
        raise Invalid(" ".join(wrong), code="bad_plan")


def _line(text: str, what: str, most: int) -> str:
    plain = " ".join(text.split())
    if not plain or not plain.isprintable() or len(plain) > most:
        raise Invalid(f"`{what}` must be 1 to {most} printable characters.", code="bad_name")
    return plain
