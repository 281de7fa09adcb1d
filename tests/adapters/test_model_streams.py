"""The dialects without a socket: what each stream means, and that no way of cutting it means anything else."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.adapters.models.anthropic import ANTHROPIC_LABELS
from quarterdeck.adapters.models.anthropic_reply import MessagesReply
from quarterdeck.adapters.models.calls import Reply
from quarterdeck.adapters.models.endpoint import Endpoint
from quarterdeck.adapters.models.openai_reply import ChatReply
from quarterdeck.adapters.models.sse import SseDecoder
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.parts import ToolCall, Usage
from quarterdeck.ports import Ended
from quarterdeck.testing.wire import DONE, Told, anthropic_stream, data_frame, openai_stream

ENDPOINT = Endpoint("m-1", "http://127.0.0.1:1", ANTHROPIC_LABELS)
CALLS = (("c1", "read_file", ('{"path"', ': "a', '.txt"}')), ("c2", "list_files", ()))
TOLD = Told(texts=("Grüß", " 中文", " 🦆"), reasoning=("Hm", " …"), calls=CALLS)
EXPECTED_CALLS = (ToolCall("c1", "read_file", '{"path": "a.txt"}'), ToolCall("c2", "list_files", "{}"))

STREAMS = {"openai": openai_stream(TOLD), "anthropic": anthropic_stream(TOLD)}
dialects = pytest.mark.parametrize("dialect", ["openai", "anthropic"])

Heard = tuple[list[tuple[str, str]], Ended]


def reply_in(dialect: str) -> Reply:
    return ChatReply(ENDPOINT) if dialect == "openai" else MessagesReply(ENDPOINT)


def told(dialect: str, packets: list[bytes]) -> Heard:
    """What the relay does, without waiting for anything."""
    decoder, reply = SseDecoder(), reply_in(dialect)
    said: list[tuple[str, str]] = []
    for packet in packets:
        for burst in reply.take(decoder.feed(packet)):
            assert burst.texts
            said += [(burst.kind, text) for text in burst.texts]
        if reply.whole:
            break
    return said, reply.end()


def outcome(dialect: str, stream: bytes) -> Heard | ModelFailed:
    try:
        return told(dialect, [stream])
    except ModelFailed as failure:
        return failure


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in zip(edges, edges[1:], strict=False)]  # noqa: RUF007


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    return data_frame({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})


@dialects
def test_a_whole_stream_is_understood(dialect: str) -> None:
    said, ended = told(dialect, [STREAMS[dialect]])
    assert said == [("reasoning", text) for text in TOLD.reasoning] + [("content", text) for text in TOLD.texts]
    assert ended == Ended("tool_calls", EXPECTED_CALLS, Usage(12, 3))


@dialects
@given(places=st.lists(st.integers(0, 10**6), max_size=20))
def test_cut_anywhere_it_means_the_same(dialect: str, places: list[int]) -> None:
    assert told(dialect, cut(STREAMS[dialect], places)) == told(dialect, [STREAMS[dialect]])


@dialects
def test_ended_early_at_any_byte_it_is_never_called_whole(dialect: str) -> None:
    """OpenAI's reply is whole with its finish reason: only what is counted may still be missing."""
    stream = STREAMS[dialect]
    whole = told(dialect, [stream])
    said_so = stream.index(b'"tool_calls"}' if dialect == "openai" else b'"message_stop"')
    for end in range(len(stream)):
        early = outcome(dialect, stream[:end])
        if isinstance(early, ModelFailed):
            assert (early.code, early.retryable) == ("provider_cut", True)
        else:
            assert end > said_so
            assert early[0] == whole[0]
            assert early[1].calls == whole[1].calls


FRAGMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["choices", "delta", "content", "tool_calls", "function", "index", "id", "name", "arguments", "type",
             "usage", "finish_reason", "error", "content_block", "message", "text", "reasoning", "stop_reason"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
KINDS = st.sampled_from(["message_start", "content_block_start", "content_block_delta", "message_delta", "error", "x"])


@dialects
@settings(max_examples=300)
@given(documents=st.lists(FRAGMENTS, max_size=4), kind=KINDS)
def test_nonsense_fails_in_words_or_says_nothing(dialect: str, documents: list[Any], kind: str) -> None:
    frames = [data_frame(doc | {"type": kind} if isinstance(doc, dict) else doc) for doc in documents]
    wrapped = [data_frame({"choices": [{"delta": doc}]}) for doc in documents]
    for packets in (frames, wrapped):
        result = outcome(dialect, b"".join(packets))
        if isinstance(result, ModelFailed):
            assert result.code.startswith("provider_")
        else:
            assert all(isinstance(text, str) and text for _, text in result[0])


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("STOP", "stop"),
        ("length", "length"),
        ("content_filter", "refused"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
    ],
)
def test_reasons_to_finish_of_openai(said: str, meant: str) -> None:
    assert told("openai", [chunk({"content": "x"}) + chunk({}, said) + DONE])[1].finish == meant


