"""Lessons: ask for one, accept it, reject it, forget it."""

from __future__ import annotations

from dataclasses import dataclass

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import Find, Line, origins, while_there
from quarterdeck.events.after import AfterRequested
from quarterdeck.events.base import Event
from quarterdeck.events.memory import LessonAccepted, LessonForgotten, LessonRejected
from quarterdeck.kernel.errors import Closed, Moved
from quarterdeck.kernel.ids import after_stream, experience_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.erasing import Erasure


@dataclass(frozen=True, slots=True)
class EndedRun:
    id: str
    conversation: str
    message: str
    answer: str


async def accept_lesson(desk: Desk, scope: Scope, ident: str, find: Find) -> None:
    """From now on it is found again when it fits."""

    def accepted(line: Line) -> Event | None:
        return None if line["state"] == "accepted" else LessonAccepted(ident)

    await while_there(desk, scope, experience_stream(scope.tenant), ident, find, accepted)


async def reject_lesson(desk: Desk, scope: Scope, ident: str, find: Find) -> None:
    """It stays to be seen, and is never used; one that was accepted may be rejected later."""

    def rejected(line: Line) -> Event | None:
        return None if line["state"] == "rejected" else LessonRejected(ident)

    await while_there(desk, scope, experience_stream(scope.tenant), ident, find, rejected)


async def forget_lesson(desk: Desk, scope: Scope, ident: str, find: Find) -> None:
    stream = experience_stream(scope.tenant)

    async def holders() -> list[Erasure]:
        return await origins(desk.log, stream, ident)

    await while_there(desk, scope, stream, ident, find, lambda _: LessonForgotten(ident), holders)


async def ask_reflection(desk: Desk, scope: Scope, run: EndedRun) -> str:
    """Have the critic look back at a run that has ended. Answers with the name of that look, once it is durable."""
    asked = AfterRequested(run.id, run.conversation, run.message, run.answer, reflection=True)
    for key in (run.id, f"{run.id}:{desk.ids.mint()}"):
        try:
            await desk.log.append(Entry(after_stream(scope.tenant, key), (asked,), actor=scope.actor, head=0))
        except (Moved, Closed):  # it was looked back at before
            continue
        return key
    raise Moved(f"Another look back at {run.id} has this very name.")
