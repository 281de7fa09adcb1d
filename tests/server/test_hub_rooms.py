"""What is told to whom: projects by cursor, without a gap; deliveries by how an agent listens, until acknowledged."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from door_client import ask
from door_serving import Serving, Start
from hub_peer import API, Board, Peer, agent, get, post


@pytest.fixture(scope="module")
def serving(start: Start) -> Serving:
    return start(constants={"server.hub.limits.UNACKED": 3})


async def places(peer: Peer, project: str, head: int) -> list[dict[str, Any]]:
    """The frames of a project up to a place, each one place behind the last."""
    found: list[dict[str, Any]] = []
    while not found or found[-1]["seq"] < head:
        frame = await peer.next()
        data = frame["data"]
        if data.get("project_id") == project and "seq" in data:
            found.append({**data, "type": frame["type"]})
    for before, after in pairwise(found):
        assert after.get("from", after["seq"]) == before["seq"] + 1
    return found


async def deliveries(peer: Peer, count: int) -> list[dict[str, Any]]:
    """The first so many, whenever they came."""
    while len(found := [frame["data"] for frame in peer.heard if frame["type"] == "delivery"]) < count:
        await peer.next()
    return found


async def head_of(peer: Peer, project: str) -> int:
    answer = await peer.ask("project.subscribe", project_id=project)
    assert answer["type"] == "project.subscribed"
    return int(answer["data"]["head"])


async def test_a_subscriber_resumes_anywhere_and_misses_nothing(serving: Serving) -> None:
    board = await Board.make(serving)
    speaker = await board.enter(0)
    begun = board.stream()
    await speaker.ask("agent.stream.start", **begun)
    for n in range(60):
        await speaker.say("agent.stream.delta", stream_id=begun["stream_id"], delta=f"{n}\n")
    await speaker.ask("agent.stream.end", stream_id=begun["stream_id"])
    head = await head_of(speaker, board.id)
    whole = await Peer.enter(serving)
    await whole.say("project.subscribe", project_id=board.id, after=0)
    told = await places(whole, board.id, head)
    assert [each["seq"] for each in told] == list(range(1, head + 1))
    for after in (1, 7, 30, head - 1):
        peer = await Peer.enter(serving)
        cursor = f"v1.{peer.me['epoch']}.{after}" if after % 2 else after
        await peer.say("project.subscribe", project_id=board.id, after=cursor)
        assert await places(peer, board.id, head) == told[after:]


async def test_a_cursor_of_another_log_is_told_to_begin_anew(serving: Serving) -> None:
    board = await Board.make(serving)
    peer = await Peer.enter(serving)
    for after, why in [("v1.00000000.3", "epoch"), (10_000, "ahead")]:
        answer = await peer.ask("project.subscribe", project_id=board.id, after=after)
        assert (answer["data"]["reset"], answer["data"]["after"]) == (why, 0)
    refused = await peer.ask("project.subscribe", project_id=board.id, after="nonsense")
    assert refused["data"]["code"] == "bad_cursor"


async def test_what_happens_by_any_door_is_told(serving: Serving) -> None:
    board = await Board.make(serving)
    peer = await Peer.enter(serving)
    message = await board.say("hello")
    assert (await peer.until("chat.message"))["message_id"] == message["id"]
    sent = await peer.ask("chat.send", chat_id=board.chat, content="<b>&", key="k-1")
    again = await peer.ask("chat.send", chat_id=board.chat, content="<b>&", key="k-1")
    assert sent["data"] == again["data"]
    task = await peer.ask("task.create", project_id=board.id, title="T", assignees=[board.agents[0]["id"]])
    ident = task["data"]["task_id"]
    worker = await board.enter(0)
    assert (await worker.ask("task.claim", task_id=ident))["data"]["until"] > 0
    assert (await worker.ask("task.heartbeat", task_id=ident))["type"] == "ok"
    assert (await worker.ask("task.comment", task_id=ident, content="on it"))["type"] == "ok"
    assert (await worker.ask("task.submit", task_id=ident, summary="done"))["type"] == "ok"
    assert (await peer.ask("task.review", task_id=ident, verdict="approved"))["type"] == "ok"
    assert (await get(serving, f"/tasks/{ident}"))["status"] == "done"
    refused = await worker.ask("task.claim", task_id="nope")
    assert refused["data"]["code"] == "task_not_found"


async def test_deliveries_follow_how_an_agent_listens(serving: Serving) -> None:
    board = await Board.make(serving, 3)
    slugs = [each["slug"] for each in board.agents]
    wanted: list[dict[str, Any]] = [{"chat_listen": "all"}, {"model": "m"}, {"chat_listen": "none"}]
    for who, config in zip(board.agents, wanted, strict=True):
        answer = await ask(serving, "PATCH", f"{API}/members/{who['id']}", config)
        assert answer.status == 200, answer
    peers = [await board.enter(n) for n in range(3)]
    await board.say("for nobody in particular")
    await board.say(" and ".join(f"@{slug}" for slug in slugs))
    first = await peers[0].until("delivery")
    assert (first["reason"], first["event"]["data"]["content"]) == ("message", "for nobody in particular")
    assert (await peers[0].until("delivery"))["reason"] == "mention"
    assert (await peers[1].until("delivery"))["reason"] == "mention"
    task = await post(serving, f"/projects/{board.id}/tasks", {"title": "T", "assignees": [board.agents[2]["id"]]})
    given = await peers[2].until("delivery")
    assert (given["reason"], given["event"]["data"]["task_id"]) == ("assignment", task["id"])


async def test_what_was_not_acknowledged_is_told_again(serving: Serving) -> None:
    board = await Board.make(serving)
    slug = board.agents[0]["slug"]
    for n in range(5):
        await board.say(f"@{slug} {n}")
    peer = await board.enter(0)
    first = await deliveries(peer, 3)
    assert (await peer.ask("ping"))["type"] == "pong"
    assert [f["type"] for f in peer.heard].count("delivery") == 3, "so many at once and no more"
    await peer.ask("ack", delivery_id=first[1]["delivery_id"])
    assert (await deliveries(peer, 4))[3]["event"]["data"]["content"].endswith("3")
    await peer.ask("ack", delivery_id=first[0]["delivery_id"])
    await peer.close()
    again = await board.enter(0)
    told = await deliveries(again, 3)
    contents = [each["event"]["data"]["content"][-1] for each in told]
    assert contents == ["2", "3", "4"]
    refused = await again.ask("ack", delivery_id="nonsense")
    assert refused["data"]["code"] == "unknown_delivery"


async def test_an_agent_hears_nothing_of_before_it_joined(serving: Serving) -> None:
    board = await Board.make(serving)
    late = await agent(serving, chat_listen="all")
    peer = await Peer.enter(serving, late["token"])
    await board.say(f"@{late['slug']} too early")
    await board.join(late)
    assert (await peer.until("project.joined"))["id"] == board.id
    await board.say("in time")
    assert (await peer.until("delivery"))["event"]["data"]["content"] == "in time"
    await ask(serving, "DELETE", f"{API}/projects/{board.id}/members/{late['id']}")
    await peer.until("project.left")
    await board.say("too late")
    assert (await peer.ask("ping"))["type"] == "pong"
    assert "too late" not in str(peer.heard)


async def test_a_changed_configuration_is_told_at_once(serving: Serving) -> None:
    board = await Board.make(serving)
    peer = await board.enter(0)
    await peer.until("config.updated")
    change = {"chat_listen": "all", "max_concurrent_tasks": 3, "model": "gpt", "labels": ["x"]}
    await ask(serving, "PATCH", f"{API}/members/{board.agents[0]['id']}", change)
    told = await peer.until("config.updated")
    assert {name: told[name] for name in change} == change
    assert set(told) >= {"provider", "prompt", "task_listen", "capabilities"}
    await board.say("heard by all")
    assert (await peer.until("delivery"))["reason"] == "message"


async def test_what_is_said_in_a_direct_chat_is_for_those_it_is_between(serving: Serving) -> None:
    board = await Board.make(serving, 3)
    ids = [each["id"] for each in board.agents]
    inside, outside = await board.enter(0), await board.enter(2)
    owner = await Peer.enter(serving)
    direct = await post(serving, f"/projects/{board.id}/chats", {"members": [ids[0], owner.me["member_id"]]})
    secret = {"stream_id": "direct-1" + ids[0], "project_id": board.id, "chat_id": direct["id"]}
    assert (await inside.ask("agent.stream.start", **secret))["type"] == "ok"
    await inside.say("agent.stream.delta", stream_id=secret["stream_id"], delta="a secret")
    await inside.ask("agent.stream.end", stream_id=secret["stream_id"])
    await board.say("for everybody")
    assert (await owner.until("agent.stream.end"))["final_message"] == "a secret"
    await outside.until("chat.message")
    assert "secret" not in str(outside.heard)
    late = await board.enter(1)
    await late.say("project.subscribe", project_id=board.id, after=0)
    head = (await late.until("project.subscribed"))["head"]
    told = await places(late, board.id, head)
    assert "secret" not in str(told)
    assert any(each["type"] == "skip" and each["why"] == "private" for each in told)


async def test_it_is_told_who_is_here(serving: Serving) -> None:
    board = await Board.make(serving)
    first = await board.enter(0)
    second = await board.enter(1)
    there = await first.until("presence")
    assert (there["member_id"], there["status"]) == (board.agents[1]["id"], "online")
    again = await board.enter(1)
    await again.close()
    await second.close()
    gone = await first.until("presence")
    assert (gone["member_id"], gone["status"]) == (board.agents[1]["id"], "offline")
    online = (await first.ask("project.subscribe", project_id=board.id))["data"]["online"]
    assert online == [board.agents[0]["id"]]


async def test_a_reader_that_takes_nothing_is_cut_and_the_others_go_on(start: Start) -> None:
    serving = start(constants={"server.websocket.connection.STALL_S": 1.5})
    board = await Board.make(serving)
    speaker, watcher = await board.enter(0), await Peer.enter(serving)
    stuck = await Peer.connect(serving, board.agents[1]["token"], narrow=True)
    stuck.socket.transport.pause_reading()  # type: ignore[attr-defined]
    texts = [f"{n:03}" + "x" * 16_000 for n in range(60)]

    async def flood() -> None:
        for _ in range(6):
            begun = board.stream()
            await speaker.ask("agent.stream.start", **begun)
            for text in texts:
                await speaker.say("agent.stream.delta", stream_id=begun["stream_id"], delta=text)
            await speaker.ask("ping")

    async with asyncio.TaskGroup() as group:
        group.create_task(flood())
        seen = [await watcher.until("agent.stream.delta") for _ in range(6 * len(texts))]
    assert [each["delta"] for each in seen] == 6 * texts
    await stuck.say("ping")  # whose answer would have to wait for it to read
    gone = await watcher.until("presence", lambda data: data["status"] == "offline")
    assert gone["member_id"] == board.agents[1]["id"]


async def test_an_agent_outside_asks_people_and_is_told(serving: Serving) -> None:
    board = await Board.make(serving)
    peer = await board.enter(0)
    wish = {"tool": "deploy", "args": {"to": "production"}, "reason": "it is Friday", "risk_level": "high"}
    asked = await peer.ask("approval.request", project_id=board.id, key="k", **wish)
    ident = asked["data"]["approval_id"]
    assert asked["data"]["state"] == "pending"
    pending = (await ask(serving, "GET", "/v1/approvals/pending")).document
    [line] = [each for each in pending if each["approval_id"] == ident]
    assert (line["tool"], line["args"], line["risk_level"]) == ("deploy", {"to": "production"}, "high")
    answer = await ask(serving, "POST", f"/v1/approvals/{ident}/deny", {"words": "on Monday"})
    assert answer.status == 200, answer
    told = await peer.until("approval.decided")
    assert (told["approval_id"], told["decision"], told["words"]) == (ident, "denied", "on Monday")
    again = await peer.ask("approval.request", project_id=board.id, key="k", **wish)
    assert (again["data"]["approval_id"], again["data"]["decision"]) == (ident, "denied")


async def test_what_nobody_answers_expires(start: Start) -> None:
    serving = start(
        constants={"actions.outside.LIFE_S": 0.0, "server.hub.hub.SWEEP_S": 0.05, "server.hub.hub.EXPIRE_S": 0.05}
    )
    board = await Board.make(serving)
    peer = await board.enter(0)
    await peer.ask("approval.request", project_id=board.id, tool="deploy")
    assert (await peer.until("approval.decided"))["decision"] == "expired"
