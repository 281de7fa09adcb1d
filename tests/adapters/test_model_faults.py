"""Every way in which a provider can fail an attempt, over a real socket, in both dialects."""

import asyncio
import socket
import traceback
from collections.abc import Callable
from functools import partial

import pytest
from listening import BOUND_S, asking, follow, hear

from quarterdeck.adapters.models.anthropic import AnthropicMessages
from quarterdeck.adapters.models.http import READ_AHEAD, Http
from quarterdeck.adapters.models.openai_chat import OpenAIChat
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.ports import Burst, Model
from quarterdeck.testing.upstream import FAULTS, UNFINISHED, Answer, Upstream
from quarterdeck.testing.wire import DONE, Told, anthropic_stream, data_frame, openai_stream

KEY = "sk-live-3fA9xQ7zT1bN5mK8"
Make = Callable[[str, Http, Patience], Model]


def openai(url: str, http: Http, patience: Patience) -> Model:
    return OpenAIChat(model="m-1", base_url=url + "/v1", api_key=KEY, http=http, patience=patience)


def anthropic(url: str, http: Http, patience: Patience) -> Model:
    return AnthropicMessages(model="m-1", base_url=url, api_key=KEY, http=http, patience=patience)


in_both_dialects = pytest.mark.parametrize("make", [openai, anthropic])

WHOLE = {openai: openai_stream(Told()), anthropic: anthropic_stream(Told())}
HALF = {openai: UNFINISHED, anthropic: anthropic_stream(Told())[:520]}


async def failure_of(model: Model) -> ModelFailed:
    heard = await hear(model)
    assert heard.failure is not None, heard
    told = "".join(traceback.format_exception(heard.failure))
    assert KEY not in told
    assert KEY not in repr(vars(heard.failure))
    return heard.failure


async def say_and_go(words: bytes, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(words)
    writer.close()
    await writer.wait_closed()


def error(text: str, **more: object) -> bytes:
    return data_frame({"error": {"message": text, **more}})[6:].strip()


@in_both_dialects
@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (301, "provider_rejected", False),
        (400, "provider_rejected", False),
        (401, "provider_auth", False),
        (402, "provider_out_of_money", False),
        (403, "provider_auth", False),
        (404, "provider_not_found", False),
        (408, "provider_rate_limited", True),
        (409, "provider_rate_limited", True),
        (422, "provider_rejected", False),
        (429, "provider_rate_limited", True),
        (500, "provider_error", True),
        (502, "provider_error", True),
        (503, "provider_error", True),
        (529, "provider_error", True),
    ],
)
async def test_a_status_says_what_to_do(
    make: Make, status: int, code: str, retryable: bool, http: Http, patience: Patience
) -> None:
    answer = Answer(error(f"the key {KEY} did it"), status, {"location": "/elsewhere"}, "application/json")
    async with Upstream(answer) as upstream:
        failure = await failure_of(make(upstream.url, http, patience))
        assert (failure.code, failure.retryable, failure.retry_after) == (code, retryable, None)
        assert str(status) in failure.detail
        assert "[redacted] did it" in failure.detail
        assert len(upstream.requests) == 1, "an attempt is one request"


@in_both_dialects
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_provider_that_sends_us_elsewhere_is_not_followed(
    make: Make, status: int, http: Http, patience: Patience
) -> None:
    """Neither the conversation nor the key goes where nobody configured."""
    async with Upstream(Answer(WHOLE[make])) as elsewhere:
        moved = Answer(b"{}", status, {"location": f"{elsewhere.url}/v1/chat/completions"}, "application/json")
        async with Upstream(moved) as upstream:
            failure = await failure_of(make(upstream.url, http, patience))
            assert (failure.code, len(upstream.requests)) == ("provider_rejected", 1)
        assert elsewhere.requests == []


@in_both_dialects
async def test_endless_headers_end_an_attempt(make: Make, http: Http, patience: Patience) -> None:
    answer = Answer(WHOLE[make], headers={"x-much": "x" * 1_000_000})
    async with Upstream(answer) as upstream:
        assert (await failure_of(make(upstream.url, http, patience))).code.startswith("provider_")


@in_both_dialects
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
async def test_how_long_to_wait_is_passed_on(
    make: Make, headers: dict[str, str], seconds: float | None, http: Http, patience: Patience
) -> None:
    async with Upstream(Answer(b"", 429, headers, "application/json")) as upstream:
        assert (await failure_of(make(upstream.url, http, patience))).retry_after == seconds


