"""What an expert asks: anything that answers a chat; and our own models made into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from quarterdeck.engine.team.prompts import ROOM
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.parts import Message
from quarterdeck.ports import Burst, Ended, Model, ModelRequest

ROOM_SLIGHT = 2_000
MOST_TOKENS_SLIGHT = 300  # one too small to know when it has said enough is told when


class Reply(Protocol):
    @property
    def content(self) -> str: ...


class Gateway(Protocol):
    async def chat(self, messages: Sequence[Mapping[str, str]], model: str | None = None, **options: Any) -> Reply: ...


@dataclass(frozen=True, slots=True)
class Answer:
    content: str


class ModelGateway:
    """One of our models. `room` is how many characters of the others' work a prompt for it may hold."""

    def __init__(self, model: Model) -> None:
        self._model = model
        slight = model.traits.slight
        self.room = ROOM_SLIGHT if slight else ROOM
        self._most = MOST_TOKENS_SLIGHT if slight else None

    async def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        model: str | None = None,  # noqa: ARG002 - there is only the one
        *,
        temperature: float | None = None,
    ) -> Answer:
        said = tuple(Message(one["role"], one["content"]) for one in messages)  # type: ignore[arg-type]
        content, whole = list[str](), False
        async for event in self._model.stream(ModelRequest(said, (), temperature, self._most)):
            if isinstance(event, Burst):
                content += event.texts if event.kind == "content" else ()
            whole = isinstance(event, Ended)
        if not whole:
            raise ModelFailed("provider_cut", "The model's reply stopped without an end.", retryable=True)
        return Answer("".join(content))
