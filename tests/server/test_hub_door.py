"""Who comes in at the hub and as whom, who is sent away and with which code, and what nobody may send."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path

import pytest
import websockets
from door_client import ask
from door_serving import BOUND_S, Serving, Start
from fastapi.testclient import TestClient
from hub_peer import API, Board, Peer, agent, post

from quarterdeck.settings import Settings
from quarterdeck.wiring import create_app

HANDSHAKE = (
    "GET /ws HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
)


@pytest.fixture(scope="module")
def serving(start: Start) -> Serving:
    return start(constants={"server.hub.limits.HELLO_S": 0.4})


async def handshake(server: Serving, more: str = "", host: str | None = None) -> tuple[int, bytes]:
    """The status of the answer, and what came with it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(HANDSHAKE.format(host=host or server.host, more=more).encode())
    head = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), head


async def test_an_agent_is_known_by_header_address_or_first_frame(serving: Serving) -> None:
    known = await agent(serving, chat_listen="all", capabilities=["coding"])
    bearer = {"authorization": f"Bearer {known['token']}"}
    first = await Peer.connect(serving)
    await first.say("auth", token=known["token"])
    foreign = await Peer.connect(serving, headers={"authorization": "Bearer of-another-service"})
    assert (await foreign.next())["type"] == "auth.error"
    for peer in (first, await Peer.connect(serving, known["token"]), await Peer.connect(serving, headers=bearer)):
        frame = await peer.next()
        assert frame["type"] == "auth.ok"
        told = frame["data"]
        assert (told["member_id"], told["slug"], told["type"]) == (known["id"], known["slug"], "agent")
        assert told["projects"] == []
        assert (told["config"]["chat_listen"], told["config"]["capabilities"]) == ("all", ["coding"])
        assert told["protocol"] == 1
        assert told["limits"]["frame_bytes"] > 0
        assert await peer.until("config.updated") == told["config"]


async def test_the_owner_comes_in_from_our_own_page_and_from_this_machine(serving: Serving) -> None:
    page = await Peer.connect(serving, origin=f"http://{serving.host}")
    assert (await page.next())["data"]["type"] == "human"
    script = await Peer.enter(serving)
    assert script.me["member_id"] == page.me["member_id"]


@pytest.mark.parametrize("token", ["nonsense", "qd_" + "0" * 32 + "_" + "x" * 43, "a" * 5000])
async def test_who_is_not_known_is_told_and_closed_with_4401(serving: Serving, token: str) -> None:
    peer = await Peer.connect(serving, token)
    assert (await peer.next())["type"] == "auth.error"
    assert (await peer.parted()).code == 4401
    assert token not in "".join(serving.log)


async def test_a_revoked_token_closes_its_socket(serving: Serving) -> None:
    board = await Board.make(serving)
    peer = await board.enter(0)
    async with asyncio.timeout(1):
        await post(serving, f"/members/{board.agents[0]['id']}/token", {})
        assert (await peer.parted()).code == 4401
    again = await Peer.connect(serving, board.agents[0]["token"])
    assert (await again.next())["type"] == "auth.error"
    other = await board.enter(1)
    await ask(serving, "DELETE", f"{API}/members/{board.agents[1]['id']}")
    assert (await other.parted()).code == 4401


async def test_whoever_says_nothing_is_sent_away(serving: Serving) -> None:
    peer = await Peer.connect(serving)
    assert (await peer.next())["data"]["code"] == "auth_timeout"
    assert (await peer.parted()).code == 4401


