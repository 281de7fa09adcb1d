"""Mutated frames: each is answered or ends its connection with a code of ours; nobody else notices, memory stays."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
import websockets
from door_serving import Serving, Start
from hub_peer import Board, Parted

EVERYDAY = 400
CODES = {1000, 1002, 1003, 1007, 1008, 1009, 4400, 4403, 4408, None}
ODD: tuple[Any, ...] = (None, True, -1, 2**63, 1e308, "", "\x00", "\ud800", "../..", "a" * 70_000, [], {}, [[]] * 50)


@pytest.fixture(scope="module")
def serving(start: Start) -> Serving:
    return start(constants={"server.hub.limits.FRAMES_PER_S": 100_000, "server.hub.limits.BURST": 100_000})


def frames(board: Board) -> list[dict[str, Any]]:
    begun = board.stream()
    stream = {"stream_id": begun["stream_id"]}
    told: list[tuple[str, dict[str, Any]]] = [
        ("ping", {}),
        ("auth", {"token": "qd_x"}),
        ("project.subscribe", {"project_id": board.id, "after": 0}),
        ("project.unsubscribe", {"project_id": board.id}),
        ("chat.send", {"chat_id": board.chat, "content": "hello @all"}),
        ("agent.stream.start", begun),
        ("agent.stream.delta", {**stream, "delta": "x", "index": 0}),
        ("agent.stream.tool", {**stream, "tool_name": "t", "tool_args": {"a": [1]}, "tool_result": None}),
        ("agent.stream.resume", stream),
        ("agent.stream.end", {**stream, "tool_log": [{"name": "t", "args": {}, "result": 1, "error": None}]}),
        ("task.create", {"project_id": board.id, "title": "T", "labels": ["a"]}),
        ("task.claim", {"task_id": "x"}),
        ("task.review", {"task_id": "x", "verdict": "approved"}),
        ("ack", {"delivery_id": f"{board.id}:1"}),
        ("approval.request", {"project_id": board.id, "tool": "t", "args": {}, "risk_level": "high"}),
    ]
    return [{"type": kind, "ref": n, "data": data} for n, (kind, data) in enumerate(told)]


def mutated(chance: random.Random, frame: dict[str, Any]) -> str | bytes:
    match chance.randrange(7):
        case 0:
            frame = {**frame, chance.choice(["type", "data", "ref", "more"]): chance.choice(ODD)}
        case 1 | 2 if frame["data"]:
            name = chance.choice(sorted(frame["data"]))
            frame = {**frame, "data": {**frame["data"], name: chance.choice(ODD)}}
        case 3:
            frame = {**frame, "data": {**frame["data"], "role": "owner", "actor": "person:owner"}}
        case 4:
            text = bytearray(json.dumps(frame).encode())
            for _ in range(chance.randint(1, 4)):
                text[chance.randrange(len(text))] = chance.randrange(128)
            return text.decode("ascii")
        case 5:
            return json.dumps(frame)[: chance.randrange(40)] * chance.randint(1, 3)
        case 6:
            return chance.choice(["", "{}" * 100, "[" * 5_000, '{"a":' * 500, "\ufeff{}", "NaN", "1e999", '"' * 999])
        case _:
            pass
    return json.dumps(frame)


@pytest.mark.proof
async def test_mutated_frames_are_answered_or_end_the_connection(serving: Serving, rounds: int) -> None:
    board, chance = await Board.make(serving), random.Random(rounds)
    plain, peer = frames(board), await board.enter(0)
    begun = serving.memory()
    count = EVERYDAY if rounds == 1 else max(10_000, EVERYDAY * rounds)
    for number in range(count):
        try:
            await peer.raw(mutated(chance, chance.choice(plain)))
            if number % 20 == 0:
                assert (await peer.ask("ping"))["type"] == "pong"
                peer.heard.clear()
        except (Parted, OSError, websockets.ConnectionClosed):
            parted = await peer.parted()
            assert parted.code in CODES, parted
            peer = await board.enter(0)
    assert serving.memory() - begun < 64 * 1024 * 1024
    watcher = await board.enter(1)
    assert (await watcher.ask("ping"))["type"] == "pong"


@pytest.mark.proof
async def test_noise_behind_the_handshake_ends_its_own_connection_alone(serving: Serving, rounds: int) -> None:
    board, chance = await Board.make(serving), random.Random(7)
    watcher = await board.enter(1)
    head = (
        f"GET /ws?token={board.agents[0]['token']} HTTP/1.1\r\nHost: {serving.host}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()
    for _ in range(20 * rounds):
        reader, writer = await asyncio.open_connection("127.0.0.1", serving.port)
        writer.write(head)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(chance.randbytes(chance.randint(1, 400)) + b"\xff" * 8)
        async with asyncio.timeout(10):
            while await reader.read(65536):
                pass
        writer.close()
    assert (await watcher.ask("ping"))["type"] == "pong"
