"""Listening to a model: all it says, with bounded patience."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.parts import Message
from quarterdeck.ports import Burst, Ended, Model, ModelEvent, ModelRequest

BOUND_S = 20


def asking(text: str = "Hi", **options: object) -> ModelRequest:
    return ModelRequest((Message("system", "Be kind."), Message("user", text)), **options)  # type: ignore[arg-type]


@dataclass
class Heard:
    """What came of one call."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    bursts: int = 0
    ended: Ended | None = None
    failure: ModelFailed | None = None

    @property
    def text(self) -> str:
        return "".join(self.content)

    def add(self, event: ModelEvent) -> None:
        assert self.ended is None, "something came after the end"
        if isinstance(event, Ended):
            self.ended = event
            return
        assert isinstance(event, Burst)
        assert event.texts
        assert all(event.texts)
        self.bursts += 1
        self.kinds.append(event.kind)
        (self.content if event.kind == "content" else self.reasoning).extend(event.texts)


async def hear(model: Model, request: ModelRequest | None = None) -> Heard:
    return await follow(model.stream(request or asking()))


async def follow(events: AsyncIterator[ModelEvent]) -> Heard:
    heard = Heard()
    async with asyncio.timeout(BOUND_S):
        try:
            async for event in events:
                heard.add(event)
        except ModelFailed as failure:
            assert heard.ended is None
            heard.failure = failure
    assert (heard.ended is None) != (heard.failure is None), "a reply ends in exactly one way"
    return heard
