"""All that can go wrong with a provider, through a real server: a retry that is seen, or an end that says why."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from proof_checker import read
from proof_clients import Clients, Transcript
from proof_server import KEY, ServerProcess

from quarterdeck.testing.upstream import FAULTS, UNFINISHED, Answer, Request, Upstream
from quarterdeck.testing.wire import DONE, Told, openai_stream

pytestmark = pytest.mark.proof

BOUND_S = 60.0
TEXTS = [f"word-{n} " for n in range(40)]
WHOLE = "".join(TEXTS)
GOOD = Answer(openai_stream(Told(texts=TEXTS)))


class ByMessage(Upstream):
    """Answers each message with its own list of answers; the last one is given again and again. Who asks for a form,
    as it does that plans, is asked about under another name: `plan of …`."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(port=port)
        self.plays: dict[str, Iterator[Answer]] = {}
        self.last: dict[str, Answer] = {}
        self.asked: dict[str, list[Request]] = {}

    def play(self, message: str, *answers: Answer) -> None:
        self.plays[message] = iter(answers)

    def _next(self, request: Request) -> Answer:
        message = request.document["messages"][-1]["content"]
        if "response_format" in request.document:
            message = f"plan of {message}"
        self.asked.setdefault(message, []).append(request)
        self.last[message] = next(self.plays.get(message, iter([GOOD])), self.last.get(message, GOOD))
        return self.last[message]


def refusal(status: int, text: str = "no", headers: Mapping[str, str] | None = None) -> Answer:
    body = json.dumps({"error": {"message": f"{text}; your key is {KEY}"}}).encode()
    return Answer(body, status, headers or {}, "application/json")


# What ends a run at once, and how that is called.
FINAL = {
    "400": (refusal(400), "provider_rejected"),
    "401": (refusal(401), "provider_auth"),
    "402": (refusal(402), "provider_out_of_money"),
    "403": (refusal(403), "provider_auth"),
    "404": (refusal(404), "provider_not_found"),
    "429-for-an-hour": (refusal(429, headers={"retry-after": "3600"}), "provider_rate_limited"),
    "a-web-page": (Answer(b"<html>Please log in</html>", kind="text/html"), "provider_not_found"),
}
# What is tried again, and how the attempt that it cost is called.
PASSING = {
    "429": (refusal(429), "provider_rate_limited"),
    "429-wait-a-little": (refusal(429, headers={"retry-after-ms": "120"}), "provider_rate_limited"),
    "500": (refusal(500), "provider_error"),
    "503": (refusal(503), "provider_error"),
    "529": (FAULTS["status-529"], "provider_error"),
    "no-headers": (FAULTS["no-headers"], "provider_timeout"),
    "silent-at-once": (Answer(b"", fault="hang"), "provider_timeout"),
    "silent-in-the-middle": (FAULTS["hang"], "provider_timeout"),
    "only-comments": (replace(FAULTS["comments"], pace_s=0.05), "provider_timeout"),
    "reset": (FAULTS["rst"], "provider_cut"),
    "hung-up": (FAULTS["fin"], "provider_cut"),
    "ended-without-an-end": (FAULTS["clean-eof"], "provider_cut"),
    "done-without-a-finish": (Answer(UNFINISHED + DONE), "provider_cut"),
    "malformed": (FAULTS["malformed"], "provider_malformed"),
    "no-utf-8": (Answer(UNFINISHED + b'data: {"choices":[{"delta":\xff\xfe}]}\n\n'), "provider_malformed"),
    "an-endless-line": (FAULTS["long-line"], "provider_malformed"),
    "no-stream": (Answer(b'{"choices":[]}', kind="application/json"), "provider_malformed"),
}


@pytest.fixture
async def upstream() -> AsyncIterator[ByMessage]:
    async with ByMessage() as upstream:
        yield upstream


@pytest.fixture
async def server(tmp_path: Path, upstream: ByMessage) -> AsyncIterator[ServerProcess]:
    server = ServerProcess(tmp_path / "data", upstream.base_url, QUARTERDECK_MODEL_PATIENCE_S="0.4")
    await server.start()
    yield server
    await server.close()


def check_clean(server: ServerProcess, clients: Clients) -> None:
    """The key is nowhere: not in a frame, not in the database, not in the server's log."""
    files = [*server.folder.glob("quarterdeck.db*"), server.log]
    assert len(files) >= 2
    for file in files:
        assert KEY.encode() not in file.read_bytes(), file
    for transcript in clients.transcripts:
        assert KEY not in "".join(transcript.raw)


def check_taken_back(transcript: Transcript) -> None:
    """Each retry was shown, and took back the text of the attempt before it, all of it and no other."""
    numbers = {frame.seq: frame for frame in transcript.named("content_delta")}
    begins = [frame.seq for frame in transcript.named("attempt_started")]
    gone = transcript.named("attempt_superseded")
    assert len(gone) == len(begins) - 1
    for frame, begin, following in zip(gone, begins, begins[1:], strict=False):
        lost = {seq for seq in numbers if begin < seq < following}
        assert lost == {seq for seq in numbers if frame.data["from"] <= seq <= frame.data["to"]}