@pytest.mark.parametrize(
    ("more", "host"),
    [
        ("Origin: http://evil.example\r\n", None),
        ("Origin: null\r\n", None),
        ("Sec-Fetch-Site: cross-site\r\n", None),
        ("", "evil.example"),
    ],
)
async def test_a_foreign_page_is_refused_before_the_upgrade(serving: Serving, more: str, host: str | None) -> None:
    status, _ = await handshake(serving, more, host)
    assert status in {403, 421}


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("Sec-WebSocket-Version: 13", 426),
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", 400),
    ],
)
async def test_a_handshake_that_lacks_a_part_is_refused(serving: Serving, line: str, status: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", serving.port)
    writer.write(HANDSHAKE.format(host=serving.host, more="").replace(line + "\r\n", "").encode())
    assert int((await reader.readuntil(b"\r\n\r\n")).split()[1]) == status
    writer.close()


RAW: list[tuple[str | bytes, int]] = [
    (b"\x00\x01", 1003),
    ("x" * 300_000, 1009),
]


@pytest.mark.parametrize(("frame", "code"), RAW)
async def test_what_is_no_frame_of_ours_ends_the_connection(serving: Serving, frame: str | bytes, code: int) -> None:
    known = await agent(serving)
    peer = await Peer.enter(serving, known["token"])
    await peer.raw(frame)
    assert (await peer.parted()).code == code


@pytest.mark.parametrize(
    "frame",
    [
        "nonsense",
        "[]",
        "{}",
        '{"type": 7}',
        '{"type": "no.such.thing"}',
        '{"type": "chat.send", "data": {"chat_id": "x"}}',
        '{"type": "chat.send", "data": {"chat_id": "x", "content": "y", "role": "user"}}',
        '{"type": "agent.stream.delta", "data": {"stream_id": "../../x", "delta": "y"}}',
        '{"type": "agent.stream.delta", "data": {"stream_id": "x", "delta": "\\ud800"}}',
        '{"type": "agent.stream.delta", "data": {"stream_id": "x", "delta": "\\u0000"}}',
        '{"type": "ping", "type": "ping"}',
        "[" * 1000,
    ],
)
async def test_a_bad_frame_is_answered_and_the_connection_goes_on(serving: Serving, frame: str) -> None:
    known = await agent(serving)
    peer = await Peer.enter(serving, known["token"])
    await peer.raw(frame)
    told = await peer.until("error")
    assert told["code"]
    assert told["detail"]
    assert (await peer.ask("ping"))["type"] == "pong"


async def test_too_many_bad_frames_end_the_connection(serving: Serving) -> None:
    peer = await Peer.enter(serving, (await agent(serving))["token"])
    for _ in range(60):
        await peer.raw("nonsense")
    assert (await peer.parted()).code == 4400


@pytest.mark.parametrize(
    "kind", ["auth.ok", "approval.granted", "approval.decided", "run.completed", "audit.x", "error"]
)
async def test_what_only_the_server_says_is_a_strike_and_three_are_the_end(serving: Serving, kind: str) -> None:
    peer = await Peer.enter(serving, (await agent(serving))["token"])
    for _ in range(3):
        await peer.say(kind)
    assert (await peer.parted()).code == 4403


async def test_another_name_is_a_strike_and_ones_own_is_not(serving: Serving) -> None:
    board = await Board.make(serving)
    peer = await board.enter(0)
    own = {"agent_id": board.agents[0]["id"], "agent_slug": board.agents[0]["slug"]}
    assert (await peer.ask("agent.stream.start", **board.stream(), **own))["type"] == "ok"
    other = {"agent_id": board.agents[1]["id"], "agent_slug": board.agents[1]["slug"]}
    assert (await peer.ask("agent.stream.start", **board.stream(), **other))["data"]["code"] == "forged"


async def test_a_flood_of_pings_ends_the_connection(serving: Serving) -> None:
    peer = await Peer.enter(serving, (await agent(serving))["token"])
    with contextlib.suppress(websockets.ConnectionClosed):
        for _ in range(2000):
            await peer.socket.ping()
    await peer.socket.wait_closed()
    assert peer.socket.close_code in {1008, 1006}


async def test_who_sends_too_fast_waits_and_loses_nothing(serving: Serving) -> None:
    board = await Board.make(serving)
    speaker, watcher = await board.enter(0), await board.enter(1)
    begun = board.stream()
    await speaker.ask("agent.stream.start", **begun)
    many = [f"{n} " for n in range(700)]
    for text in many:
        await speaker.say("agent.stream.delta", stream_id=begun["stream_id"], delta=text)
    await speaker.say("agent.stream.end", stream_id=begun["stream_id"])
    assert (await watcher.until("agent.stream.end"))["final_message"] == "".join(many).strip()


async def test_so_many_newcomers_of_one_address_and_no_more(start: Start) -> None:
    serving = start(constants={"server.hub.limits.NEWCOMERS": 3, "server.hub.limits.HELLO_S": 10})
    waiting = [await Peer.connect(serving) for _ in range(3)]
    assert (await handshake(serving))[0] == 429
    waiting[0].cut()
    await waiting[0].socket.wait_closed()
    assert await Peer.enter(serving, (await agent(serving))["token"])


async def test_a_server_that_goes_says_so(start: Start) -> None:
    serving = start()
    peer = await Peer.enter(serving)
    serving.ask_to_go()
    parted = await peer.parted()
    assert parted.code == 4503
    serving.wait()


async def test_a_client_that_is_cut_at_any_byte_of_the_handshake_harms_nobody(serving: Serving) -> None:
    whole = HANDSHAKE.format(host=serving.host, more="").encode() + b"\x81\x85\x00\x00\x00\x00hello"
    for at in range(1, len(whole), 9):
        with socket.create_connection(("127.0.0.1", serving.port)) as raw:
            raw.sendall(whole[:at])
    assert await Peer.enter(serving)


async def test_who_is_silent_for_too_long_is_let_go(start: Start) -> None:
    """As a connection is whose other end lost its power: nothing comes, not even the answer to a ping."""
    silence = {"server.hub.limits.PING_S": 0.1, "server.hub.limits.DEAD_S": 0.4, "server.hub.hub.SWEEP_S": 0.05}
    serving = start(constants=silence)
    board = await Board.make(serving)
    reader, writer = await asyncio.open_connection("127.0.0.1", serving.port)
    more = f"Authorization: Bearer {board.agents[0]['token']}\r\n"
    writer.write(HANDSHAKE.format(host=serving.host, more=more).encode())
    said = b""
    async with asyncio.timeout(BOUND_S):
        while data := await reader.read(65536):
            said += data
    writer.close()
    assert b"\x89\x00" in said, "it was asked whether it is there"
    assert (4408).to_bytes(2, "big") in said
    living = await board.enter(1)
    for _ in range(4):
        await living.socket.ping()
        assert (await living.ask("ping"))["type"] == "pong"


def test_the_hub_answers_in_process_as_well(tmp_path: Path) -> None:
    """On a server that is not ours, or none at all: plain ASGI."""
    app = create_app(lambda: Settings(tmp_path / "quarterdeck.db", "memory"))
    with TestClient(app, base_url="http://localhost") as client, client.websocket_connect("/ws") as socket:
        socket.send_json({"type": "auth", "data": {}})
        assert socket.receive_json()["type"] == "auth.ok"
        project = client.post("/api/v1/projects", json={"name": "P", "slug": "p"}).json()
        assert socket.receive_json()["data"]["id"] == project["id"]
        client.post(f"/api/v1/chats/{project['chat_id']}/messages", json={"content": "hello"})
        told = [socket.receive_json()]
        while told[-1]["type"] != "chat.message":
            told.append(socket.receive_json())
        assert told[-1]["data"]["content"] == "hello"