@pytest.mark.parametrize(
    ("status", "body"),
    [(429, error("quota", code="insufficient_quota")), (400, error("Your credit balance is too low"))],
)
async def test_an_empty_account_is_not_a_reason_to_try_again(
    status: int, body: bytes, http: Http, patience: Patience
) -> None:
    async with Upstream(Answer(body, status, kind="application/json")) as upstream:
        failure = await failure_of(openai(upstream.url, http, patience))
        assert (failure.code, failure.retryable) == ("provider_out_of_money", False)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("correct horse", "no: correct horse"),
        ("k", "no: sk-proj-abcdefgh12345678"),
        ("k", "no: Authorization: Bearer abc.def"),
        ("k", "no: api_key=abcdefgh"),
        ("k", "no: " + "0123456789abcdef" * 4),
    ],
)
async def test_nothing_that_may_be_a_key_is_quoted(key: str, said: str, http: Http) -> None:
    async with Upstream(Answer(said.encode(), 400, kind="text/plain")) as upstream:
        model = OpenAIChat(model="m", base_url=upstream.base_url, api_key=key, http=http)
        failure = (await hear(model)).failure
        assert failure is not None
        assert "It said: no: " in failure.detail
        assert "[redacted]" in failure.detail
        assert said.rsplit(maxsplit=1)[-1] not in failure.detail


@in_both_dialects
async def test_a_wrong_key_names_the_setting(make: Make, http: Http, patience: Patience) -> None:
    async with Upstream(FAULTS["status-401"]) as upstream:
        failure = await failure_of(make(upstream.url, http, patience))
        assert ("OPENAI_API_KEY" if make is openai else "ANTHROPIC_API_KEY") in failure.detail


async def test_a_long_error_is_read_and_quoted_in_part(http: Http, patience: Patience) -> None:
    async with Upstream(Answer(b"so sorry " * 100_000, 500, kind="text/plain")) as upstream:
        failure = await failure_of(openai(upstream.url, http, patience))
        assert failure.detail.count("so sorry") < 40


async def test_an_error_whose_body_never_comes_is_still_an_error(http: Http, patience: Patience) -> None:
    async with Upstream(Answer(b"", 503, fault="rst"), Answer(b"x", 503, fault="fin")) as upstream:
        for _ in range(2):
            assert (await failure_of(openai(upstream.url, http, patience))).code == "provider_error"


@in_both_dialects
@pytest.mark.parametrize("fault", ["hang before headers", "hang", "comments"])
async def test_silence_ends_an_attempt(make: Make, fault: str, http: Http, impatient: Patience) -> None:
    answer = Answer(HALF[make], fault=fault, pace_s=0.01)  # type: ignore[arg-type]
    async with Upstream(answer) as upstream:
        failure = await failure_of(make(upstream.url, http, impatient))
        assert (failure.code, failure.retryable) == ("provider_timeout", True)
        async with asyncio.timeout(BOUND_S):
            await upstream.requests[0].gone.wait()


async def test_a_keep_alive_keeps_the_line_but_not_our_patience(http: Http) -> None:
    """Bytes come all the time, so only the timer for meaning can end this."""
    patience = Patience(silence_s=BOUND_S, meaning_s=0.05)
    async with Upstream(Answer(UNFINISHED, fault="comments", pace_s=0.005)) as upstream:
        failure = await failure_of(openai(upstream.url, http, patience))
        assert "though it kept the line open" in failure.detail


async def test_time_that_the_listener_takes_is_not_the_providers(http: Http) -> None:
    """The provider sends nothing while nobody reads, be it for longer than it is given, and then goes on."""
    goes_on = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + UNFINISHED)
        await goes_on.wait()
        await say_and_go(openai_stream(Told()), reader, writer)

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server, asyncio.timeout(BOUND_S):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        events = openai(url, http, Patience(silence_s=0.1, meaning_s=0.1)).stream(asking())
        assert isinstance(await anext(events), Burst)
        asyncio.get_running_loop().call_later(0.25, goes_on.set)
        await goes_on.wait()
        assert (await follow(events)).ended


