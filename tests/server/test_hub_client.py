"""Our own client of the hub, on good networks and bad ones: nothing lost, nothing doubled, whatever is cut."""

from __future__ import annotations

import asyncio
import shutil
import sys
import uuid
from pathlib import Path

import pytest
from door_proxy import FAULTS, Proxy
from door_serving import BOUND_S, Serving, Start
from door_teams import TURNS, begun, watched
from hub_peer import Board, Peer, agent, get

from quarterdeck.client import HubClient, Refused
from quarterdeck.client import hub as hub_module

EXAMPLES = Path(__file__).parents[2] / "examples"
SILENCE_S = 1.0
CUTS = ("rst", "fin", "stall")


@pytest.fixture(scope="module")
def serving(start: Start) -> Serving:
    """Half-open connections are noticed soon, since the bad network makes many of them."""
    liveness = {"server.hub.limits.PING_S": 0.2, "server.hub.limits.DEAD_S": 3.0, "server.hub.hub.SWEEP_S": 0.1}
    crowd = {"server.hub.limits.SOCKETS": 100, "server.hub.limits.NEWCOMERS": 1000}
    return start(constants={**liveness, **crowd})


def url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


async def test_an_agent_hears_answers_and_acknowledges(serving: Serving) -> None:
    board = await Board.make(serving)
    async with HubClient(url(serving.port), board.agents[0]["token"]) as hub:
        assert hub.me["slug"] == board.agents[0]["slug"]
        await board.say(f"@{hub.me['slug']} what is in it?")
        async for delivery in hub.deliveries():
            async with hub.speak_about(delivery) as stream:
                await stream.say("Let me ")
                await stream.use("look", {"at": "it"}, {"found": 3})
                await stream.say("see.")
            await hub.ack(delivery)
            break
    [_, answer] = await get(serving, f"/chats/{board.chat}/messages")
    assert answer["content"] == "Let me see."


async def test_a_token_that_is_no_good_is_told(serving: Serving) -> None:
    known = await agent(serving)
    with pytest.raises(Refused):
        async with HubClient(url(serving.port), known["token"][:-1] + "x"):
            pass


async def test_a_refusal_is_told_with_its_code(serving: Serving) -> None:
    board = await Board.make(serving)
    async with HubClient(url(serving.port), board.agents[0]["token"]) as hub:
        with pytest.raises(Refused) as refused:
            await hub.ask("task.claim", task_id="nope")
        assert refused.value.code == "task_not_found"


