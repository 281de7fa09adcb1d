"""An agent that the server drives, heard on the hub: the same frames as anybody's, in the same order, in one cursor."""

from __future__ import annotations

from itertools import pairwise

import pytest
from door_serving import Serving, Start
from hub_peer import Board, Peer, post


@pytest.fixture(scope="module")
def serving(start: Start) -> Serving:
    return start(
        {"when": "name the ropes", "content": ["One, ", "two, ", "three."]},
        {"when": "ask the others", "content": ["@far, please."]},
    )


async def test_an_agent_that_we_drive_is_heard_in_the_same_frames(serving: Serving) -> None:
    board = await Board.make(serving, 1)
    bo = await post(serving, "/members", {"type": "agent", "name": "Bo", "slug": "bo", "runtime": "built_in"})
    await post(serving, f"/projects/{board.id}/members", {"member": "bo"})
    peer = await Peer.enter(serving)
    await peer.ask("project.subscribe", project_id=board.id)
    await post(serving, f"/chats/{board.chat}/messages", {"content": "@bo, name the ropes"})
    begun = await peer.until("agent.stream.start")
    who = {"agent_id": bo["id"], "agent_slug": "bo"}
    assert begun | who == begun
    assert (begun["chat_id"], begun["task_id"]) == (board.chat, None)
    ended = await peer.until("agent.stream.end")
    assert (ended["final_message"], ended["tool_log"], ended["stream_id"]) == (
        "One, two, three.",
        [],
        begun["stream_id"],
    )
    deltas = [frame["data"] for frame in peer.heard if frame["type"] == "agent.stream.delta"]
    assert "".join(delta["delta"] for delta in deltas) == "One, two, three."
    assert all(delta | who == delta and delta["stream_id"] == begun["stream_id"] for delta in deltas)
    seqs = [frame["data"]["seq"] for frame in peer.heard if "seq" in frame["data"]]
    assert all(before < after for before, after in pairwise(seqs))


async def test_an_agent_from_outside_hears_one_that_we_drive(serving: Serving) -> None:
    board = await Board.make(serving, 1)
    far = await post(serving, "/members", {"type": "agent", "name": "Far", "slug": "far"})
    await post(serving, "/members", {"type": "agent", "name": "Near", "slug": "near", "runtime": "built_in"})
    for slug in ("far", "near"):
        await post(serving, f"/projects/{board.id}/members", {"member": slug})
    peer = await Peer.enter(serving, far["token"])
    await post(serving, f"/chats/{board.chat}/messages", {"content": "@near, ask the others"})
    delivery = await peer.until("delivery")
    assert delivery["reason"] == "mention"
    assert "@far, please." in str(delivery)
