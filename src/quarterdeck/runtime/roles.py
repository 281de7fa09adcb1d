"""Roles: the models of a run by what they are asked for, with the options that were asked for and no others."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from quarterdeck.engine.run import directive
from quarterdeck.events.run import Role
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.parts import Message, Persona, Reasoning
from quarterdeck.ports import Burst, Ended, Model, ModelRequest

FORMS: Mapping[str, Mapping[str, Any]] = {"action": directive.form()}


class Models(Protocol):
    """Which model serves a role."""

    async def model(self, role: Role) -> Model:
        """Raises `ModelFailed` with the sentence that says how to get one where there is none."""


class Providers(Protocol):
    """Whose models a run is carried out with."""

    def of(self, tenant: TenantId, persona: Persona | None = None) -> Models:
        """Those of this tenant, and among them the one that the persona asks for. Finding out is left to `model`."""


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """A whole reply. `raw` is what is known beside the text: finish, usage."""

    role: str
    model: str
    content: str
    reasoning_content: str | None
    raw: dict[str, Any]
    latency_ms: float


class ModelClient:
    """Chat by role. Messages are plain `{role, content}` dictionaries, as clients of old know them. `forms` are the
    schemas that roles are held to."""

    def __init__(self, models: Models, forms: Mapping[str, Mapping[str, Any]] = FORMS) -> None:
        self._models, self._forms = models, forms

    async def chat(
        self,
        role: Role,
        messages: Sequence[Mapping[str, str]],
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        response_format: Mapping[str, Any] | None = None,
    ) -> ModelResponse:
        """One whole reply. A role with a form of its own is held to it where the model takes a schema."""
        begun = time.perf_counter()
        model = await self._models.model(role)
        schema = response_format or (self._forms.get(role) if model.traits.schema else None)
        request = ModelRequest(_messages(messages), (), temperature, max_output_tokens, schema)
        said: dict[str, list[str]] = {"content": [], "reasoning": []}
        raw: dict[str, Any] = {}
        async for event in model.stream(request):
            if isinstance(event, Burst):
                said[event.kind] += event.texts
            else:
                raw = _raw(event)
        if not raw:
            raise unfinished()
        reasoning = "".join(said["reasoning"]) or None
        spent = (time.perf_counter() - begun) * 1000
        return ModelResponse(role, model.name, "".join(said["content"]), reasoning, raw, spent)

    async def stream_chat(
        self,
        role: Role,
        messages: Sequence[Mapping[str, str]],
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        reasoning: Reasoning | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """`{type: reasoning_delta | content_delta, delta}` as they come, and `{type: reply_finished, …}` last."""
        model = await self._models.model(role)
        request = ModelRequest(_messages(messages), (), temperature, max_output_tokens, None, reasoning)
        async for event in model.stream(request):
            if isinstance(event, Ended):
                yield {"type": "reply_finished", "ended": event}
                return
            name = f"{event.kind}_delta"
            for text in event.texts:
                yield {"type": name, "delta": text}
        raise unfinished()


def unfinished() -> ModelFailed:
    """A model that stops without having said that its reply is whole: what there is of it is not an answer."""
    return ModelFailed("provider_cut", "The model's reply stopped without an end.", retryable=True)


def plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


def _messages(messages: Sequence[Mapping[str, str]]) -> tuple[Message, ...]:
    return tuple(Message(message["role"], message["content"]) for message in messages)  # type: ignore[arg-type]


def _raw(ended: Ended) -> dict[str, Any]:
    return {"finish": ended.finish, "usage": ended.usage}
