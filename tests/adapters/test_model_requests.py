"""What is sent: all that was asked for, and nothing else."""

from dataclasses import replace
from typing import Any

import pytest
from listening import asking, hear

from quarterdeck.adapters.models.anthropic import AnthropicMessages, messages_document
from quarterdeck.adapters.models.endpoint import Endpoint
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.openai_chat import OPENAI, OPENAI_LABELS, OpenAIChat, can_be_strict, chat_document
from quarterdeck.kernel.parts import Message, ToolCall, ToolSpec
from quarterdeck.ports import ModelRequest, Traits
from quarterdeck.testing.upstream import Answer, Upstream

ALL = Traits(tools=True, schema=True, reasoning=True)
TOOL = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
TALK = (
    Message("system", "Be kind."),
    Message("user", "Read it."),
    Message("assistant", "", calls=(ToolCall("c.1", "read_file", '{"path":"a"}'),)),
    Message("tool", "The text.", call_id="c.1"),
    Message("tool", "More.", call_id="c2"),
    Message("user", "And?"),
)


def chat(request: ModelRequest, base_url: str = "http://127.0.0.1:1/v1", traits: Traits = ALL) -> dict[str, Any]:
    return chat_document(request, Endpoint("m-1", base_url, OPENAI_LABELS), traits)


def test_a_bare_request_is_bare() -> None:
    assert set(chat(asking())) == {"model", "messages", "stream"}
    assert set(messages_document(asking(), "m-1", ALL)) == {"model", "messages", "stream", "system", "max_tokens"}


def test_options_that_were_asked_for_are_sent() -> None:
    request = asking(temperature=0.0, max_output_tokens=5, tools=(TOOL,), schema=SCHEMA, reasoning="off")
    document = chat(request)
    assert document["temperature"] == 0.0
    assert document["max_tokens"] == 5
    assert document["tools"][0]["function"]["name"] == "read_file"
    assert document["response_format"]["json_schema"] == {"name": "reply", "schema": SCHEMA, "strict": True}
    assert document["reasoning_effort"] == "low"
    assert document["chat_template_kwargs"] == {"enable_thinking": False}


def test_openai_itself_has_words_of_its_own() -> None:
    document = chat(asking(max_output_tokens=5, temperature=0.5, reasoning="on"), OPENAI)
    assert document["max_completion_tokens"] == 5
    assert document["reasoning_effort"] == "high"
    assert not {"max_tokens", "chat_template_kwargs", "temperature"} & set(document)


def test_what_a_model_cannot_is_not_asked_of_it() -> None:
    document = chat(asking(schema=SCHEMA, reasoning="on"), traits=Traits())
    assert not {"response_format", "reasoning_effort", "chat_template_kwargs"} & set(document)
    assert "reasoning_effort" not in chat(asking(reasoning="auto"))


def test_a_schema_is_strict_only_if_it_can_be() -> None:
    assert can_be_strict(SCHEMA)
    assert not can_be_strict(SCHEMA | {"required": []})
    assert not can_be_strict({"type": "array", "items": {"type": "object", "properties": {}}})


def test_a_conversation_with_tools_for_openai() -> None:
    messages = chat(ModelRequest(TALK))["messages"]
    assert messages[2]["content"] is None
    assert messages[2]["tool_calls"][0]["function"] == {"name": "read_file", "arguments": '{"path":"a"}'}
    assert messages[3] == {"role": "tool", "content": "The text.", "tool_call_id": "c.1"}


def test_a_conversation_with_tools_for_anthropic() -> None:
    document = messages_document(ModelRequest(TALK), "m-1", ALL)
    assert document["system"] == "Be kind."
    assert [turn["role"] for turn in document["messages"]] == ["user", "assistant", "user"]
    used = document["messages"][1]["content"]
    assert used == [{"type": "tool_use", "id": "c_1", "name": "read_file", "input": {"path": "a"}}]
    answered = document["messages"][2]["content"]
    assert [block["type"] for block in answered] == ["tool_result", "tool_result", "text"]
    assert answered[0]["tool_use_id"] == "c_1"


