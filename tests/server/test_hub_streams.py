"""What an agent says piece by piece: relayed once it is stored, resumed without doubled text, ended or interrupted."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from door_serving import Serving, Start
from hub_peer import Board, Peer, get, post

WORDS = ["I need to ", "look, ", "猫 \u2028 “да”", "."]


@pytest.fixture(scope="module")
def serving(start: Start) -> Serving:
    return start(constants={"server.hub.limits.GRACE_S": 1.0, "server.hub.hub.SWEEP_S": 0.1})


async def heard_stream(peer: Peer, stream: str, last: str = "agent.stream.end") -> list[dict[str, Any]]:
    """The frames of a stream up to its last, which must come in the order of their places."""
    found = []
    while not found or found[-1]["type"] != last:
        frame = await peer.next()
        if frame["type"].startswith("agent.stream.") and frame["data"].get("stream_id") == stream:
            found.append(frame)
    seqs = [frame["data"]["seq"] for frame in found]
    assert seqs == sorted(set(seqs))
    return found


def text_of(frames: list[dict[str, Any]]) -> str:
    return "".join(frame["data"]["delta"] for frame in frames if frame["type"] == "agent.stream.delta")


async def test_a_stream_is_relayed_stamped_stored_and_becomes_a_message(serving: Serving) -> None:
    board = await Board.make(serving)
    speaker, watcher, owner = await board.enter(0), await board.enter(1), await Peer.enter(serving)
    begun = board.stream()
    await speaker.say("agent.stream.start", **begun)
    for word in WORDS:
        await speaker.say("agent.stream.delta", stream_id=begun["stream_id"], delta=word)
    used = {"tool_name": "web_search", "tool_args": {"q": "x"}, "tool_result": None, "error": "no network"}
    await speaker.say("agent.stream.tool", stream_id=begun["stream_id"], **used)
    ended = await speaker.ask("agent.stream.end", stream_id=begun["stream_id"])
    assert ended["type"] == "ok", ended
    for peer in (watcher, owner):
        frames = await heard_stream(peer, begun["stream_id"])
        assert {(f["data"]["agent_id"], f["data"]["agent_slug"]) for f in frames} == {
            (board.agents[0]["id"], board.agents[0]["slug"])
        }
        assert frames[0]["data"]["project_id"] == board.id
        assert (frames[0]["data"]["chat_id"], frames[0]["data"]["task_id"]) == (board.chat, None)
        assert text_of(frames) == "".join(WORDS)
        [tool] = [f["data"] for f in frames if f["type"] == "agent.stream.tool"]
        assert tool["tool_result"] == {"error": "no network"}
        last = frames[-1]["data"]
        assert last["final_message"] == "".join(WORDS)
        assert last["tool_log"] == [
            {"name": "web_search", "args": {"q": "x"}, "result": {"error": "no network"}, "error": "no network"}
        ]
    [message] = [m for m in await get(serving, f"/chats/{board.chat}/messages") if m["id"] == ended["data"]["said_id"]]
    assert message["content"] == "".join(WORDS)
    assert message["author"]["member_id" if "member_id" in message["author"] else "id"] == board.agents[0]["id"]


async def test_an_agent_that_reconnects_goes_on_where_the_log_stands(serving: Serving) -> None:
    board = await Board.make(serving)
    watcher = await board.enter(1)
    begun = board.stream()
    stream = begun["stream_id"]
    pieces = [f"piece {n} " for n in range(40)]
    speaker = await board.enter(0)
    await speaker.ask("agent.stream.start", **begun)
    sent = 0
    for round_ in range(6):
        for index in range(sent, min(sent + 11, len(pieces))):
            await speaker.say("agent.stream.delta", stream_id=stream, delta=pieces[index], index=index)
        if round_ % 2:
            speaker.cut()
        speaker = await board.enter(0)
        resumed = await speaker.ask("agent.stream.resume", stream_id=stream)
        assert resumed["type"] == "agent.stream.resumed", resumed
        assert 0 <= resumed["data"]["next_index"] <= len(pieces)
        sent = max(0, resumed["data"]["next_index"] - 3)  # an agent may well send again what is there
    for index in range(sent, len(pieces)):
        await speaker.say("agent.stream.delta", stream_id=stream, delta=pieces[index], index=index)
    await speaker.ask("agent.stream.end", stream_id=stream)
    frames = await heard_stream(watcher, stream)
    assert [f["data"]["delta"] for f in frames if f["type"] == "agent.stream.delta"] == pieces
    assert frames[-1]["data"]["final_message"] == "".join(pieces).strip()


async def test_an_agent_that_does_not_come_back_leaves_an_interrupted_stream(serving: Serving) -> None:
    board = await Board.make(serving)
    speaker, watcher = await board.enter(0), await board.enter(1)
    begun = board.stream()
    await speaker.say("agent.stream.start", **begun)
    await speaker.ask("agent.stream.delta", stream_id=begun["stream_id"], delta="half a sen")
    speaker.cut()
    frames = await heard_stream(watcher, begun["stream_id"], "agent.stream.interrupted")
    assert (frames[-1]["data"]["why"], frames[-1]["data"]["pieces"]) == ("gone", 1)
    speaker = await board.enter(0)
    again = await speaker.ask("agent.stream.resume", stream_id=begun["stream_id"])
    assert again["data"]["code"] == "stream_interrupted"


async def test_a_stream_survives_the_server(start: Start) -> None:
    serving = start(constants={"server.hub.limits.GRACE_S": 1.5})
    board = await Board.make(serving)
    speaker = await board.enter(0)
    mine, lost = board.stream(), board.stream()
    for begun in (mine, lost):
        await speaker.say("agent.stream.start", **begun)
        await speaker.say("agent.stream.delta", stream_id=begun["stream_id"], delta="so ")
    watcher = await board.enter(1)
    await watcher.say("project.subscribe", project_id=board.id, after=0)
    await watcher.until("agent.stream.delta", lambda data: data["stream_id"] == lost["stream_id"])
    port = serving.port
    serving.kill()
    serving.start(port)
    speaker, watcher = await board.enter(0), await board.enter(1)
    resumed = await speaker.ask("agent.stream.resume", stream_id=mine["stream_id"])
    assert resumed["data"]["next_index"] == 1
    await speaker.say("agent.stream.delta", stream_id=mine["stream_id"], delta="it goes", index=1)
    await watcher.say("project.subscribe", project_id=board.id, after=0)
    interrupted = await watcher.until("agent.stream.interrupted")
    assert interrupted["stream_id"] == lost["stream_id"]
    await speaker.ask("agent.stream.end", stream_id=mine["stream_id"])
    assert (await watcher.until("agent.stream.end"))["final_message"] == "so it goes"


async def test_a_stream_about_a_task_becomes_a_comment(serving: Serving) -> None:
    board = await Board.make(serving)
    task = await post(serving, f"/projects/{board.id}/tasks", {"title": "T", "assignees": [board.agents[0]["id"]]})
    speaker, other = await board.enter(0), await board.enter(1)
    begun = {"stream_id": str(uuid.uuid4()), "project_id": board.id, "task_id": task["id"]}
    refused = await other.ask("agent.stream.start", **begun)
    assert refused["type"] == "error", "a task is worked on by those it was given to"
    assert (await speaker.ask("agent.stream.start", **begun))["type"] == "ok"
    ended = await speaker.ask("agent.stream.end", stream_id=begun["stream_id"], final_message="Done.", tool_log=[])
    comments = await get(serving, f"/tasks/{task['id']}/comments")
    assert [(c["id"], c["content"]) for c in comments] == [(ended["data"]["said_id"], "Done.")]


async def test_nobody_speaks_for_another_or_where_they_are_not(serving: Serving) -> None:
    board, elsewhere = await Board.make(serving), await Board.make(serving)
    speaker, other = await board.enter(0), await board.enter(1)
    begun = board.stream()
    await speaker.ask("agent.stream.start", **begun)
    for kind, data in [
        ("agent.stream.delta", {"stream_id": begun["stream_id"], "delta": "x"}),
        ("agent.stream.end", {"stream_id": begun["stream_id"], "final_message": "x"}),
        ("agent.stream.resume", {"stream_id": begun["stream_id"]}),
        ("agent.stream.start", begun),
        ("agent.stream.start", elsewhere.stream()),
        ("agent.stream.start", {**board.stream(), "chat_id": elsewhere.chat}),
        ("agent.stream.start", {**board.stream(), "task_id": str(uuid.uuid4())}),
        ("chat.send", {"chat_id": elsewhere.chat, "content": "x"}),
        ("project.subscribe", {"project_id": elsewhere.id}),
    ]:
        assert (await other.ask(kind, **data))["type"] == "error", kind
    owner = await Peer.enter(serving)
    assert (await owner.ask("agent.stream.start", **board.stream()))["data"]["code"] == "agents_only"


async def test_the_same_stream_begun_twice_is_one(serving: Serving) -> None:
    board = await Board.make(serving)
    first, second = await board.enter(0), await board.enter(0)
    begun = board.stream()
    answers = await asyncio.gather(*(peer.ask("agent.stream.start", **begun) for peer in (first, second)))
    assert [each["type"] for each in answers].count("ok") >= 1
    owner = await Peer.enter(serving)
    await owner.say("project.subscribe", project_id=board.id, after=0)
    head = (await owner.until("project.subscribed"))["head"]
    started = []
    while not owner.heard or owner.heard[-1]["data"].get("seq") != head:
        frame = await owner.next()
        started += [frame] if frame["type"] == "agent.stream.start" else []
    assert len(started) == 1


async def test_a_missing_piece_is_told(serving: Serving) -> None:
    board = await Board.make(serving)
    speaker = await board.enter(0)
    begun = board.stream()
    await speaker.ask("agent.stream.start", **begun)
    refused = await speaker.ask("agent.stream.delta", stream_id=begun["stream_id"], delta="x", index=5)
    assert (refused["data"]["code"], refused["data"]["next_index"]) == ("stream_gap", 0)


async def test_so_many_streams_at_once_and_no_more(serving: Serving) -> None:
    board = await Board.make(serving)
    speaker = await board.enter(0)
    most = speaker.me["limits"]["streams"]
    answers = [await speaker.ask("agent.stream.start", **board.stream()) for _ in range(most + 1)]
    assert [each["type"] for each in answers] == ["ok"] * most + ["error"]
    assert answers[-1]["data"]["code"] == "too_many_streams"