async def test_what_nobody_takes_is_not_kept_and_comes_when_it_is_taken(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MOST_WAITING", 10)
    board = await Board.make(serving)
    async with HubClient(url(serving.port), board.agents[0]["token"]) as hub:
        await hub.follow(board.id)
        async with hub.speak(board.id, chat=board.chat) as stream:
            for n in range(100):
                await stream.say(f"{n} ")
        said = []
        async for frame in hub.frames():
            if frame.type == "agent.stream.delta":
                said.append(frame.data["delta"])
            if frame.type == "agent.stream.end":
                break
    assert said == [f"{n} " for n in range(100)]


class Through(HubClient):
    """One that comes by way of the bad network, and still asks for the server by its name."""

    def __init__(self, server: Serving, port: int, token: str | None) -> None:
        super().__init__(url(port), token, patience_s=600, silence_s=SILENCE_S)
        self._host = server.host

    def _headers(self) -> dict[str, str]:
        return {**super()._headers(), "host": self._host}


async def speak(port: int, board: Board, token: str, pieces: list[str]) -> str:
    """One stream over a bad network; returns its id."""
    async with Through(board.server, port, token) as hub, hub.speak(board.id, chat=board.chat) as stream:
        for piece in pieces:
            await stream.say(piece)
            await asyncio.sleep(0)
        return stream.id


async def follow(port: int, board: Board, token: str | None, streams: int) -> list[tuple[int, str]]:
    """All that happens in a project, until so many streams have ended."""
    seen: list[tuple[int, str]] = []
    async with Through(board.server, port, token) as hub:
        await hub.follow(board.id)
        async for frame in hub.frames():
            if frame.seq is None:
                continue
            seen.append((frame.seq, f"{frame.type} {frame.data.get('stream_id')} {frame.data.get('delta')}"))
            streams -= frame.type == "agent.stream.end"
            if not streams:
                return seen
    raise AssertionError


async def storm(serving: Serving, agents: int, watchers: int, pieces: int, most: int, seed: int) -> int:
    """Agents and watchers on a network that cuts, stalls and slices; returns how often it did."""
    board = await Board.make(serving, agents)
    tokens = [each["token"] for each in board.agents]
    said = {n: [f"{n}.{k} " for k in range(pieces)] for n in range(agents)}
    async with (
        Proxy(serving.port, seed, most=most, faults=CUTS if most < 10_000 else FAULTS) as proxy,
        asyncio.timeout(120 if agents < 10 else 900),
    ):
        async with asyncio.TaskGroup() as group:
            watching = [
                group.create_task(follow(proxy.port, board, tokens[n % agents], agents)) for n in range(watchers)
            ]
            speaking = [group.create_task(speak(proxy.port, board, tokens[n], said[n])) for n in range(agents)]
        cuts = proxy.cuts
    truth = await follow(serving.port, board, None, agents)
    for watcher in watching:
        assert watcher.result() == truth, f"seed {seed}"
    for n, task in enumerate(speaking):
        stream = task.result()
        deltas = [what.split(" ", 2)[2] for _, what in truth if what.startswith(f"agent.stream.delta {stream}")]
        assert deltas == said[n], f"seed {seed}"
        assert sum(what.startswith(f"agent.stream.end {stream}") for _, what in truth) == 1
    messages = await get(serving, f"/chats/{board.chat}/messages?limit=500")
    assert sorted(m["content"] for m in messages) == sorted("".join(each).strip() for each in said.values())
    return cuts


@pytest.mark.proof
async def test_agents_and_watchers_that_are_cut_anywhere_lose_and_double_nothing(serving: Serving, rounds: int) -> None:
    big = rounds > 1
    cuts = 0
    for seed in range(max(1, rounds // 10)):
        cuts += await storm(serving, *((10, 190, 12, 6_000) if big else (3, 6, 120, 20_000)), seed)
    assert cuts >= (2_000 if big else 5), "the network was too kind to prove anything"


async def answered(board: Board, *command: str) -> None:
    """An agent of the examples is mentioned and answers."""
    slug = board.agents[0]["slug"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    try:
        owner = await Peer.enter(board.server)
        await owner.until("presence", lambda data: data["slug"] == slug)
        for _ in range(2):
            word = uuid.uuid4().hex
            await board.say(f"@{slug} {word}")
            said = await owner.until("chat.message", lambda data: data["by"]["slug"] == slug)
            assert said["content"].startswith("You said:")
            assert word in said["content"]
    finally:
        process.terminate()
        async with asyncio.timeout(BOUND_S):
            await process.wait()


async def test_a_team_is_followed_over_broken_connections_to_its_end(start: Start) -> None:
    teams = start(*TURNS)
    run = await begun(teams)
    seen: list[tuple[int, str]] = []
    async with Proxy(teams.port, 7, most=6_000, faults=("rst", "fin")) as proxy, asyncio.timeout(2 * BOUND_S):
        async with Through(teams, proxy.port, None) as hub:
            with pytest.raises(Refused) as refused:
                await hub.follow_team("nobody")
            assert refused.value.code == "team_run_not_found"
            await hub.follow_team(run.rpartition("/")[2])
            async for frame in hub.frames():
                if frame.seq is not None:
                    seen.append((frame.seq, frame.type))
                if frame.type == "done":
                    break
        assert proxy.cuts > 1
    frames = await (await watched(teams, run)).rest()
    assert seen == [(frame.seq, frame.event) for frame in frames if frame.seq is not None]


async def test_the_example_agent_answers(serving: Serving) -> None:
    board = await Board.make(serving)
    code = (EXAMPLES / "hub_agent.py").read_text("utf-8")
    assert len(code.splitlines()) <= 50
    await answered(board, sys.executable, str(EXAMPLES / "hub_agent.py"), url(serving.port), board.agents[0]["token"])


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on this machine")
async def test_the_example_agent_in_plain_javascript_answers(serving: Serving) -> None:
    board = await Board.make(serving)
    script = (str(EXAMPLES / "hub_agent.mjs"), f"ws://127.0.0.1:{serving.port}/ws", board.agents[0]["token"])
    await answered(board, "node", "--experimental-websocket", *script)
