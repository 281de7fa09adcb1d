"""The frames of the hub: what a client may send, read strictly and within bounds; and what the server tells."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import pydantic
from pydantic import Field

from quarterdeck.kernel.board import Priority, Status
from quarterdeck.kernel.errors import Invalid, NotAllowed
from quarterdeck.server.body import loads
from quarterdeck.server.hub.told import TEAM_EVENTS
from quarterdeck.server.problems import invalid
from quarterdeck.server.wire import Inbound

PROTOCOL = 1
LONGEST_DELTA = 16_384
MOST_TOOL_LOG = 1_000

Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]*$")]
Key: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, description="The same key twice is one wish.")]
After: TypeAlias = Annotated[
    int | Annotated[str, Field(max_length=64)] | None,
    Field(description="The last `seq` you hold, alone or as `v1.<epoch>.<seq>`; left out, from now on."),
]
Text: TypeAlias = Annotated[str, Field(max_length=200_000)]


class Auth(Inbound):
    """Who speaks, in the first frame, where neither a header nor the address says so."""

    TYPE: ClassVar[str] = "auth"
    token: Annotated[str, Field(max_length=512)] | None = None


class Ping(Inbound):
    """Answered by `pong`, for those who cannot send a WebSocket's own."""

    TYPE: ClassVar[str] = "ping"


class Subscribe(Inbound):
    """Be told a project's events from behind a place: what was first, then what happens."""

    TYPE: ClassVar[str] = "project.subscribe"
    project_id: Id
    after: After = None


class Unsubscribe(Inbound):
    TYPE: ClassVar[str] = "project.unsubscribe"
    project_id: Id


class TeamSubscribe(Inbound):
    """Be told what happens to a team's run from behind a place: what was first, then what happens."""

    TYPE: ClassVar[str] = "team.subscribe"
    run_id: Id
    after: After = None


class TeamUnsubscribe(Inbound):
    TYPE: ClassVar[str] = "team.unsubscribe"
    run_id: Id


class Spoken(Inbound):
    """What every frame of a stream may carry. Who speaks is known: these may only repeat it."""

    stream_id: Id
    project_id: Id | None = None
    agent_id: str | None = Field(None, max_length=128)
    agent_slug: str | None = Field(None, max_length=128)


class StreamStart(Spoken):
    """Begin to speak: in a chat, or about a task. The id is yours to choose; a UUID is best."""

    TYPE: ClassVar[str] = "agent.stream.start"
    project_id: Id
    chat_id: Id | None = None
    task_id: Id | None = None


class StreamDelta(Spoken):
    """A piece of text. With an `index`, one that was sent before is not taken twice."""

    TYPE: ClassVar[str] = "agent.stream.delta"
    delta: str = Field(max_length=LONGEST_DELTA)
    index: int | None = Field(None, ge=0, lt=2**31)


class StreamTool(Spoken):
    """A tool was used. One that failed has an `error`, or `{"error": …}` as its result."""

    TYPE: ClassVar[str] = "agent.stream.tool"
    tool_name: str = Field(min_length=1, max_length=200)
    tool_args: Any = None
    tool_result: Any = None
    error: str | None = Field(None, max_length=20_000)
    index: int | None = Field(None, ge=0, lt=2**31)


class ToolLine(Inbound):
    name: str = Field(min_length=1, max_length=200)
    args: Any = None
    result: Any = None
    error: str | None = Field(None, max_length=20_000)


class StreamEnd(Spoken):
    """All was said: it becomes a message, or a comment on the task. What is left out is made of the pieces."""

    TYPE: ClassVar[str] = "agent.stream.end"
    final_message: Text | None = None
    tool_log: list[ToolLine] | None = Field(None, max_length=MOST_TOOL_LOG)


class StreamResume(Spoken):
    """Go on after a broken connection: answered with the index of the piece that is next."""

    TYPE: ClassVar[str] = "agent.stream.resume"


class ChatSend(Inbound):
    TYPE: ClassVar[str] = "chat.send"
    chat_id: Id
    content: Text
    reply_to: Id | None = None
    key: Key | None = None


class TaskCreate(Inbound):
    TYPE: ClassVar[str] = "task.create"
    project_id: Id
    title: str = Field(max_length=1_000)
    description: Text = ""
    status: Status = "todo"
    priority: Priority = "normal"
    labels: list[str] = Field(default_factory=list, max_length=50)
    assignees: list[str] = Field(default_factory=list, max_length=50)
    depends_on: list[str] = Field(default_factory=list, max_length=100)
    reviewer: str | None = Field(None, max_length=128)
    key: Key | None = None


class OnTask(Inbound):
    task_id: Id


