"""What crosses the network as JSON: the shapes of requests and answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Inbound(BaseModel):
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


class Task(BaseModel):
    task_id: str
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


class TaskEvent(BaseModel):
    seq: int
    at: float
    event_type: str
    payload: dict[str, Any]


class Answer(BaseModel):
    task_id: str
    conversation_id: str
    status: str
    answer: str
    generation_stats: dict[str, Any]
    usage: dict[str, Any]


class Said(BaseModel):
    role: str
    content: str
    status: str
    task_id: str | None
    at: float


class ConversationLine(BaseModel):
    id: str
    title: str
    workspace: str | None
    opened_at: float
    spoken_at: float


class Conversation(ConversationLine):
    messages: list[Said]


class SkillLine(BaseModel):
    name: str
    description: str
    origin: Literal["built_in", "user", "workspace"]


class WholeSkill(SkillLine):
    keywords: list[str]
    body: str


class UsedModel(BaseModel):
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    usd: float | None


class UsedDay(BaseModel):
    day: str
    calls: int
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    usd: float | None
    models: list[UsedModel]


class AuditedCommand(BaseModel):
    event_type: str
    seq: int
    at: float
    payload: dict[str, Any]


class AuditVerdict(BaseModel):
    ok: bool
    count: int
    head_hash: str
    troubles: list[str]


class Stopping(BaseModel):
    task_id: str
    status: Literal["stopping"] = "stopping"