@pytest.mark.parametrize(
    "messages",
    [(), (Message("system", "x"),), (Message("assistant", "x"),), (Message("user", " "), Message("assistant", "x"))],
)
def test_anthropic_always_hears_a_user_first(messages: tuple[Message, ...]) -> None:
    turns = messages_document(ModelRequest(messages), "m-1", ALL)["messages"]
    assert turns[0]["role"] == "user"
    assert all(turn["content"] for turn in turns)


def test_broken_arguments_do_not_break_the_next_request() -> None:
    call = ToolCall("x", "f", '{"a":')
    turns = messages_document(ModelRequest((Message("assistant", "", calls=(call,)),)), "m-1", ALL)["messages"]
    assert turns[1]["content"][0]["input"] == {}


def test_thinking_is_asked_for_only_where_it_can_be_had() -> None:
    on = asking(reasoning="on", temperature=0.3)
    document = messages_document(on, "m-1", ALL)
    assert document["thinking"]["budget_tokens"] < document["max_tokens"]
    assert "temperature" not in document
    assert "thinking" not in messages_document(asking(reasoning="auto"), "m-1", ALL)
    assert "thinking" not in messages_document(replace(on, schema=SCHEMA), "m-1", ALL)
    assert "thinking" not in messages_document(replace(on, messages=TALK[:4]), "m-1", ALL)
    small = messages_document(replace(on, max_output_tokens=10), "m-1", ALL)
    assert 1024 <= small["thinking"]["budget_tokens"] < small["max_tokens"]


def test_a_schema_is_a_forced_form() -> None:
    document = messages_document(asking(schema=SCHEMA, tools=(TOOL,)), "m-1", ALL)
    assert document["tool_choice"] == {"type": "tool", "name": "reply"}
    assert [tool["name"] for tool in document["tools"]] == ["read_file", "reply"]


async def test_what_goes_over_the_wire(http: Http) -> None:
    async with Upstream() as upstream:
        await hear(OpenAIChat(model="m-1", base_url=upstream.base_url + "/", api_key="k-1", http=http))
        await hear(AnthropicMessages(model="m-1", base_url=upstream.base_url, api_key="k-2", http=http))
        await hear(OpenAIChat(model="m-1", base_url=upstream.base_url, http=http))
        chatted, messaged, bare = upstream.requests
        assert (chatted.path, messaged.path) == ("/v1/chat/completions", "/v1/messages")
        assert chatted.headers["authorization"] == "Bearer k-1"
        assert messaged.headers["x-api-key"] == "k-2"
        assert messaged.headers["anthropic-version"]
        assert "authorization" not in bare.headers
        assert chatted.document["stream_options"] == {"include_usage": True}
        assert not [name for name in chatted.headers if name == "cookie"]


async def test_a_server_that_does_not_count_is_asked_again_without(http: Http) -> None:
    refusal = Answer(b'{"error":{"message":"Unknown field stream_options"}}', 400, kind="application/json")
    async with Upstream(refusal, Answer()) as upstream:
        model = OpenAIChat(model="m-1", base_url=upstream.base_url, http=http)
        assert (await hear(model)).ended
        assert (await hear(model)).ended
        assert ["stream_options" in request.document for request in upstream.requests] == [True, False, False]


async def test_a_long_conversation_and_every_script_arrive_whole(http: Http) -> None:
    text = "中文 ☂ \U0001f986 " * 200_000
    async with Upstream() as upstream:
        assert (await hear(OpenAIChat(model="m-1", base_url=upstream.base_url, http=http), asking(text))).ended
        assert upstream.requests[0].document["messages"][1]["content"] == text


async def test_what_no_json_can_carry_is_refused_here(http: Http) -> None:
    model = OpenAIChat(model="m-1", base_url="http://127.0.0.1:1", http=http)
    heard = await hear(model, asking("half a pair: \ud83d"))
    assert heard.failure is not None
    assert (heard.failure.code, heard.failure.retryable) == ("provider_rejected", False)
