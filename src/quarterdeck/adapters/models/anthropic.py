"""Anthropic's messages, streamed."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

import orjson

from quarterdeck.adapters.models.anthropic_reply import MessagesReply
from quarterdeck.adapters.models.calls import Caller, relay
from quarterdeck.adapters.models.endpoint import Endpoint, Labels
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.kernel.parts import Message, ToolCall
from quarterdeck.ports import ModelEvent, ModelRequest, Traits

ANTHROPIC = "https://api.anthropic.com"
ANTHROPIC_LABELS = Labels("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
VERSION = "2023-06-01"

# A reply to a schema is made by forcing a tool of this name: unlike newer ways, every model of theirs knows it.
FORM = "reply"
MOST_OUTPUT = 8192
THINKING = 4096
LEAST_THINKING = 1024


class AnthropicMessages:
    """One model behind one endpoint."""

    def __init__(
        self,
        *,
        model: str,
        base_url: str = ANTHROPIC,
        api_key: str | None = None,
        http: Http | None = None,
        patience: Patience | None = None,
        traits: Traits | None = None,
        labels: Labels = ANTHROPIC_LABELS,
    ) -> None:
        endpoint = Endpoint(model, base_url.rstrip("/").removesuffix("/v1"), labels, api_key)
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "accept-encoding": "identity",
            "anthropic-version": VERSION,
        }
        if api_key:
            headers["x-api-key"] = api_key
        self._caller = Caller(endpoint, http or Http(), patience or Patience(), headers)
        self._traits = traits or Traits(tools=True, schema=True, reasoning=True)

    @property
    def name(self) -> str:
        return self._caller.endpoint.name

    @property
    def traits(self) -> Traits:
        return self._traits

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        document = messages_document(request, self._caller.endpoint.model, self._traits)
        form = FORM if "tool_choice" in document else None
        ask = partial(self._caller.ask, "/v1/messages", document)
        return relay(ask, MessagesReply(self._caller.endpoint, form), self._caller)

    async def aclose(self) -> None:
        await self._caller.http.aclose()


def messages_document(request: ModelRequest, model: str, traits: Traits) -> dict[str, Any]:
    """The body of a request. Only the limit on output is sent unasked, because it must be."""
    document: dict[str, Any] = {
        "model": model,
        "messages": _turns(request.messages),
        "max_tokens": request.max_output_tokens or MOST_OUTPUT,
        "stream": True,
    }
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    if system:
        document["system"] = system
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.parameters or {"type": "object", "properties": {}},
        }
        for tool in request.tools
    ]
    if request.schema is not None:
        tools.append({"name": FORM, "description": "Give your reply here.", "input_schema": request.schema})
        document["tool_choice"] = {"type": "tool", "name": FORM}
    if tools:
        document["tools"] = tools
    if _may_think(request, traits):
        document["max_tokens"] = max(document["max_tokens"], 2 * LEAST_THINKING)
        budget = min(THINKING, document["max_tokens"] // 2)
        document["thinking"] = {"type": "enabled", "budget_tokens": budget}
    elif request.temperature is not None:
        document["temperature"] = min(request.temperature, 1.0)
    return document


def _may_think(request: ModelRequest, traits: Traits) -> bool:
    """Thinking excludes forced tools, and after a tool's answer it wants its earlier thoughts back, which we drop."""
    if request.reasoning != "on" or not traits.reasoning or request.schema is not None:
        return False
    return not request.messages or request.messages[-1].role != "tool"


def _turns(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Turns in strict alternation, the user's first, none of them empty: anything else is refused."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        blocks = _blocks(message)
        role = "assistant" if message.role == "assistant" else "user"
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    if not turns or turns[0]["role"] == "assistant":
        turns.insert(0, {"role": "user", "content": [{"type": "text", "text": "Go on."}]})
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.role == "system":
        return []
    if message.role == "tool":
        return [{"type": "tool_result", "tool_use_id": _ident(message.call_id or ""), "content": message.content}]
    text = [{"type": "text", "text": message.content}] if message.content.strip() else []
    return text + [_use(call) for call in message.calls]


def _use(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        arguments = None
    given = arguments if isinstance(arguments, dict) else {}
    return {"type": "tool_use", "id": _ident(call.id), "name": call.name, "input": given}


def _ident(ident: str) -> str:
    """Ids that another provider gave may have signs that this one refuses."""
    return re.sub(r"[^-\w]", "_", ident, flags=re.ASCII) or "call"
