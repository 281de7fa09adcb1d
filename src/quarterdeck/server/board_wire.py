"""The board as it crosses the network."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from quarterdeck.engine.board.people import Member
from quarterdeck.kernel.board import ChatKind, ChatListen, Drive, MemberType, Priority, Status, TaskListen
from quarterdeck.server.wire import Inbound, Shape
from quarterdeck.views.board import names_in

Names = Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=1000)]
Most = Annotated[int, Field(ge=1, le=100)]


class NewMember(Inbound):
    type: MemberType
    name: str = Field(max_length=1000, description="What people call them.")
    slug: str | None = Field(None, max_length=200, description="What they are mentioned by; made of the name without.")
    chat_listen: ChatListen | None = Field(None, description="`mentions` for an agent, `all` for a person.")
    task_listen: TaskListen | None = Field(None, description="`assigned` for an agent, `all` for a person.")
    max_concurrent_tasks: Most = 1
    capabilities: Names = Field([])
    labels: Names = Field([])
    model: str | None = Field(None, max_length=200)
    provider: str | None = Field(None, max_length=200)
    prompt: str = ""
    runtime: Drive = Field("external", description="`built_in`: this server drives the agent.")
    tools: Names | None = Field(None, description="The tools a built-in agent has; all of them without.")


class MemberChange(Inbound):
    name: str | None = Field(None, max_length=1000)
    chat_listen: ChatListen | None = None
    task_listen: TaskListen | None = None
    max_concurrent_tasks: Most | None = None
    capabilities: Names | None = None
    labels: Names | None = None
    model: str | None = Field(None, max_length=200)
    provider: str | None = Field(None, max_length=200)
    prompt: str | None = None
    runtime: Drive | None = None
    tools: Names | None = None


class MemberCard(Shape):
    """A member, as everybody in the tenant may know them."""

    id: str
    type: MemberType
    name: str
    slug: str
    capabilities: list[str]
    labels: list[str]


class WholeMember(MemberCard):
    """`prompt`, `model` and `provider` are for people, and for the agent itself."""

    chat_listen: ChatListen
    task_listen: TaskListen
    max_concurrent_tasks: int
    model: str | None
    provider: str | None
    prompt: str
    runtime: Drive
    tools: list[str] | None


class AddedMember(WholeMember):
    token: str | None = Field(description="What the agent shows. It is told this once.")


class NewToken(Shape):
    token: str


def member_card(member: Member) -> MemberCard:
    config = member.config
    card = {"capabilities": list(config.capabilities), "labels": list(config.labels)}
    return MemberCard(id=member.id, type=member.type, name=member.name, slug=member.slug, **card)


def whole_member(member: Member) -> dict[str, Any]:
    config = member.config
    return {
        **member_card(member).model_dump(),
        "chat_listen": config.chat_listen,
        "task_listen": config.task_listen,
        "max_concurrent_tasks": config.max_concurrent_tasks,
        "model": config.model,
        "provider": config.provider,
        "prompt": config.prompt,
        "runtime": config.runtime,
        "tools": None if config.tools is None else list(config.tools),
    }


class NewProject(Inbound):
    name: str = Field(max_length=1000)
    slug: str | None = Field(None, max_length=200)
    description: str = ""
    members: Names = Field([], description="Ids or slugs of who is in it from the beginning, beside yourself.")


class ProjectChange(Inbound):
    name: str | None = Field(None, max_length=1000)
    description: str | None = None
    archived: bool | None = None


class Project(Shape):
    id: str
    name: str
    slug: str
    description: str
    chat_id: str = Field(description="The chat that everybody in the project is in.")
    archived: bool
    opened_at: float


class Joining(Inbound):
    member: str = Field(max_length=200, description="The member's id or slug.")


class NewChat(Inbound):
    """A thread on a message, or a direct chat between members."""

    root: str | None = Field(None, max_length=200, description="The message that a thread hangs on.")
    members: Names | None = Field(None, description="Ids or slugs of those whom a direct chat is between, besides you.")
    name: str | None = Field(None, max_length=1000)


class Chat(Shape):
    id: str
    project_id: str
    kind: ChatKind
    name: str
    root: str | None
    members: list[str]
    opened_at: float
    spoken_at: float


class NewMessage(Inbound):
    content: str
    reply_to: str | None = Field(None, max_length=200, description="The message of this chat that it answers.")


class Author(Shape):
    id: str
    slug: str
    type: MemberType


class ChatMessage(Shape):
    id: str
    chat_id: str
    project_id: str
    author: Author
    content: str
    mentions: list[str]
    reply_to: str | None
    held: str | None = Field(description="Why it woke no agent, where it would have: `hops` or `turns`.")
    stream_id: str | None
    seq: int = Field(description="Its place in the project's stream.")
    at: float


class Trigger(Shape):
    member: MemberCard
    hears: bool
    wakes: str | None = Field(description="Why the agent would set to work, if it would.")


class Triggers(Shape):
    held: str | None = Field(description="Why no agent would set to work: `hops` or `turns`.")
    members: list[Trigger]


class NewTask(Inbound):
    title: str = Field(max_length=5000)
    description: str = ""
    status: Literal["backlog", "todo"] = "todo"
    priority: Priority = "normal"
    labels: Names = Field([])
    assignees: Names = Field([], description="Ids or slugs of members of the project.")
    depends_on: Names = Field([], description="Tasks of this project that have to be done first.")
    reviewer: str | None = Field(None, max_length=200, description="An agent that may review it; people always may.")


class TaskChange(Inbound):
    title: str | None = Field(None, max_length=5000)
    description: str | None = None
    priority: Priority | None = None
    labels: Names | None = None
    reviewer: str | None = Field(None, max_length=200, description="Nobody, where it is empty.")


class BoardTask(Shape):
    id: str
    project_id: str
    title: str
    description: str
    status: Status
    priority: Priority
    labels: list[str]
    assignees: list[str]
    depends_on: list[str]
    blocked_by: list[str] = Field(description="Those of the tasks it depends on that are not done yet.")
    reviewer: str | None
    author: str
    claimed_by: str | None
    claimed_until: float | None
    summary: str | None
    opened_at: float
    changed_at: float


class Assignees(Inbound):
    members: Names


class Dependencies(Inbound):
    depends_on: Names


class Going(Inbound):
    status: Status


class StatusLine(Shape):
    status: Status
    next: list[Status] = Field(description="Where a task may go from here.")


class Submission(Inbound):
    summary: str = ""


class Review(Inbound):
    verdict: Literal["approved", "sent_back"]
    words: str = ""


class HandOver(Inbound):
    to: str = Field(max_length=200, description="The member's id or slug.")
    words: str = ""


class Claimed(Shape):
    task: BoardTask
    until: float = Field(description="Till when the claim holds, unless it is renewed.")


class NewComment(Inbound):
    content: str


class Comment(Shape):
    id: str
    task_id: str
    author: Author
    content: str
    mentions: list[str]
    held: str | None
    stream_id: str | None
    at: float


class Activity(Shape):
    seq: int
    kind: str
    member: str | None
    slug: str | None
    detail: dict[str, Any]
    at: float


class Work(Shape):
    """What an agent said about the task piece by piece, and the run behind it where this server drives the agent."""

    stream_id: str
    run_id: str | None = Field(description="Its run, to be watched and steered under `/v1/tasks`.")
    member: str
    slug: str
    status: str = Field(description="Of the run, where there is one; else `open`, `ended` or `interrupted`.")
    begun_at: float
    ended_at: float | None


class Wake(Shape):
    """Something that an agent that this server drives has to do, or has done."""

    id: str
    project_id: str
    chat_id: str | None
    task_id: str | None
    reason: str
    status: str = Field(description="`queued`, `working`, or how it ended.")
    run_id: str | None
    detail: str | None
    queued_at: float
    ended_at: float | None


def author_of(line: dict[str, Any]) -> Author:
    return Author(id=line["author"], slug=line["author_slug"], type=line["author_type"])


def message_of(line: dict[str, Any]) -> ChatMessage:
    return ChatMessage(
        id=line["id"],
        chat_id=line["chat"],
        project_id=line["project"],
        author=author_of(line),
        content=line["content"],
        mentions=list(names_in(line["mentions"])),
        reply_to=line["reply_to"],
        held=line["held"],
        stream_id=line["stream"],
        seq=line["place"],
        at=line["at"],
    )
