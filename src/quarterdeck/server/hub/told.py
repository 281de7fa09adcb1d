"""What the server tells on the hub, as a document has it and as the tests hold it to."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from quarterdeck.server.wire import Shape


class Told(Shape):
    """Fields may be added; ignore those that you do not know."""

    model_config = ConfigDict(extra="allow")


class Kept(Told):
    """What happened in a project, at a place of its own: apply it if `seq` is your last one plus one."""

    project_id: str
    seq: int


class KeptOfTeam(Told):
    """What happened to a team's run, at a place of its own; docs/teams.md says what each tells."""

    run_id: str
    seq: int


class ProjectHead(Told):
    id: str
    name: str
    slug: str
    chat_id: str
    head: int = Field(description="The place from behind which you are told what happens.")


class Config(Told):
    """How a member is set up."""

    TYPE: ClassVar[str] = "config.updated"
    model: str | None
    provider: str | None
    prompt: str
    chat_listen: Literal["all", "mentions", "none"]
    task_listen: Literal["all", "mentions", "assigned", "none"]
    max_concurrent_tasks: int
    capabilities: list[str]
    labels: list[str]


class AuthOk(Told):
    """You are in. What happens in these projects is told from now on."""

    TYPE: ClassVar[str] = "auth.ok"
    member_id: str
    slug: str
    name: str
    type: Literal["human", "agent"]
    projects: list[ProjectHead]
    config: Config
    protocol: int
    limits: dict[str, float]
    epoch: str


class Refusal(Told):
    """`code` is stable; `detail` says what helps."""

    TYPE: ClassVar[str] = "error"
    code: str
    detail: str


class AuthError(Refusal):
    """Nobody is known by what was shown. The connection is closed with 4401."""

    TYPE: ClassVar[str] = "auth.error"


class Ok(Told):
    """The answer to a frame with a `ref`, once what it asked for is durable."""

    TYPE: ClassVar[str] = "ok"


class Pong(Told):
    TYPE: ClassVar[str] = "pong"


class Subscribed(Told):
    """From here on: what is behind `after`, then what happens. With `reset`, begin anew: your cursor was of another
    log, or ahead of this one."""

    TYPE: ClassVar[str] = "project.subscribed"
    project_id: str
    after: int
    head: int
    epoch: str
    online: list[str]
    reset: Literal["epoch", "ahead"] | None = None


class TeamSubscribed(Told):
    """From here on: what is behind `after`, then what happens. `done` is the last of it."""

    TYPE: ClassVar[str] = "team.subscribed"
    run_id: str
    after: int
    head: int
    epoch: str
    reset: Literal["epoch", "ahead"] | None = None


class Joined(ProjectHead):
    """You are in another project now."""

    TYPE: ClassVar[str] = "project.joined"


class Left(Told):
    TYPE: ClassVar[str] = "project.left"
    project_id: str


class Presence(Told):
    """Who comes and goes; not kept, and told to whoever is there."""

    TYPE: ClassVar[str] = "presence"
    project_id: str
    member_id: str
    slug: str
    status: Literal["online", "offline"]


class Happened(Told):
    type: str
    data: dict[str, Any]


class DeliveryTold(Told):
    """Something that concerns you. Acknowledge it when you are done: until then it is told again at each connection.
    `wakes` is false where agents have only talked to each other for too long: nobody expects an answer."""

    TYPE: ClassVar[str] = "delivery"
    delivery_id: str
    reason: str
    wakes: bool
    event: Happened


class Resumed(Told):
    """Go on with this piece."""

    TYPE: ClassVar[str] = "agent.stream.resumed"
    stream_id: str
    next_index: int


class Decided(Told):
    """What people said to your `approval.request`; `args` are their own, where they changed yours."""

    TYPE: ClassVar[str] = "approval.decided"
    approval_id: str
    decision: str
    words: str
    by: str
    args: Any


class Spoken(Kept):
    stream_id: str
    agent_id: str
    agent_slug: str


class Start(Spoken):
    TYPE: ClassVar[str] = "agent.stream.start"
    chat_id: str | None
    task_id: str | None
    run_id: str | None


class Delta(Spoken):
    TYPE: ClassVar[str] = "agent.stream.delta"
    delta: str
    index: int


class ToolUsed(Spoken):
    """`tool_result` is never null: a tool that failed has `{"error": …}`."""

    TYPE: ClassVar[str] = "agent.stream.tool"
    tool_name: str
    tool_args: Any
    tool_result: Any
    index: int


class End(Spoken):
    """`said_id` is the message or comment that it became."""

    TYPE: ClassVar[str] = "agent.stream.end"
    final_message: str
    tool_log: list[dict[str, Any]]
    said_id: str | None


class Interrupted(Spoken):
    """The agent did not come back. What it said so far is all there is."""

    TYPE: ClassVar[str] = "agent.stream.interrupted"
    why: str
    pieces: int


class Voice(Told):
    member_id: str
    slug: str
    type: Literal["human", "agent"]


class Message(Kept):
    TYPE: ClassVar[str] = "chat.message"
    message_id: str
    chat_id: str
    by: Voice
    content: str
    mentions: list[str]


class Skip(Kept):
    """These places are not for you, or of a kind that this server does not know."""

    TYPE: ClassVar[str] = "skip"
    why: str


class Gap(Told):
    """These places are gone for good; read the project, or the team's run, anew over HTTP."""

    TYPE: ClassVar[str] = "stream.gap"
    project_id: str | None = None
    run_id: str | None = None
    seq: int


# What is told of a team's run, by the names that its own stream has.
TEAM_EVENTS = {
    "team_status": "It is queued, or taken up.",
    "plan_update": "The plan's picture changed; `change` says how.",
    "plan_refused": "What the lead wrote is no plan, and why.",
    "part_started": "An expert plans, speaks in a debate or answers.",
    "part_waiting": "An expert's run waits for a person.",
    "part_cut": "A part was cut short.",
    "part_ended": "What a part came to.",
    "debate_closed": "A verdict with reasons, dissent and confidence.",
    "intervention_accepted": "A person said something.",
    "intervention_heeded": "What became of it.",
    "done": "The answer; always last.",
}
OUTBOUND: tuple[type[Told], ...] = (
    AuthOk,
    AuthError,
    Refusal,
    Ok,
    Pong,
    Config,
    Subscribed,
    TeamSubscribed,
    Joined,
    Left,
    Presence,
    DeliveryTold,
    Resumed,
    Decided,
    Start,
    Delta,
    ToolUsed,
    End,
    Interrupted,
    Message,
    Skip,
    Gap,
)
BY_TYPE: dict[str, type[Told]] = {kind.TYPE: kind for kind in OUTBOUND}  # type: ignore[attr-defined]