@pytest.mark.parametrize("said", ["error", "abort", "insufficient_system_resource"])
def test_trouble_that_is_dressed_as_a_finish(said: str) -> None:
    with pytest.raises(ModelFailed) as caught:
        told("openai", [chunk({"content": "x"}, said) + DONE])
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("said", "meant"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("refusal", "refused")],
)
def test_reasons_to_finish_of_anthropic(said: str, meant: str) -> None:
    assert told("anthropic", [anthropic_stream(Told(finish=said))])[1].finish == meant


def test_text_and_finish_may_come_in_one_piece_and_with_usage() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "completion_tokens_details": {"reasoning_tokens": 1}}
    said, ended = told("openai", [chunk({"role": "assistant", "content": "All."}, "stop", usage=usage)])
    assert said == [("content", "All.")]
    assert ended == Ended("stop", (), Usage(1, 2, 1))


def test_kinds_keep_their_order_and_neighbours_stay_together() -> None:
    deltas = [
        {"reasoning": "a"},
        {"content": "b"},
        {"content": ""},
        {"content": "c"},
        {"reasoning": "d", "content": "e"},
        {"content": "f"},
    ]
    bursts = ChatReply(ENDPOINT).take(SseDecoder().feed(b"".join(map(chunk, deltas))))
    assert [(burst.kind, burst.texts) for burst in bursts] == [
        ("reasoning", ["a"]),
        ("content", ["b", "c"]),
        ("reasoning", ["d"]),
        ("content", ["e", "f"]),
    ]


def test_a_refusal_is_shown_and_told() -> None:
    said, ended = told("openai", [chunk({"refusal": "I will not."}) + chunk({}, "stop") + DONE])
    assert said == [("content", "I will not.")]
    assert ended.finish == "refused"


def calls_of(*pieces: list[dict[str, Any]]) -> tuple[ToolCall, ...]:
    frames = [chunk({"tool_calls": piece}) for piece in pieces]
    return told("openai", [b"".join(frames) + chunk({}, "stop") + DONE])[1].calls


def test_tool_calls_of_servers_that_count_badly() -> None:
    one = {"id": "x", "function": {"name": "f", "arguments": "{}"}}
    two = {"id": "y", "function": {"name": "g", "arguments": '{"a":1}'}}
    meant = (ToolCall("x", "f", "{}"), ToolCall("y", "g", '{"a":1}'))
    assert calls_of([one], [two]) == meant, "no numbers"
    assert calls_of([one, two]) == meant, "no numbers, together"
    assert calls_of([one | {"index": 0}], [two | {"index": 0}]) == meant, "all of them number 0"


def test_a_tool_call_without_an_id_gets_one_and_arguments_may_be_an_object() -> None:
    assert calls_of([{"index": 0, "function": {"name": "f", "arguments": {"a": 1}}}]) == (
        ToolCall("call_0", "f", '{"a":1}'),
    )


def test_broken_arguments_are_passed_on_as_they_are() -> None:
    piece = {"index": 0, "id": "x", "function": {"name": "f", "arguments": '{"a":'}}
    assert calls_of([piece]) == (ToolCall("x", "f", '{"a":'),)


def test_only_what_says_something_counts_as_progress() -> None:
    reply = ChatReply(ENDPOINT)
    for delta, moved in (
        ({"role": "assistant", "content": ""}, False),
        ({}, False),
        ({"content": "x"}, True),
        ({"content": ""}, False),
        ({"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}, True),
    ):
        reply.take(SseDecoder().feed(b"data: {}\n\n" + chunk(delta)))
        assert reply.moved is moved, delta


def test_pings_say_nothing() -> None:
    reply = MessagesReply(ENDPOINT)
    assert reply.take([b'{"type":"ping"}', b'{"type":"news"}']) == []
    assert not reply.moved


def test_a_form_is_content_and_other_tools_stay_tools() -> None:
    told_ = Told(texts=(), calls=(("c0", "reply", ('{"a"', ":1}")), ("c1", "read_file", ("{}",))))
    reply = MessagesReply(ENDPOINT, form="reply")
    bursts = reply.take(SseDecoder().feed(anthropic_stream(told_)))
    assert [burst.texts for burst in bursts] == [['{"a"', ":1}"]]
    assert reply.end().calls == (ToolCall("c1", "read_file", "{}"),)
    only = MessagesReply(ENDPOINT, form="reply")
    only.take(SseDecoder().feed(anthropic_stream(Told(texts=(), calls=told_.calls[:1]))))
    assert only.end() == Ended("stop", (), Usage(12, 3))


def test_cached_input_is_input() -> None:
    usage = {"input_tokens": 1, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100}
    start = data_frame({"type": "message_start", "message": {"usage": usage}})
    stream = start + anthropic_stream(Told(usage=None))
    assert told("anthropic", [stream])[1].usage.input_tokens == 111


def test_the_wire_of_the_tests_is_json() -> None:
    for stream in STREAMS.values():
        for payload in SseDecoder().feed(stream):
            assert payload == b"[DONE]" or orjson.loads(payload)
