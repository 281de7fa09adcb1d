"""Any server that speaks OpenAI's chat completions, streamed: OpenAI itself, and most others."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Any

import aiohttp

from quarterdeck.adapters.models.calls import Caller, relay
from quarterdeck.adapters.models.endpoint import Endpoint, Labels
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.openai_reply import ChatReply
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.parts import Message, ToolSpec
from quarterdeck.ports import ModelEvent, ModelRequest, Traits

OPENAI = "https://api.openai.com/v1"
OPENAI_HOST = "api.openai.com"
OPENAI_LABELS = Labels("openai", "OPENAI_API_KEY", "OPENAI_BASE_URL")

# The least effort every reasoning model takes is "low": "none" and "minimal" are known to some only.
EFFORTS = {"on": "high", "off": "low"}


class OpenAIChat:
    """One model behind one endpoint."""

    def __init__(
        self,
        *,
        model: str,
        base_url: str = OPENAI,
        api_key: str | None = None,
        http: Http | None = None,
        patience: Patience | None = None,
        traits: Traits | None = None,
        labels: Labels = OPENAI_LABELS,
    ) -> None:
        endpoint = Endpoint(model, base_url, labels, api_key)
        headers = {"content-type": "application/json", "accept": "text/event-stream", "accept-encoding": "identity"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        self._caller = Caller(endpoint, http or Http(), patience or Patience(), headers)
        self._traits = traits or Traits(tools=True, schema=True)
        self._counts_usage = True

    @property
    def name(self) -> str:
        return self._caller.endpoint.name

    @property
    def traits(self) -> Traits:
        return self._traits

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        return relay(partial(self._ask, request), ChatReply(self._caller.endpoint), self._caller)

    async def aclose(self) -> None:
        await self._caller.http.aclose()

    async def _ask(self, request: ModelRequest) -> aiohttp.ClientResponse:
        document = chat_document(request, self._caller.endpoint, self._traits)
        if not self._counts_usage:
            return await self._caller.ask("/chat/completions", document)
        try:
            return await self._caller.ask("/chat/completions", document | {"stream_options": {"include_usage": True}})
        except ModelFailed as failure:
            # Not a second attempt at the reply: an older server did not begin one, for a word it does not know.
            if failure.code != "provider_rejected" or "stream_options" not in failure.detail:
                raise
        self._counts_usage = False
        return await self._caller.ask("/chat/completions", document)


def chat_document(request: ModelRequest, endpoint: Endpoint, traits: Traits) -> dict[str, Any]:
    """The body of a request, with what was asked for and nothing else."""
    at_openai = endpoint.host == OPENAI_HOST
    document: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
    }
    if request.tools:
        document["tools"] = [_tool(tool) for tool in request.tools]
    if request.temperature is not None and not (at_openai and traits.reasoning):
        document["temperature"] = request.temperature  # OpenAI's reasoning models refuse to be told
    if request.max_output_tokens is not None:
        document["max_completion_tokens" if at_openai else "max_tokens"] = request.max_output_tokens
    if request.schema is not None and traits.schema:
        reply = {"name": "reply", "schema": request.schema, "strict": can_be_strict(request.schema)}
        document["response_format"] = {"type": "json_schema", "json_schema": reply}
    if request.reasoning in EFFORTS and traits.reasoning:
        document["reasoning_effort"] = EFFORTS[request.reasoning]
        if not at_openai:
            document["chat_template_kwargs"] = {"enable_thinking": request.reasoning == "on"}
    return document


def can_be_strict(schema: object) -> bool:
    """Whether OpenAI takes a schema as strict: every object in it closed, and all of its properties required."""
    if isinstance(schema, list):
        return all(map(can_be_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        closed = schema.get("additionalProperties") is False
        if not closed or set(schema.get("required", ())) != set(properties):
            return False
    return all(map(can_be_strict, schema.values()))


def _message(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        said["content"] = message.content or None
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.call_id is not None:
        said["tool_call_id"] = message.call_id
    return said


def _tool(tool: ToolSpec) -> dict[str, Any]:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }
