"""Whose model answers a tenant: the one place where that is chosen.

`get_provider_for_tenant` is looked up here by name at each call, so that whoever puts another function in its place is
asked instead. What it returns needs nothing but `chat_stream(messages)`, an async generator of texts.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.parts import Message, Persona
from quarterdeck.ports import Burst, Ended, Model, ModelEvent, ModelRequest, Traits


class Chooser(Protocol):
    """Knows tenants' settings and keys."""

    async def choose(self, tenant: TenantId, persona: Persona | None) -> Model:
        """Raises `ModelFailed` with the one sentence that helps where there is no model to be had."""


class ChatStream(Protocol):
    def chat_stream(self, messages: Sequence[Mapping[str, str]]) -> AsyncIterator[str]:
        """The reply, piece by piece."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A model that was chosen for a tenant."""

    model: Model

    async def chat_stream(self, messages: Sequence[Mapping[str, Any]]) -> AsyncGenerator[str, None]:
        request = ModelRequest(tuple(Message(each["role"], each["content"]) for each in messages))
        async for event in self.model.stream(request):
            if isinstance(event, Burst) and event.kind == "content":
                for text in event.texts:
                    yield text


async def get_provider_for_tenant(tenant: TenantId, chooser: Chooser, persona: Persona | None = None) -> ChatStream:
    """The tenant's own, in the order of its keys; the server's default only where the operator allows it."""
    return Provider(await chooser.choose(tenant, persona))


async def model_for_tenant(tenant: TenantId, chooser: Chooser, persona: Persona | None = None) -> Model:
    provider = await get_provider_for_tenant(tenant, chooser, persona)
    return provider.model if isinstance(provider, Provider) else StreamedModel(provider)


class StreamedModel:
    """Keeps the `Model` port for whatever has `chat_stream(messages)`."""

    traits = Traits()

    def __init__(self, provider: ChatStream) -> None:
        self._provider = provider
        self.name = f"custom/{type(provider).__name__}"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        messages = [{"role": each.role, "content": each.content} for each in request.messages]
        async for text in self._provider.chat_stream(messages):
            if text:
                yield Burst("content", [text])
        yield Ended("stop")

    async def aclose(self) -> None:
        """It holds nothing of ours."""
