"""Step in while a run works: say something, change it, take it back, each with a receipt."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.engine import intervention as rules
from quarterdeck.engine.intervention import Intervention
from quarterdeck.events.base import Event
from quarterdeck.events.steering import InterventionAccepted, InterventionEdited, InterventionRetracted, Mode
from quarterdeck.kernel.errors import Closed, Conflict, Invalid, Moved, NotFound
from quarterdeck.kernel.ids import RunId, intervention_stream, run_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold

LONGEST_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it came: the same `key` with the same `body` says it once."""

    key: str | None = None
    body: bytes = b""


async def intervene(desk: Desk, scope: Scope, task: str, mode: Mode, text: str, sent: Sent | None = None) -> str:
    """Accepted once durable; what became of it is told in the run and in the receipt. Returns the receipt's id."""
    name = run_stream(scope.tenant, RunId(task))
    if await desk.log.look(name) is None:
        raise NotFound(f"There is no task {task!r}.", code="task_not_found")
    ident = desk.ids.mint()
    accepted = InterventionAccepted(ident, task, mode, _checked(text))
    try:
        appended = await desk.log.append(
            Entry(intervention_stream(scope.tenant, ident), (accepted,), actor=scope.actor, cause=task),
            Entry(name, (accepted,), actor=scope.actor),
            once=None if sent is None else once_only(scope, f"intervene {task}", sent.key, sent.body, {"id": ident}),
        )
    except Closed:
        raise Conflict(f"Task {task} has ended already; send a new message instead.", code="task_ended") from None
    return ident if appended.answer is None else str(orjson.loads(appended.answer)["id"])


async def edit_intervention(desk: Desk, scope: Scope, task: str, ident: str, text: str) -> None:
    """Until it is heeded."""
    await _change(desk, scope, task, InterventionEdited(ident, _checked(text)))


async def retract_intervention(desk: Desk, scope: Scope, task: str, ident: str) -> None:
    """Until it is heeded."""
    await _change(desk, scope, task, InterventionRetracted(ident))


async def _change(desk: Desk, scope: Scope, task: str, event: InterventionEdited | InterventionRetracted) -> None:
    """Whether it is too late is decided by the intervention's own stream."""
    own = intervention_stream(scope.tenant, event.intervention)
    known = await Fold(desk.log, own, Intervention(), rules.evolve).catch_up()
    if known.run != task:
        raise NotFound("There is no such intervention.", code="intervention_not_found")
    rules.check(known)
    changed: Event = event
    try:
        await desk.log.append(
            Entry(own, (changed,), actor=scope.actor, cause=task, head=known.version),
            Entry(run_stream(scope.tenant, RunId(task)), (changed,), actor=scope.actor),
        )
    except (Moved, Closed):
        raise rules.too_late(await Fold(desk.log, own, Intervention(), rules.evolve).catch_up()) from None


def _checked(text: str) -> str:
    if not text.strip():
        raise Invalid("The intervention is empty; say something in `text`.", code="text_empty")
    if len(text) > LONGEST_TEXT:
        raise Invalid(f"The text is longer than {LONGEST_TEXT:,} characters.", code="text_too_long")
    return text
