"""A streamed reply in the dialect of Anthropic's messages, without I/O."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from quarterdeck.adapters.models.endpoint import Endpoint
from quarterdeck.adapters.models.failures import by_name, failed
from quarterdeck.kernel.parts import ToolCall, Usage
from quarterdeck.ports import Burst, Ended

Finish = Literal["stop", "length", "tool_calls", "refused"]

FINISHES: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refused",
}
# The parts of a delta that are text, and what kind of text each is.
TEXTS: dict[str, tuple[str, Literal["content", "reasoning"]]] = {
    "text_delta": ("text", "content"),
    "thinking_delta": ("thinking", "reasoning"),
}


class MessagesReply:
    """Folds payloads into bursts, tool calls and usage. The input of the tool `form`, if any, is the content itself."""

    def __init__(self, endpoint: Endpoint, form: str | None = None) -> None:
        self.whole = False
        self.moved = False
        self._endpoint = endpoint
        self._form = form
        self._finish: Finish | None = None
        self._blocks: dict[int, _Block] = {}
        self._input_tokens: int | None = None
        self._output_tokens: int | None = None

    def take(self, payloads: list[bytes]) -> list[Burst]:
        bursts: list[Burst] = []
        self.moved = False
        for payload in payloads:
            try:
                event = orjson.loads(payload)
            except orjson.JSONDecodeError:
                raise failed("provider_malformed", f"{self._endpoint.who} sent a piece that is no JSON.") from None
            if not isinstance(event, dict):
                raise failed("provider_malformed", f"{self._endpoint.who} sent a piece that is no object.")
            if event.get("type") == "content_block_delta":
                self._read_delta(event.get("index"), event.get("delta"), bursts)
            else:
                self._read(event, bursts)
        self.moved = self.moved or bool(bursts)
        return bursts

    def end(self) -> Ended:
        if self._finish is None or not self.whole:
            raise failed("provider_cut", f"{self._endpoint.who} stopped without saying that its reply is whole.")
        calls = tuple(block.call() for _, block in sorted(self._blocks.items()))
        finish = self._finish
        if self._form is not None and finish == "tool_calls" and not calls:
            finish = "stop"  # the form is filled in, which is all that was asked
        return Ended(finish, calls, Usage(self._input_tokens, self._output_tokens))

    def _read(self, event: dict[str, Any], bursts: list[Burst]) -> None:
        """Whatever is no delta. Pings, and kinds that may be added one day, say nothing."""
        kind = event.get("type")
        if kind == "content_block_start":
            self._start_block(event.get("index"), event.get("content_block"), bursts)
        elif kind == "message_start":
            message = event.get("message")
            self._count(message.get("usage") if isinstance(message, dict) else None)
        elif kind == "message_delta":
            self.moved = True
            delta = event.get("delta")
            self._count(event.get("usage"))
            if isinstance(delta, dict) and delta.get("stop_reason"):
                self._finish = FINISHES.get(str(delta["stop_reason"]), "stop")
        elif kind == "message_stop":
            self.whole = True
        elif kind == "error":
            raise by_name(self._endpoint, event.get("error"))

    def _start_block(self, index: object, block: object, bursts: list[Burst]) -> None:
        if not isinstance(block, dict) or not isinstance(index, int):
            return
        kind = block.get("type")
        if kind == "tool_use" and block.get("name") != self._form:
            self.moved = True
            self._blocks[index] = _Block(str(block.get("id") or f"call_{index}"), str(block.get("name") or ""))
        elif kind in ("text", "thinking"):
            _say(bursts, "content" if kind == "text" else "reasoning", block.get(kind))

    def _read_delta(self, index: object, delta: object, bursts: list[Burst]) -> None:
        if not isinstance(delta, dict):
            return
        key, kind = TEXTS.get(str(delta.get("type")), ("partial_json", None))
        text = delta.get(key)
        if kind is not None:
            _say(bursts, kind, text)
        elif isinstance(text, str) and isinstance(index, int):
            self.moved = True
            block = self._blocks.get(index)
            if block is not None:
                block.pieces.append(text)
            elif self._form is not None:
                _say(bursts, "content", text)

    def _count(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        parts = [usage.get(key) for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
        counted = [part for part in parts if isinstance(part, int)]
        if counted:
            self._input_tokens = sum(counted)
        if isinstance(usage.get("output_tokens"), int):
            self._output_tokens = usage["output_tokens"]


class _Block:
    """A tool call that is still arriving."""

    __slots__ = ("id", "name", "pieces")

    def __init__(self, ident: str, name: str) -> None:
        self.id, self.name = ident, name
        self.pieces: list[str] = []

    def call(self) -> ToolCall:
        return ToolCall(self.id, self.name, "".join(self.pieces) or "{}")


def _say(bursts: list[Burst], kind: Literal["content", "reasoning"], text: object) -> None:
    if not isinstance(text, str) or not text:
        return
    if bursts and bursts[-1].kind == kind:
        bursts[-1].texts.append(text)
    else:
        bursts.append(Burst(kind, [text]))
