"""A peer on the hub that knows WebSockets and JSON and nothing of the product; and a board to meet at."""

from __future__ import annotations

import asyncio
import json
import socket
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import websockets
from door_client import ask
from door_serving import BOUND_S, Serving
from websockets.asyncio.client import ClientConnection

from quarterdeck.server.asyncapi import KINDS
from quarterdeck.server.hub.told import BY_TYPE, TEAM_EVENTS, Kept, KeptOfTeam, Told

API = "/api/v1"


_PEERS: list[Peer] = []


async def close_peers() -> None:
    peers, _PEERS[:] = tuple(_PEERS), []
    for peer in peers:
        peer.cut()
        await peer.socket.wait_closed()


class Parted(Exception):
    """The server closed: with this code, and for this reason."""

    def __init__(self, code: int | None, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.why = json.loads(reason)["code"] if reason.startswith("{") else reason


class Peer:
    """`heard` is every frame that came, in order."""

    def __init__(self, connection: ClientConnection) -> None:
        self.socket = connection
        self.heard: list[dict[str, Any]] = []
        _PEERS.append(self)

    @classmethod
    async def connect(
        cls,
        server: Serving,
        token: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: str = "",
        origin: str | None = None,
        narrow: bool = False,
    ) -> Peer:
        """One that is `narrow` has next to no room for what it does not read."""
        uri = f"ws://{server.host}/ws" + (f"?token={token}" if token else query)
        raw = socket.socket()
        if narrow:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.setblocking(False)
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", server.port))
        more: Any = {"additional_headers": dict(headers or {}), "origin": origin, "max_size": None, "sock": raw}
        return cls(await websockets.connect(uri, proxy=None, **more))

    @classmethod
    async def enter(cls, server: Serving, token: str | None = None) -> Peer:
        """As the agent of this token; without one, as this machine's owner."""
        peer = await cls.connect(server, token)
        if token is None:
            await peer.say("auth")
        assert (await peer.next())["type"] == "auth.ok"
        return peer

    @property
    def me(self) -> dict[str, Any]:
        return self.heard[0]["data"]

    async def say(self, kind: str, ref: object = None, **data: Any) -> None:
        told: dict[str, Any] = {"type": kind, "data": data}
        await self.raw(json.dumps(told if ref is None else {**told, "ref": ref}))

    async def raw(self, text: str | bytes) -> None:
        await self.socket.send(text)

    async def next(self) -> dict[str, Any]:
        """The frame that comes next; `Parted` where there is none any more."""
        try:
            async with asyncio.timeout(BOUND_S):
                said = await self.socket.recv()
        except websockets.ConnectionClosed as closed:
            raise Parted(closed.rcvd and closed.rcvd.code, closed.rcvd.reason if closed.rcvd else "") from None
        frame: dict[str, Any] = json.loads(said)
        _check(frame)
        self.heard.append(frame)
        return frame

    async def until(self, kind: str, fits: Callable[[dict[str, Any]], bool] = lambda _: True) -> dict[str, Any]:
        """The data of the next frame of this type."""
        while True:
            frame = await self.next()
            if frame["type"] == kind and fits(frame["data"]):
                data: dict[str, Any] = frame["data"]
                return data

    async def ask(self, kind: str, **data: Any) -> dict[str, Any]:
        """Say it and wait for the answer, whatever comes before that."""
        ref = uuid.uuid4().hex
        await self.say(kind, ref, **data)
        while (frame := await self.next()).get("ref") != ref:
            pass
        return frame

    async def parted(self) -> Parted:
        while True:
            try:
                await self.next()
            except Parted as parted:
                return parted

    async def close(self) -> None:
        await self.socket.close()

    def cut(self) -> None:
        """As a cable is."""
        self.socket.transport.abort()


def _check(frame: dict[str, Any]) -> None:
    """Whatever the server tells is as the document has it."""
    model: type[Told] | None = BY_TYPE.get(frame["type"])
    if model is None and frame["type"] in TEAM_EVENTS:
        model = KeptOfTeam
    elif model is None:
        assert frame["type"] in {*KINDS, "event"}, frame
        model = Kept
    model.model_validate(frame["data"], strict=True)


@dataclass
class Board:
    """A project with two agents in it."""

    server: Serving
    project: dict[str, Any]
    agents: list[dict[str, Any]]

    @classmethod
    async def make(cls, server: Serving, agents: int = 2, **config: Any) -> Board:
        made = [await agent(server, **config) for _ in range(agents)]
        name = f"p-{uuid.uuid4().hex[:8]}"
        board = cls(server, await post(server, "/projects", {"name": name, "slug": name}), made)
        for each in made:
            await board.join(each)
        return board

    @property
    def id(self) -> str:
        return str(self.project["id"])

    @property
    def chat(self) -> str:
        return str(self.project["chat_id"])

    async def join(self, member: Mapping[str, Any]) -> None:
        await post(self.server, f"/projects/{self.id}/members", {"member": member["id"]})

    async def say(self, content: str) -> dict[str, Any]:
        """As the owner."""
        return await post(self.server, f"/chats/{self.chat}/messages", {"content": content})

    async def enter(self, which: int) -> Peer:
        return await Peer.enter(self.server, self.agents[which]["token"])

    def stream(self) -> dict[str, str]:
        """Where and as what a new stream begins."""
        return {"stream_id": str(uuid.uuid4()), "project_id": self.id, "chat_id": self.chat}


async def agent(server: Serving, **config: Any) -> dict[str, Any]:
    slug = f"a-{uuid.uuid4().hex[:8]}"
    return await post(server, "/members", {"type": "agent", "name": slug, "slug": slug, **config})


async def post(server: Serving, path: str, body: object, status: int = 201) -> dict[str, Any]:
    answer = await ask(server, "POST", API + path, body)
    assert answer.status == status, answer
    document: dict[str, Any] = answer.document
    return document


async def get(server: Serving, path: str) -> Any:
    answer = await ask(server, "GET", API + path)
    assert answer.status == 200, answer
    return answer.document
