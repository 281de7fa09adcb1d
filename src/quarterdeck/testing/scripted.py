"""A model that replays a conversation: the stand-in for tests and demos, bound to the same contract as a real one.

A script is a JSON file (or the same in values); whatever is left out is empty, and unknown words are errors:

    {"name": "scripted/demo",
     "traits": {"tools": true, "schema": true, "reasoning": true, "slight": false},
     "turns": [
       {"when": "weather",                      only if the last message of the user contains this
        "told": "sunny",                        only if the last message is a tool's and contains this
        "reasoning": ["Let me ", "see."],       one delta each
        "content": ["It is ", "sunny."],        a plain string is one delta
        "json": {"intent": "answer"},           a reply as JSON text, after the content
        "calls": [{"id": "c1", "name": "read_file", "arguments": {"path": "a.txt"}}],
        "finish": "stop",                       tool_calls, if there are calls
        "usage": {"input_tokens": 5, "output_tokens": 3},
        "pace": 0.02,                           seconds before each burst
        "burst": 1,                             deltas in each
        "fail": {"code": "provider_error", "detail": "Oh no.", "retryable": true, "retry_after": 1, "after": 2},
        "cut": 3,                               break off after so many deltas
        "hang": 3}]}                            say nothing more after so many deltas

A request takes the next of the turns whose `told` or `when` it matches, the first of which in the script counts, else
the next of those without either; the last of them is repeated.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Literal

from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.parts import ToolCall, Usage
from quarterdeck.ports import Burst, Ended, ModelEvent, ModelRequest, Traits

Kind = Literal["content", "reasoning"]
Delta = tuple[Kind, str]


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure after so many deltas."""

    code: str = "provider_error"
    detail: str = "The script says that the model fails here."
    retryable: bool = True
    retry_after: float | None = None
    after: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply, and what goes wrong with it."""

    content: Sequence[str] = ()
    reasoning: Sequence[str] = ()
    calls: Sequence[ToolCall] = ()
    json: Any = None
    finish: Literal["stop", "length", "tool_calls", "refused"] | None = None
    usage: Usage = field(default_factory=Usage)
    pace: float = 0.0
    burst: int = 1
    fail: Failure | None = None
    cut: int | None = None
    hang: int | None = None
    when: str | None = None
    told: str | None = None

    def fits(self, request: ModelRequest) -> bool:
        """Whether it was written for this very request."""
        last = request.messages[-1] if request.messages else None
        if self.told is not None and (last is None or last.role != "tool" or self.told not in last.content):
            return False
        asked = next((message.content for message in reversed(request.messages) if message.role == "user"), "")
        return self.when is None or self.when in asked

    def deltas(self) -> list[Delta]:
        said: list[Delta] = [("reasoning", text) for text in self.reasoning if text]
        said += [("content", text) for text in self.content if text]
        if self.json is not None:
            said.append(("content", json.dumps(self.json, ensure_ascii=False)))
        return said

    def breaks(self) -> tuple[int, ModelFailed | None] | None:
        """After how many deltas this turn breaks, and with what; without a failure it hangs."""
        if self.fail is not None:
            told = self.fail
            failure = ModelFailed(told.code, told.detail, retryable=told.retryable, retry_after=told.retry_after)
            return told.after, failure
        if self.cut is not None:
            return self.cut, ModelFailed("provider_cut", "The script breaks off here.", retryable=True)
        return None if self.hang is None else (self.hang, None)

    def ended(self) -> Ended:
        return Ended(self.finish or ("tool_calls" if self.calls else "stop"), tuple(self.calls), self.usage)


class ScriptedModel:
    """Replays turns. `requests` is everything it was asked."""

    def __init__(self, turns: Sequence[Turn], *, name: str = "scripted/model", traits: Traits | None = None) -> None:
        self._turns = tuple(turns)
        self._name = name
        self._traits = traits or Traits(tools=True, schema=True, reasoning=True)
        self._taken: Counter[tuple[str | None, str | None]] = Counter()
        self.requests: list[ModelRequest] = []

    @classmethod
    def load(cls, path: str | Path) -> ScriptedModel:
        """From a file; a script that makes no sense is a ValueError that says where."""
        script = json.loads(Path(path).read_text("utf-8"))
        if not isinstance(script, dict) or not isinstance(script.get("turns"), list):
            raise ValueError(f"{path} is no script: it has no list of turns.")
        try:
            turns = [_turn(told) for told in script["turns"]]
            traits = Traits(**script["traits"]) if "traits" in script else None
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is no script: {error}.") from None
        return cls(turns, name=script.get("name", f"scripted/{Path(path).stem}"), traits=traits)

    @property
    def name(self) -> str:
        return self._name

    @property
    def traits(self) -> Traits:
        return self._traits

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(request)
        turn = self._next(request)
        breaks = turn.breaks()
        said = turn.deltas() if breaks is None else turn.deltas()[: breaks[0]]
        for burst in _bursts(said, turn.burst):
            if turn.pace:
                await asyncio.sleep(turn.pace)
            yield burst
        if breaks is None:
            yield turn.ended()
        elif breaks[1] is not None:
            raise breaks[1]
        else:
            await asyncio.Event().wait()

    async def aclose(self) -> None:
        """It holds nothing."""

    def _next(self, request: ModelRequest) -> Turn:
        written = [turn for turn in self._turns if (turn.when, turn.told) != (None, None)]
        first = next((turn for turn in written if turn.fits(request)), None)
        key = (None, None) if first is None else (first.when, first.told)
        turns = [turn for turn in self._turns if (turn.when, turn.told) == key]
        if not turns:
            raise ModelFailed("provider_rejected", "The script has no turn for this message.", retryable=False)
        place = min(self._taken[key], len(turns) - 1)
        self._taken[key] += 1
        return turns[place]


def _bursts(said: Sequence[Delta], size: int) -> Iterator[Burst]:
    for kind, run in groupby(said, key=lambda delta: delta[0]):
        texts = (text for _, text in run)
        while several := list(islice(texts, max(1, size))):
            yield Burst(kind, several)


def _turn(told: Mapping[str, Any]) -> Turn:
    told = dict(told)
    for key in ("content", "reasoning"):
        if isinstance(told.get(key), str):
            told[key] = [told[key]]
    told["calls"] = [_call(index, call) for index, call in enumerate(told.get("calls", ()))]
    if "usage" in told:
        told["usage"] = Usage(**told["usage"])
    if "fail" in told:
        told["fail"] = Failure(**told["fail"])
    if told.get("hang") is True:
        told["hang"] = 0
    return Turn(**told)


def _call(index: int, told: Mapping[str, Any]) -> ToolCall:
    arguments = told.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(told.get("id", f"call_{index}"), told["name"], text)