async def test_every_trouble_ends_in_a_retry_that_is_seen_or_in_words(
    server: ServerProcess, upstream: ByMessage
) -> None:
    """All at once, so that none of them holds up another."""
    for message, (answer, _) in FINAL.items():
        upstream.play(message, answer)
    for message, (answer, _) in PASSING.items():
        upstream.play(message, answer, GOOD)
    upstream.play("always-500", refusal(500, headers={"retry-after": "0"}))
    async with asyncio.timeout(BOUND_S), Clients(server) as clients:
        told = {message: clients.ask(message, watchers=0) for message in [*FINAL, *PASSING, "always-500", "fine"]}
        await clients.all_ended()
        for message, (_, code) in FINAL.items():
            done = told[message].done
            assert (done["status"], done["code"]) == ("failed", code), message
            assert len(done["detail"]) > 20
            assert len(upstream.asked[message]) == 1, message
        for message, (_, code) in PASSING.items():
            done, [broke] = told[message].done, told[message].named("attempt_broke")
            assert (done["status"], broke.data["code"]) == ("completed", code), message
            assert told[message].text() == WHOLE, message
            assert len(upstream.asked[message]) == 2, message
            check_taken_back(told[message])
        assert told["429-wait-a-little"].named("attempt_superseded")[0].data["retry_in"] == 0.12
        assert (told["always-500"].done["status"], told["always-500"].done["code"]) == ("failed", "provider_error")
        assert len(upstream.asked["always-500"]) == 6
        assert told["fine"].text() == WHOLE
        assert told["fine"].named("attempt_superseded") == []
        check_clean(server, clients)
        assert await server.stop() == 0
        check_clean(server, clients)
    runs = [story for (kind, _), story in read(server.folder).items() if kind == "run"]
    assert all(story.closed and len(story.of("run.finished")) == 1 for story in runs)


async def test_a_connection_cut_at_any_byte_never_makes_half_an_answer_whole(
    server: ServerProcess, upstream: ByMessage, rounds: int
) -> None:
    chance = random.Random(rounds)
    assert GOOD.body is not None
    async with asyncio.timeout(BOUND_S * rounds), Clients(server) as clients:
        for nth in range(rounds):
            asked = []
            for cut in chance.sample(range(len(GOOD.body)), 12):
                fault = chance.choice(["rst", "fin"])
                message = f"{nth}-{fault}-{cut}"
                upstream.play(message, replace(GOOD, fault=fault, cut=cut, packet=chance.choice([None, 97])), GOOD)
                asked.append(clients.ask(message, watchers=0))
            await clients.all_ended()
            for transcript in asked:
                assert transcript.done["status"] == "completed", transcript.message
                assert transcript.text() == WHOLE, transcript.message
                check_taken_back(transcript)


async def test_a_trouble_that_lasts_ends_in_words(server: ServerProcess, upstream: ByMessage) -> None:
    """Every trouble of a stream, again and again: six attempts, and then the truth."""
    for message, (answer, _) in PASSING.items():
        upstream.play(message, answer)
    async with asyncio.timeout(BOUND_S), Clients(server) as clients:
        told = {message: clients.ask(message, watchers=0) for message in PASSING}
        await clients.all_ended()
        for message, (_, code) in PASSING.items():
            done = told[message].done
            assert (done["status"], done["code"]) == ("failed", code), message
            assert len(upstream.asked[message]) == 6, message
            check_taken_back(told[message])
        check_clean(server, clients)


async def test_no_trouble_with_planning_costs_the_answer(server: ServerProcess, upstream: ByMessage) -> None:
    """The same troubles, again and again, for whoever asks what is to be done first; the answer comes all the same."""
    troubles = {**FINAL, **PASSING}
    for message, (answer, _) in troubles.items():
        upstream.play(f"plan of {message}", answer)
    async with asyncio.timeout(BOUND_S), Clients(server) as clients:
        told = {message: clients.ask(message, watchers=0, loop="roles") for message in troubles}
        await clients.all_ended()
        for message, (_, code) in troubles.items():
            broke = {frame.data["code"] for frame in told[message].named("attempt_broke")}
            assert (told[message].done["status"], broke) == ("completed", {code}), message
            assert told[message].text() == WHOLE, message
            assert len(upstream.asked[f"plan of {message}"]) == (1 if message in FINAL else 2), message
            assert len(upstream.asked[message]) == 1, message
        check_clean(server, clients)


async def test_a_provider_that_comes_back_is_found_again(tmp_path: Path) -> None:
    """Nobody listens at first; the run waits, visibly, and goes on when somebody does."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
    server = ServerProcess(tmp_path / "data", f"http://127.0.0.1:{port}/v1")
    await server.start()
    try:
        async with asyncio.timeout(BOUND_S), Clients(server) as clients:
            asking = clients.ask("anybody-there", watchers=0)
            await clients.meanwhile(asking.sees("attempt_broke"))
            async with ByMessage(port) as upstream:
                await clients.all_ended()
                assert len(upstream.asked) == 1
        assert asking.named("attempt_broke")[0].data["code"] == "provider_unreachable"
        assert (asking.done["status"], asking.text()) == ("completed", WHOLE)
    finally:
        await server.close()


async def test_a_run_that_is_stopped_while_its_provider_hangs_hangs_up(
    server: ServerProcess, upstream: ByMessage
) -> None:
    upstream.play("hang", Answer(UNFINISHED, fault="hang"))
    server.settings["QUARTERDECK_MODEL_PATIENCE_S"] = "3600"
    await server.stop()
    await server.start()
    async with asyncio.timeout(BOUND_S), Clients(server) as clients:
        asking = clients.ask("hang", watchers=0)
        await clients.meanwhile(asking.sees("content_delta"))
        assert await clients.stop(asking) == 202
        await clients.all_ended()
        await upstream.asked["hang"][0].gone.wait()
        assert (asking.done["status"], asking.text()) == ("stopped", "Half an ans")
        assert await clients.stop(asking) == 409
