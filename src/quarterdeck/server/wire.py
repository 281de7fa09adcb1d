"""What crosses the network as JSON: the shapes of requests and answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    """Made ready when it is first used: most servers use few of them, and all together they take megabytes."""

    model_config = ConfigDict(defer_build=True)


class Inbound(Shape):
    """Strict: what we do not know is refused by name, so that a typo is not silently ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ChatRequest(Inbound):
    message: str = Field(description="What the user says.")
    workspace: str | None = Field(None, max_length=4096, description="The folder the run may work in.")
    conversation_id: str | None = Field(
        None, description="Goes on with a conversation; an unknown id is your own name for a new one."
    )
    reasoning: Literal["on", "off", "auto"] | None = Field(None, description="Whether the model should think first.")
    loop: Literal["roles", "native"] = Field("roles", description="`roles` works with any model, however small.")
    debug: bool = False
    deadline_s: float | None = Field(None, gt=0, le=86_400, strict=False, description="When to give up.")


class StopRequest(Inbound):
    reason: str = Field("", max_length=1000)


class Task(Shape):
    task_id: str
    tenant_id: str
    conversation_id: str
    status: str
    stage: str | None
    message: str
    answer: str
    model: str | None
    code: str | None
    detail: str | None
    requested_at: float
    finished_at: float | None


class TaskEvent(Shape):
    seq: int
    at: float
    event_type: str
    payload: dict[str, Any]


class Answer(Shape):
    task_id: str
    conversation_id: str
    status: str
    answer: str
    generation_stats: dict[str, Any]
    usage: dict[str, Any]


class Said(Shape):
    role: str
    content: str
    status: str
    task_id: str | None
    at: float


class ConversationLine(Shape):
    id: str
    tenant_id: str
    employee_id: str | None = Field(None, description="Who answers, where it is somebody in particular.")
    title: str
    workspace: str | None
    opened_at: float
    spoken_at: float


class Conversation(ConversationLine):
    messages: list[Said]


class SkillLine(Shape):
    name: str
    description: str
    origin: Literal["built_in", "user", "workspace"]


class WholeSkill(SkillLine):
    keywords: list[str]
    body: str


class UsedModel(Shape):
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    usd: float | None


class UsedDay(Shape):
    day: str
    calls: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    usd: float | None
    models: list[UsedModel]


class AuditedCommand(Shape):
    event_type: str
    seq: int
    at: float
    payload: dict[str, Any]


class AuditVerdict(Shape):
    ok: bool
    count: int
    head_hash: str
    troubles: list[str]


class Stopping(Shape):
    task_id: str
    status: Literal["stopping"] = "stopping"


MemoryType = Literal["fact", "preference", "note"]
MemoryScope = Literal["global", "workspace", "conversation"]
Importance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, description="From 0 to 1.")]


class NewMemory(Inbound):
    text: str = Field(description="What to remember, to be understood by itself.")
    workspace: str | None = Field(None, max_length=4096, description="The folder it belongs to.")
    conversation_id: str | None = Field(None, description="The conversation it belongs to.")
    scope: MemoryScope | None = Field(None, description="As narrow as what is named, if it is left out.")
    memory_type: MemoryType = "note"
    importance: Importance = 0.5


class MemoryChange(Inbound):
    text: str | None = None
    memory_type: MemoryType | None = None
    importance: Importance | None = None


class Memory(Shape):
    id: str
    text: str
    memory_type: str
    scope: str
    workspace: str | None
    conversation_id: str | None
    importance: float
    state: Literal["active", "proposed"]
    source_run: str | None
    use_count: int
    used_at: float | None
    created_at: float
    edited_at: float | None
    score: float | None = Field(None, description="How well it fits the question, where one was asked.")


class Memories(Shape):
    results: list[Memory]


class Lesson(Shape):
    id: str
    text: str
    state: Literal["proposed", "accepted", "rejected"]
    source_run: str
    created_at: float
    decided_at: float | None


class Reflecting(Shape):
    task_id: str
    status: Literal["reflecting"] = "reflecting"
