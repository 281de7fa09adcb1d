"""Measures the hub: members on projects, agents that stream, every delta stored before it is told.

    python bench/hub.py                                        1,000 members, 50 projects, 100 agents at 20 deltas/s
    python bench/hub.py --members 100 --projects 5 --agents 10 --seconds 3

Beside it, in the same run, uvicorn's own WebSockets passing texts of the same length on to as many sockets, and storing
nothing. Every member's transcript is compared with the log: exits with 1 where one differs.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import os
import struct
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import uvloop

from process import OTHER_CORES, SERVER_CORES, Process, free_port

RAW = Path(__file__).with_name("hub_raw.py")
WORDS = ("I ", "need ", "to ", "look ", "at ", "this ", "more ", "closely; ")
DELTA = b'"type":"agent.stream.delta"'


@dataclass(slots=True)
class Measured:
    deliveries: int
    cpu_s: float
    seconds: float
    kb: float
    wrong: int


class Peer(asyncio.Protocol):
    """A client that costs little: it counts frames, and keeps a digest of the deltas it was told."""

    def __init__(self, path: str, host: str) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        self._hello = (
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        ).encode()
        self._buffer = b""
        self.open = False
        self.deltas = 0
        self.digest = hashlib.sha256()
        self.told: list[Any] = []
        self.news = asyncio.Event()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._hello)

    def say(self, kind: str, **data: Any) -> None:
        self.send(orjson.dumps({"type": kind, "data": data}))

    def send(self, payload: bytes) -> None:
        size = len(payload)
        head = bytes((0x81, 0x80 | size)) if size < 126 else struct.pack("!BBH", 0x81, 0xFE, size)
        self._transport.write(head + b"\0\0\0\0" + payload)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data
        at = 0
        if not self.open:
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                self._buffer = buffer
                return
            assert buffer.startswith(b"HTTP/1.1 101"), buffer[:300]
            self.open, at = True, end + 4
        while len(buffer) - at >= 2:
            size, begin = buffer[at + 1], at + 2
            if size == 126:
                size, begin = int.from_bytes(buffer[at + 2 : at + 4], "big"), at + 4
            elif size == 127:
                size, begin = int.from_bytes(buffer[at + 2 : at + 10], "big"), at + 10
            if len(buffer) < begin + size:
                break
            self._heard(buffer[at] & 15, buffer[begin : begin + size])
            at = begin + size
        self._buffer = buffer[at:]
        self.news.set()

    def _heard(self, opcode: int, payload: bytes) -> None:
        if opcode == 9:
            self._transport.write(b"\x8a\x80\0\0\0\0")
        elif opcode == 1 and (payload[1:28] == DELTA or payload.startswith(b"raw")):
            self.deltas += 1
            self.digest.update(payload)
        elif opcode == 1:
            self.told.append(orjson.loads(payload))

    async def until(self, ready: Any, seconds: float = 60.0) -> None:
        async with asyncio.timeout(seconds):
            while not ready():
                self.news.clear()
                await self.news.wait()

    def close(self) -> None:
        self._transport.abort()


async def connected(port: int, path: str) -> Peer:
    _, peer = await asyncio.get_running_loop().create_connection(
        lambda: Peer(path, f"127.0.0.1:{port}"), "127.0.0.1", port
    )
    await peer.until(lambda: peer.open)
    return peer


class Rest:
    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    async def __aenter__(self) -> Rest:
        self._session = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def post(self, path: str, body: object) -> Any:
        while True:
            async with self._session.post(f"{self._url}/api/v1{path}", json=body) as response:
                if response.status != 429:
                    assert response.status == 201, await response.text()
                    return await response.json()
            await asyncio.sleep(0.05)

    async def ready(self) -> None:
        for _ in range(600):
            try:
                async with self._session.get(f"{self._url}/healthz"):
                    return
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)
        raise SystemExit("the server did not start")


async def many(count: int, make: Any) -> list[Any]:
    """So many, sixteen at a time."""
    gate = asyncio.Semaphore(16)

    async def one(number: int) -> Any:
        async with gate:
            return await make(number)

    return list(await asyncio.gather(*(one(number) for number in range(count))))


async def board(rest: Rest, members: int, projects: int) -> tuple[list[Any], list[Any]]:
    made = await many(projects, lambda n: rest.post("/projects", {"name": f"p{n}", "slug": f"p-{n}"}))
    listening = {"type": "agent", "chat_listen": "none", "task_listen": "none"}
    people = await many(members, lambda n: rest.post("/members", {**listening, "name": f"a{n}", "slug": f"a-{n}"}))
    await many(
        members, lambda n: rest.post(f"/projects/{made[n % projects]['id']}/members", {"member": people[n]["id"]})
    )
    return made, people


async def paced(speak: Any, rate: float, seconds: float) -> int:
    """Call `speak` so often; returns how often."""
    loop, count = asyncio.get_running_loop(), int(rate * seconds)
    begin = loop.time() + 0.1
    for number in range(count):
        await asyncio.sleep(max(0.0, begin + number / rate - loop.time()))
        speak(number)
    return count


async def hub(asked: argparse.Namespace, folder: Path) -> Measured:
    port = free_port()
    env = {"QUARTERDECK_DATA_DIR": str(folder), "QUARTERDECK_MODEL": "local/none", "PYTHONUNBUFFERED": "1"}
    process = Process([sys.executable, "-m", "quarterdeck", "serve", "--port", str(port)], env, SERVER_CORES, folder)
    try:
        async with Rest(port) as rest:
            await rest.ready()
            projects, people = await board(rest, asked.members, asked.projects)
        idle = process.root.memory_info().rss
        peers = await many(asked.members, lambda n: connected(port, f"/ws?token={people[n]['token']}"))
        for peer in peers:
            await peer.until(lambda peer=peer: peer.told)
            assert peer.told[0]["type"] == "auth.ok", peer.told[0]
        kb = (process.root.memory_info().rss - idle) / asked.members / 1024
        return await measured(asked, process, port, projects, people, peers, kb)
    finally:
        process.popen.terminate()
        process.popen.wait(30)


async def measured(
    asked: argparse.Namespace, process: Process, port: int, projects: Any, people: Any, peers: list[Peer], kb: float
) -> Measured:
    streams = [str(uuid.uuid4()) for _ in range(asked.agents)]
    for number, stream in enumerate(streams):
        project = projects[number % asked.projects]
        start = {"stream_id": stream, "project_id": project["id"], "chat_id": project["chat_id"]}
        peers[number].say("agent.stream.start", **start)
    await asyncio.sleep(0.5)
    begin, cpu = time.monotonic(), process.cpu_s()

    def speaker(number: int) -> Any:
        return lambda k: peers[number].say(
            "agent.stream.delta", stream_id=streams[number], delta=WORDS[k % len(WORDS)], index=k
        )

    counts = await asyncio.gather(*(paced(speaker(n), asked.rate, asked.seconds) for n in range(asked.agents)))
    expected = [sum(c for n, c in enumerate(counts) if n % asked.projects == p) for p in range(asked.projects)]
    for number, peer in enumerate(peers):
        await peer.until(lambda peer=peer, number=number: peer.deltas >= expected[number % asked.projects])
    seconds, spent = time.monotonic() - begin, process.cpu_s() - cpu
    truth = [await transcript(port, people[p]["token"], projects[p]["id"], expected[p]) for p in range(asked.projects)]
    wrong = sum(peer.digest.digest() != truth[number % asked.projects] for number, peer in enumerate(peers))
    for peer in peers:
        peer.close()
    return Measured(sum(peer.deltas for peer in peers), spent, seconds, kb, wrong)


async def transcript(port: int, token: str, project: str, count: int) -> bytes:
    """What the log holds, read back from the beginning."""
    peer = await connected(port, f"/ws?token={token}")
    await peer.until(lambda: peer.told)
    peer.say("project.subscribe", project_id=project, after=0)
    await peer.until(lambda: peer.deltas >= count)
    peer.close()
    return peer.digest.digest()


async def raw(asked: argparse.Namespace, folder: Path) -> Measured:
    port = free_port()
    process = Process([sys.executable, str(RAW), str(port)], {}, SERVER_CORES, folder)
    try:
        async with Rest(port) as rest:
            await rest.ready()
        idle = process.root.memory_info().rss
        peers = await many(asked.members, lambda n: connected(port, f"/ws?{n % asked.projects}"))
        kb = (process.root.memory_info().rss - idle) / asked.members / 1024
        text = b"raw" + b"x" * 260
        begin, cpu = time.monotonic(), process.cpu_s()
        counts = await asyncio.gather(
            *(paced(lambda _, n=n: peers[n].send(text), asked.rate, asked.seconds) for n in range(asked.agents))
        )
        expected = [sum(c for n, c in enumerate(counts) if n % asked.projects == p) for p in range(asked.projects)]
        for number, peer in enumerate(peers):
            await peer.until(lambda peer=peer, number=number: peer.deltas >= expected[number % asked.projects])
        spent = process.cpu_s() - cpu
        return Measured(sum(peer.deltas for peer in peers), spent, time.monotonic() - begin, kb, 0)
    finally:
        process.popen.terminate()
        process.popen.wait(30)


def line(name: str, each: Measured, asked: argparse.Namespace) -> str:
    late = each.seconds / (asked.seconds + 0.1)
    rate = each.deliveries / each.cpu_s
    return (
        f"| {name} | {each.deliveries:,} | {each.cpu_s:.2f} | {rate:,.0f} | {late:.2f} | {each.kb:.1f} | {each.wrong} |"
    )


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("members", 1000), ("projects", 50), ("agents", 100), ("rate", 20), ("seconds", 10)):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    os.sched_setaffinity(0, OTHER_CORES)
    found = {}
    for name, measure in (("uvicorn, nothing stored", raw), ("Quarterdeck", hub)):
        with tempfile.TemporaryDirectory() as folder:
            found[name] = await measure(asked, Path(folder))
    print(f"{asked.members} members, {asked.projects} projects, {asked.agents} agents at {asked.rate} deltas/s\n")
    print(
        "| | deliveries | CPU-s | deliveries per CPU-s | time needed / asked | kB per connection | wrong transcripts |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, each in found.items():
        print(line(name, each, asked))
    return 1 if found["Quarterdeck"].wrong else 0


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
