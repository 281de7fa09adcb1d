"""The yardstick of the hub: uvicorn's own WebSockets, a room by its number, every text passed on; nothing is stored."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

import uvicorn

ROOMS: dict[bytes, set[Any]] = defaultdict(set)


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "websocket":
        return
    room = ROOMS[scope["query_string"]]
    await receive()
    await send({"type": "websocket.accept"})
    room.add(send)
    try:
        while (message := await receive())["type"] == "websocket.receive":
            for each in tuple(room):
                await each({"type": "websocket.send", "text": message["text"]})
    finally:
        room.discard(send)


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), ws="websockets-sansio", loop="uvloop", log_level="warning", lifespan="off")
