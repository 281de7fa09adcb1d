"""Start a run, stop a run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.engine.access import check_folder
from quarterdeck.events.run import Loop, RunRequested, StopRequested
from quarterdeck.events.talk import ConversationOpened, MessageAdded
from quarterdeck.kernel.errors import Closed, Conflict, Gone, Invalid, NotFound
from quarterdeck.kernel.ids import ConversationId, RunId, checked_name, conversation_stream, run_stream
from quarterdeck.kernel.parts import Persona, Reasoning
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry
from quarterdeck.ports import Once

LONGEST_MESSAGE = 200_000
TITLE = 60


@dataclass(frozen=True, slots=True)
class Ask:
    """What a person wants answered, and how. Without a conversation a new one is opened."""

    message: str
    conversation: str | None = None
    workspace: str | None = None
    loop: Loop = "roles"
    reasoning: Reasoning | None = None
    debug: bool = False
    deadline_s: float | None = None
    persona: Persona | None = None
    root: RunId | None = None
    budget_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """The run that answers; `again` where this very request had started it before."""

    task: RunId
    conversation: ConversationId
    again: bool = False


async def start_run(
    desk: Desk, scope: Scope, ask: Ask, *, key: str | None = None, body: bytes = b"", route: str = "start_run"
) -> Started:
    """Answers once the request is durable. The same `key` with the same `body` starts one run, however often sent by
    one `route`."""
    message = checked_message(ask.message)
    check_folder(scope, ask.workspace)
    task = RunId(desk.ids.mint())
    name = desk.ids.mint() if ask.conversation is None else checked_name(ask.conversation, "conversation_id")
    conversation = ConversationId(name)
    opened = ConversationOpened(title_of(message), ask.workspace)
    said = MessageAdded("user", message, task)
    talk = conversation_stream(scope.tenant, conversation)
    try:
        appended = await desk.log.append(
            Entry(run_stream(scope.tenant, task), (requested(ask, conversation),), actor=scope.actor),
            Entry(talk, (said,), opening=(opened,), actor=scope.actor, cause=task),
            once=_once(scope, route, key, body, task, conversation),
        )
    except Closed as closed:
        if closed.code != Closed.code:  # not the conversation, but whose it was
            raise
        raise Gone(
            "That conversation was deleted; choose another `conversation_id`.", code="conversation_deleted"
        ) from None
    if appended.answer is not None:
        first = orjson.loads(appended.answer)
        return Started(RunId(first["task"]), ConversationId(first["conversation"]), again=True)
    return Started(task, conversation)


def requested(ask: Ask, conversation: ConversationId) -> RunRequested:
    """The first event of the run."""
    return RunRequested(
        conversation,
        ask.message,
        ask.loop,
        ask.workspace,
        ask.reasoning,
        ask.debug,
        ask.deadline_s,
        persona=ask.persona,
        root=ask.root,
        budget_usd=ask.budget_usd,
    )


async def stop_run(desk: Desk, scope: Scope, task: str, reason: str = "") -> None:
    """Ask a run to end at once and keep what it has. One that has ended already is a conflict, and stays as it is."""
    name = run_stream(scope.tenant, RunId(task))
    if await desk.log.look(name) is None:
        raise NotFound(f"There is no task {task!r}.", code="task_not_found")
    try:
        await desk.log.append(Entry(name, (StopRequested(reason),), actor=scope.actor))
    except Closed:
        raise Conflict(f"Task {task} has ended already.", code="task_ended") from None


def title_of(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= TITLE else line[: TITLE - 1].rstrip() + "…"


def checked_message(message: str, field: str = "message") -> str:
    if not message.strip():
        raise Invalid(f"The message is empty; say something in `{field}`.", code="message_empty")
    if len(message) > LONGEST_MESSAGE:
        raise Invalid(f"The message is longer than {LONGEST_MESSAGE:,} characters.", code="message_too_long")
    return message


def _once(
    scope: Scope, route: str, key: str | None, body: bytes, task: RunId, conversation: ConversationId
) -> Once | None:
    if key is None:
        return None
    checked_name(key, "Idempotency-Key")
    answer = orjson.dumps({"task": task, "conversation": conversation})
    return Once(f"{scope.tenant}\n{scope.actor}\n{route}\n{key}", hashlib.sha256(body).digest(), answer)
