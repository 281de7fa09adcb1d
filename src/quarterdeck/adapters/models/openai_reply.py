"""A streamed reply in the dialect of OpenAI's chat completions, without I/O, and lenient where its speakers differ."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from quarterdeck.adapters.models.endpoint import Endpoint
from quarterdeck.adapters.models.failures import by_name, failed
from quarterdeck.kernel.parts import ToolCall, Usage
from quarterdeck.ports import Burst, Ended

Finish = Literal["stop", "length", "tool_calls", "refused"]

DONE = b"[DONE]"
PLAIN = frozenset({"role", "content"})
FINISHES: dict[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refused",
}
# Some servers report their own trouble as a reason to finish.
NOT_FINISHES = frozenset({"error", "abort", "cancelled", "insufficient_system_resource"})


class ChatReply:
    """Folds payloads into bursts, tool calls, usage and, once it was said, the reason to finish."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.whole = False
        self.moved = False
        self._endpoint = endpoint
        self._finish: Finish | None = None
        self._usage = Usage()
        self._calls: dict[int, _Call] = {}

    def take(self, payloads: list[bytes]) -> list[Burst]:
        if payloads and payloads[-1] == DONE:
            self.whole = True
            payloads = payloads[:-1]
        try:
            return self.absorb([orjson.loads(payload) for payload in payloads])
        except orjson.JSONDecodeError:
            return self.absorb(self._until_done(payloads))

    def absorb(self, chunks: list[Any]) -> list[Burst]:
        """The chunks of one read. Nearly all are one piece of content and nothing else, and take the short way."""
        bursts: list[Burst] = []
        texts: list[str] | None = None
        self.moved = False
        for chunk in chunks:
            try:
                choice = chunk["choices"][0]
                delta = choice["delta"]
                text = delta["content"]
                plain = (
                    type(text) is str and choice["finish_reason"] is None and (len(delta) == 1 or delta.keys() <= PLAIN)
                )
            except (LookupError, TypeError, AttributeError):
                plain = False
            if not plain:
                self._read(chunk, bursts)
                texts = None
            elif texts is not None and text:
                texts.append(text)
            elif text:
                texts = _say(bursts, "content", text)
        self.moved = self.moved or bool(bursts)
        return bursts

    def end(self) -> Ended:
        if self._finish is None:
            detail = f"{self._endpoint.who} stopped without saying that its reply is whole."
            raise failed("provider_cut", detail)
        calls = tuple(call.done(index) for index, call in sorted(self._calls.items()))
        finish = "tool_calls" if calls and self._finish == "stop" else self._finish
        return Ended(finish, calls, self._usage)

    def _until_done(self, payloads: list[bytes]) -> list[Any]:
        chunks = []
        for payload in payloads:
            if payload.strip() == DONE:
                self.whole = True
                break
            try:
                chunks.append(orjson.loads(payload))
            except orjson.JSONDecodeError:
                raise failed("provider_malformed", f"{self._endpoint.who} sent a piece that is no JSON.") from None
        return chunks

    def _read(self, chunk: Any, bursts: list[Burst]) -> None:
        """Anything that is not plain. What we do not know is passed over; what is broken ends the attempt."""
        if not isinstance(chunk, dict):
            raise failed("provider_malformed", f"{self._endpoint.who} sent a piece that is no object.")
        if chunk.get("error"):
            raise by_name(self._endpoint, chunk["error"])
        if isinstance(chunk.get("usage"), dict):
            self.moved = True
            self._usage = _usage(chunk["usage"])
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._read_delta(delta, bursts)
        if choice.get("finish_reason"):
            self._read_finish(choice["finish_reason"])

    def _read_delta(self, delta: dict[str, Any], bursts: list[Burst]) -> None:
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if thought and isinstance(thought, str):
            _say(bursts, "reasoning", thought)
        for key in ("content", "refusal"):
            text = delta.get(key)
            if text and isinstance(text, str):
                _say(bursts, "content", text)
        if delta.get("refusal"):
            self._finish = "refused"
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                self._read_call(call)

    def _read_call(self, piece: dict[str, Any]) -> None:
        self.moved = True
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        ident, name, arguments = piece.get("id"), function.get("name"), function.get("arguments")
        index = piece.get("index")
        last = max(self._calls, default=-1)
        if not isinstance(index, int):
            index = last + 1 if ident or last < 0 else last
        known = self._calls.get(index)
        if known and name and ident and known.id and ident != known.id:
            # Another call under a number that is taken: some servers number all of them 0.
            index, known = last + 1, None
        call = known or self._calls.setdefault(index, _Call())
        call.add(ident, name, arguments)

    def _read_finish(self, reason: object) -> None:
        self.moved = True
        said = str(reason).lower()
        if said in NOT_FINISHES:
            raise failed("provider_error", f"{self._endpoint.who} gave up in the middle of its reply ({said}).")
        if self._finish != "refused":
            self._finish = FINISHES.get(said, "stop")


class _Call:
    """A tool call that is still arriving."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = self.name = ""
        self.arguments: list[str] = []

    def add(self, ident: object, name: object, arguments: object) -> None:
        if isinstance(ident, str) and ident:
            self.id = ident
        if isinstance(name, str) and name:
            self.name = name
        if isinstance(arguments, dict):
            arguments = orjson.dumps(arguments).decode()
        if isinstance(arguments, str):
            self.arguments.append(arguments)

    def done(self, index: int) -> ToolCall:
        return ToolCall(self.id or f"call_{index}", self.name, "".join(self.arguments) or "{}")


def _say(bursts: list[Burst], kind: Literal["content", "reasoning"], text: str) -> list[str]:
    """Add a text to the run it belongs to and return that run: kinds keep the order in which they came."""
    if bursts and bursts[-1].kind == kind:
        texts = bursts[-1].texts
        texts.append(text)
    else:
        texts = [text]
        bursts.append(Burst(kind, texts))
    return texts


def _usage(said: dict[str, Any]) -> Usage:
    details = said.get("completion_tokens_details")
    thought = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return Usage(_count(said.get("prompt_tokens")), _count(said.get("completion_tokens")), _count(thought))


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