async def test_a_long_reply_may_take_its_time_as_long_as_it_goes_on(http: Http) -> None:
    body = openai_stream(Told(texts=["x"] * 40))
    async with Upstream(Answer(body, packet=len(body) // 40, pace_s=0.01)) as upstream:
        assert (await hear(openai(upstream.url, http, Patience(meaning_s=0.2)))).ended


@in_both_dialects
@pytest.mark.parametrize("framing", ["chunked", "close", "length"])
@pytest.mark.parametrize("fault", ["rst", "fin", None])
async def test_a_cut_is_never_an_end(
    make: Make, framing: str, fault: str | None, http: Http, patience: Patience
) -> None:
    answer = Answer(HALF[make], framing=framing, fault=fault)  # type: ignore[arg-type]
    async with Upstream(answer) as upstream:
        failure = await failure_of(make(upstream.url, http, patience))
        assert (failure.code, failure.retryable) == ("provider_cut", True)


async def test_done_without_a_reason_to_finish_is_a_cut(http: Http, patience: Patience) -> None:
    async with Upstream(Answer(UNFINISHED + DONE)) as upstream:
        assert (await failure_of(openai(upstream.url, http, patience))).code == "provider_cut"


async def test_a_server_that_only_hangs_up_is_told_from_one_that_is_not_there(http: Http, patience: Patience) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        assert (await failure_of(openai(gone, http, patience))).code == "provider_unreachable"
    server = await asyncio.start_server(partial(say_and_go, b""), "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        assert (await failure_of(openai(url, http, patience))).code == "provider_cut"


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://no-such-host.invalid", "provider_unreachable"),
        ("gopher://127.0.0.1", "provider_not_found"),
        ("http://[::1", "provider_not_found"),
        ("", "provider_not_found"),
        ("http://user:hunter2hunter2@127.0.0.1:1/?key=hunter2hunter2", "provider_auth"),
    ],
)
async def test_an_address_that_leads_nowhere(url: str, code: str, http: Http, patience: Patience) -> None:
    failure = await failure_of(openai(url, http, patience))
    assert failure.code == code
    assert "hunter2" not in failure.detail


async def test_no_secure_connection(http: Http, patience: Patience) -> None:
    server = await asyncio.start_server(partial(say_and_go, b"plain text\r\n"), "127.0.0.1", 0)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        assert (await failure_of(openai(url, http, patience))).code == "provider_unreachable"


async def test_a_key_that_no_header_can_carry(http: Http, patience: Patience) -> None:
    async with Upstream() as upstream:
        key = "sk-broken\r\nx-evil: 1"
        model = OpenAIChat(model="m", base_url=upstream.base_url, api_key=key, http=http, patience=patience)
        failure = await failure_of(model)
        assert failure.code == "provider_auth"
        assert "sk-broken" not in failure.detail
        assert upstream.requests == []


@pytest.mark.parametrize(
    "body",
    [
        b"data: {\n\n",
        b"data: 7\n\n",
        b"data: null\n\n",
        b'data: {"choices":[{"delta":\xff\xfe}]}\n\n',
        b"data: " + b"x" * (10 << 20),
        b"data: " + b"x" * (10 << 20) + b"\n\n",
    ],
)
@in_both_dialects
async def test_nonsense_ends_an_attempt(make: Make, body: bytes, http: Http) -> None:
    async with Upstream(Answer(body)) as upstream:
        failure = await failure_of(make(upstream.url, http, Patience()))
        assert (failure.code, failure.retryable) == ("provider_malformed", True)


async def test_a_body_that_is_not_what_its_headers_say(http: Http, patience: Patience) -> None:
    async with Upstream(Answer(b"no gzip at all", headers={"content-encoding": "gzip"})) as upstream:
        assert (await failure_of(openai(upstream.url, http, patience))).retryable


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("text/html", b"<html>Please log in</html>", "provider_not_found"),
        ("application/json", error("slow down", type="rate_limit_error"), "provider_rate_limited"),
        ("application/json", b'{"choices":[]}', "provider_malformed"),
        ("application/json", b"?", "provider_malformed"),
    ],
)
async def test_an_answer_that_is_no_stream(kind: str, body: bytes, code: str, http: Http, patience: Patience) -> None:
    async with Upstream(Answer(body, kind=kind)) as upstream:
        assert (await failure_of(openai(upstream.url, http, patience))).code == code


