"""What providers send, as bytes: the streams of OpenAI and Anthropic, made from a reply told in plain values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Told:
    """A reply: texts are deltas, one frame each; a call is `(id, name, pieces of its arguments)`."""

    texts: Sequence[str] = ("Hello", " there", ".")
    reasoning: Sequence[str] = ()
    calls: Sequence[tuple[str, str, Sequence[str]]] = ()
    finish: str | None = None
    usage: tuple[int, int] | None = (12, 3)


def openai_stream(told: Told, *, done: bool = True) -> bytes:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": text} for text in told.reasoning]
    deltas += [{"content": text} for text in told.texts]
    for index, (ident, name, pieces) in enumerate(told.calls):
        deltas.append(_tool_call(index, {"name": name, "arguments": ""}, id=ident, type="function"))
        deltas += [_tool_call(index, {"arguments": piece}) for piece in pieces]
    frames = [_chunk(delta, None) for delta in deltas]
    finish = told.finish or ("tool_calls" if told.calls else "stop")
    frames.append(_chunk({}, finish))
    if told.usage is not None:
        counted = {"prompt_tokens": told.usage[0], "completion_tokens": told.usage[1]}
        frames.append({"object": "chat.completion.chunk", "choices": [], "usage": counted})
    return b"".join(map(data_frame, frames)) + (DONE if done else b"")


def openai_unfinished(texts: Iterable[str]) -> bytes:
    """The beginning of a stream, without an end of any kind."""
    return b"".join(data_frame(_chunk({"content": text}, None)) for text in texts)


def anthropic_stream(told: Told) -> bytes:
    given, made = told.usage or (None, None)
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"role": "assistant", "usage": {"input_tokens": given}}},
        {"type": "ping"},
    ]
    blocks: list[tuple[dict[str, Any], str, str, Sequence[str]]] = []
    if told.reasoning:
        blocks.append(({"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", told.reasoning))
    if told.texts:
        blocks.append(({"type": "text", "text": ""}, "text_delta", "text", told.texts))
    for ident, name, pieces in told.calls:
        use = {"type": "tool_use", "id": ident, "name": name, "input": {}}
        blocks.append((use, "input_json_delta", "partial_json", pieces))
    for index, (start, kind, key, texts) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [
            {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: text}} for text in texts
        ]
        events.append({"type": "content_block_stop", "index": index})
    finish = told.finish or ("tool_use" if told.calls else "end_turn")
    events.append({"type": "message_delta", "delta": {"stop_reason": finish}, "usage": {"output_tokens": made}})
    events.append({"type": "message_stop"})
    return b"".join(b"event: %s\n%s" % (event["type"].encode(), data_frame(event)) for event in events)


def data_frame(document: object) -> bytes:
    return b"data: " + json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def _tool_call(index: int, function: dict[str, str], **more: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **more, "function": function}]}


def _chunk(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "told", "choices": [choice]}
