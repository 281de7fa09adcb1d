"""One attempt at a model: its text pours into the log as it comes, and what it came to is one event."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from quarterdeck.engine.run import CallModel
from quarterdeck.engine.run.stats import Sample
from quarterdeck.events.base import Event
from quarterdeck.events.run import AttemptBroke, AttemptFinished
from quarterdeck.kernel.errors import ModelFailed, Problem
from quarterdeck.kernel.parts import Usage
from quarterdeck.log.spout import Spout
from quarterdeck.ports import Burst, Ended, ModelEvent, ModelRequest
from quarterdeck.runtime.roles import ModelClient, Models, plain, unfinished

AHEAD = 4096  # deltas a model may be ahead of the disk
CAUGHT_UP = 1024


@dataclass(slots=True)
class Measured:
    """What an attempt said and when its deltas came."""

    begun: float = field(default_factory=time.perf_counter)
    samples: list[Sample] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def seconds(self) -> float:
        return time.perf_counter() - self.begun


class Caller:
    """Carries out `CallModel`. Knows the two ways to a model, and nothing of what follows."""

    def __init__(self, models: Models) -> None:
        self._models, self._client = models, ModelClient(models)

    async def model_name(self, call: CallModel) -> str:
        """Who will be called; a missing model is not told here but by the attempt."""
        try:
            return (await self._models.model(call.role)).name
        except Exception:  # noqa: BLE001 - the attempt meets it again, and says so
            return "none"

    async def answerer(self) -> tuple[str, bool]:
        """The model that answers, and whether it is too small to be asked for decisions about tools."""
        try:
            model = await self._models.model("thinker")
        except Exception:  # noqa: BLE001 - the attempt meets it again, and says so
            return "none", False
        return model.name, model.traits.slight

    async def carry_out(self, call: CallModel, spout: Spout, measured: Measured, *, native: bool) -> Event:
        try:
            if call.role != "thinker":
                return await self._whole(call, measured)
            events = await self._native(call) if native else self._by_role(call)
            return await self._streamed(call, events, spout, measured)
        except ModelFailed as failed:
            return _broke(call, failed)
        except Problem:  # the log refused: not the model's doing
            raise
        except asyncio.CancelledError:
            if was_cancelled():
                raise
            return _broke(call, ModelFailed("model_error", "The model's own code was cancelled.", retryable=True))
        except Exception as error:  # noqa: BLE001 - whatever a model's code does, the run gets to hear of it
            return _broke(call, ModelFailed("model_error", f"{type(error).__name__}: {error}", retryable=False))

    async def _whole(self, call: CallModel, measured: Measured) -> Event:
        client = self._client if call.form is None else ModelClient(self._models, {call.role: call.form})
        response = await client.chat(call.role, plain(call.messages))
        raw: dict[str, Any] = response.raw or {}
        return AttemptFinished(
            call.attempt,
            call.role,
            raw.get("finish", "stop"),
            text=response.content,
            usage=raw.get("usage") or Usage(),
            latency_ms=round(measured.seconds() * 1000, 1),
        )

    async def _streamed(
        self, call: CallModel, events: AsyncIterator[ModelEvent], spout: Spout, measured: Measured
    ) -> Event:
        ended, samples = None, measured.samples
        async with aclosing(events):  # type: ignore[type-var]
            async for event in events:
                if isinstance(event, Ended):
                    ended = event
                    break
                spout.pour(event.kind, call.attempt, event.texts)
                samples.append(Sample(measured.seconds(), len(event.texts)))
                if event.kind == "content":
                    measured.said += event.texts
                if spout.waiting > AHEAD:
                    await spout.below(CAUGHT_UP)
        if ended is None:
            raise unfinished()
        return AttemptFinished(
            call.attempt,
            call.role,
            ended.finish,
            sha256=hashlib.sha256("".join(measured.said).encode()).hexdigest(),
            calls=ended.calls,
            usage=ended.usage,
            latency_ms=round(measured.seconds() * 1000, 1),
        )

    async def _native(self, call: CallModel) -> AsyncIterator[ModelEvent]:
        model = await self._models.model(call.role)
        request = ModelRequest(call.messages, call.tools, call.temperature, reasoning=call.reasoning)
        return model.stream(request)

    async def _by_role(self, call: CallModel) -> AsyncIterator[ModelEvent]:
        """A client that streams no end of its own has ended when it stops; ours raises where the model gave none."""
        wanted = {"reasoning": call.reasoning, "temperature": call.temperature}
        asked: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        async with aclosing(self._client.stream_chat(call.role, plain(call.messages), **asked)) as said:  # type: ignore[type-var]
            async for piece in said:
                kind = piece["type"]
                if kind == "reply_finished":
                    yield piece["ended"]
                    return
                elif piece["delta"]:
                    yield Burst("content" if kind == "content_delta" else "reasoning", [piece["delta"]])
        yield Ended("stop")


def was_cancelled() -> bool:
    """Whether somebody cancelled this very task; a model's or a tool's code may also raise the error by itself."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _broke(call: CallModel, failed: ModelFailed) -> AttemptBroke:
    return AttemptBroke(call.attempt, call.role, failed.code, failed.detail, failed.retryable, failed.retry_after)