@in_both_dialects
@pytest.mark.parametrize(
    ("told", "code", "retryable"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "provider_error", True),
        ({"type": "rate_limit_error", "message": "slow"}, "provider_rate_limited", True),
        ({"type": "invalid_request_error", "message": "no"}, "provider_rejected", False),
        ({"type": "authentication_error", "message": "no"}, "provider_auth", False),
        ({"code": 429, "message": "slow"}, "provider_rate_limited", True),
        ({"code": 503, "message": "busy"}, "provider_error", True),
        ({"message": "whatever"}, "provider_error", True),
    ],
)
async def test_an_error_in_the_stream(
    make: Make, told: dict[str, object], code: str, retryable: bool, http: Http, patience: Patience
) -> None:
    body = HALF[make] + b"\n\n" + data_frame({"type": "error", "error": told})
    async with Upstream(Answer(body)) as upstream:
        failure = await failure_of(make(upstream.url, http, patience))
        assert (failure.code, failure.retryable) == (code, retryable)


@in_both_dialects
@pytest.mark.parametrize("answer", [{"packet": 1}, {"packet": 7}, {"zipped": True}, {"framing": "close"}])
async def test_however_it_is_packed_the_reply_is_the_same(make: Make, answer: dict[str, object], http: Http) -> None:
    told = Told(texts=("Smörgås", "中文", "☂🦆", ""))
    body = openai_stream(told) if make is openai else anthropic_stream(told)
    async with Upstream(Answer(body, **answer)) as upstream:  # type: ignore[arg-type]
        heard = await hear(make(upstream.url, http, Patience()))
        assert heard.content == ["Smörgås", "中文", "☂🦆"]
        assert heard.ended


@in_both_dialects
@pytest.mark.parametrize("answer", [{}, {"zipped": True}, {"framing": "close"}])
async def test_a_reply_longer_than_what_is_read_ahead_goes_on_where_it_rested(
    make: Make, answer: dict[str, object], http: Http
) -> None:
    told = Told(texts=[f"{n} " * 2000 for n in range(200)])
    body = openai_stream(told) if make is openai else anthropic_stream(told)
    assert len(body) > 10 * READ_AHEAD
    async with Upstream(Answer(body, **answer)) as upstream:  # type: ignore[arg-type]
        heard = await hear(make(upstream.url, http, Patience()))
        assert heard.content == told.texts
        assert heard.ended


@in_both_dialects
async def test_closing_hangs_up_at_once(make: Make, http: Http) -> None:
    async with Upstream(Answer(HALF[make], fault="hang")) as upstream:
        events = make(upstream.url, http, Patience()).stream(asking())
        async with asyncio.timeout(BOUND_S):
            await anext(events)
            assert not upstream.requests[0].gone.is_set()
            await events.aclose()  # type: ignore[attr-defined]
            await upstream.requests[0].gone.wait()


@in_both_dialects
async def test_whole_replies_share_a_connection_and_broken_ones_do_not(make: Make, http: Http) -> None:
    async with Upstream() as upstream:
        model = make(upstream.url, http, Patience())
        for _ in range(5):
            assert (await hear(model)).ended
        assert upstream.connections == 1
        upstream.then(Answer(HALF[make], fault="rst"), Answer(WHOLE[make]))
        assert (await hear(model)).failure
        assert (await hear(model)).ended
        assert upstream.connections == 2


async def test_an_end_that_trails_behind_does_not_hold_up_the_reply(http: Http) -> None:
    """The last payload came, the end of the body has not: the reply is whole, and the connection lingers."""
    async with Upstream(Answer(openai_stream(Told()), fault="hang"), Answer()) as upstream:
        model = openai(upstream.url, http, Patience())
        assert (await hear(model)).ended
        await http.aclose()
        async with asyncio.timeout(BOUND_S):
            await upstream.requests[0].gone.wait()


async def test_many_at_once_each_hear_their_own(http: Http) -> None:
    answers = [Answer(openai_stream(Told(texts=[f"{n}-{i} " for i in range(50)])), packet=333) for n in range(40)]
    async with Upstream(*answers) as upstream:
        model = openai(upstream.url, http, Patience())
        replies = await asyncio.gather(*(hear(model) for _ in range(40)))
        assert sorted(heard.text for heard in replies) == sorted(
            "".join(f"{n}-{i} " for i in range(50)) for n in range(40)
        )