class TaskComment(OnTask):
    TYPE: ClassVar[str] = "task.comment"
    content: Text
    key: Key | None = None


class TaskClaim(OnTask):
    """Take it in hand. Answered with `until`: say `task.heartbeat` before that."""

    TYPE: ClassVar[str] = "task.claim"


class TaskHeartbeat(OnTask):
    TYPE: ClassVar[str] = "task.heartbeat"


class TaskRelease(OnTask):
    TYPE: ClassVar[str] = "task.release"


class TaskSubmit(OnTask):
    TYPE: ClassVar[str] = "task.submit"
    summary: Text = ""
    stream_id: Id | None = None


class TaskMove(OnTask):
    TYPE: ClassVar[str] = "task.move"
    status: Status


class TaskAssign(OnTask):
    TYPE: ClassVar[str] = "task.assign"
    assignees: list[str] = Field(max_length=50)


class TaskReview(OnTask):
    TYPE: ClassVar[str] = "task.review"
    verdict: Literal["approved", "sent_back"]
    words: Text = ""


class TaskHandOver(OnTask):
    TYPE: ClassVar[str] = "task.hand_over"
    to: str = Field(max_length=128)
    words: Text = ""


class Ack(Inbound):
    """Done with a delivery: it is not told again."""

    TYPE: ClassVar[str] = "ack"
    delivery_id: str = Field(max_length=200)


class ApprovalRequest(Inbound):
    """Ask people whether you may. Their answer comes as `approval.decided`; asked again with the same key, the same."""

    TYPE: ClassVar[str] = "approval.request"
    tool: str = Field(min_length=1, max_length=200, description="What you would use.")
    args: Any = None
    reason: str = Field("", max_length=4_000)
    risk_level: Literal["low", "medium", "high"] = "medium"
    project_id: Id
    stream_id: Id | None = None
    key: Key | None = None


INBOUND: tuple[type[Inbound], ...] = (
    Auth,
    Ping,
    Subscribe,
    Unsubscribe,
    TeamSubscribe,
    TeamUnsubscribe,
    StreamStart,
    StreamDelta,
    StreamTool,
    StreamEnd,
    StreamResume,
    ChatSend,
    TaskCreate,
    TaskComment,
    TaskClaim,
    TaskHeartbeat,
    TaskRelease,
    TaskSubmit,
    TaskMove,
    TaskAssign,
    TaskReview,
    TaskHandOver,
    Ack,
    ApprovalRequest,
)
BY_TYPE: dict[str, type[Inbound]] = {kind.TYPE: kind for kind in INBOUND}  # type: ignore[attr-defined]
# What needs no right to write.
LOOKING = (Auth, Ping, Subscribe, Unsubscribe, TeamSubscribe, TeamUnsubscribe)
# What only the server says. Whoever sends one of these pretends to be it.
RESERVED = (
    "auth.",
    "approval.",
    "audit.",
    "run.",
    "config.",
    "delivery",
    "presence",
    "stream.",
    "project.",
    "team.",
    *TEAM_EVENTS,
    "agent.stream.",
    "chat.message",
    "task.opened",
    "ok",
    "error",
)


class Envelope(Inbound):
    """`ref` comes back in the answer."""

    type: str = Field(max_length=64, pattern=r"^[a-z][a-z_.]*$")
    data: dict[str, Any] = Field(default_factory=dict)
    ref: str | int | None = Field(None)


class Forged(NotAllowed):
    """Somebody speaks in another's name."""

    code = "forged"


def read(text: str) -> tuple[Inbound, str | int | None]:
    """A frame of a known type, or a `Problem` that says what is wrong with it."""
    envelope = _validated(Envelope, loads(text.encode()))
    ref = envelope.ref
    if isinstance(ref, str) and len(ref) > 128:
        raise Invalid("ref: at most 128 characters.", code="invalid_frame")
    kind = BY_TYPE.get(envelope.type)
    if kind is None:
        if envelope.type.startswith(RESERVED):
            raise Forged(f"Only the server says `{envelope.type}`.", code="reserved_type", extra={"ref": ref})
        raise Invalid(f"There is no frame `{envelope.type}`.", code="unknown_type", extra={"ref": ref})
    return _validated(kind, envelope.data, ref), ref


def _validated(kind: type[Any], value: Any, ref: str | int | None = None) -> Any:
    try:
        return kind.model_validate(value)
    except pydantic.ValidationError as error:
        found = invalid(error.errors(include_url=False, include_input=False))
        extra = found.extra if ref is None else {**found.extra, "ref": ref}
        raise Invalid(found.detail, code="invalid_frame", extra=extra) from None
