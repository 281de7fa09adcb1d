"""An agent of your own: it joins with a token, hears what concerns it, and answers piece by piece.

    python examples/hub_agent.py http://127.0.0.1:8101 qd_…

The token is shown once when you add the agent: `POST /api/v1/members`, or the board of the control room.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

from quarterdeck.client import Delivery, HubClient


async def think(delivery: Delivery) -> AsyncIterator[str]:
    """Put your model here. This one repeats what it heard, a word at a time."""
    words = str(delivery.data.get("content") or delivery.data.get("title") or "your task").split()
    for word in ("You", "said:", *words):
        yield word + " "


async def work(hub: HubClient, delivery: Delivery) -> None:
    if delivery.wakes and delivery.reason in {"mention", "message", "assignment", "comment", "sent_back"}:
        async with hub.speak_about(delivery) as stream:
            async for text in think(delivery):
                await stream.say(text)
    await hub.ack(delivery)


async def main(url: str, token: str) -> None:
    async with HubClient(url, token) as hub:
        print(f"{hub.me['name']} is in {len(hub.me['projects'])} projects", flush=True)
        async for delivery in hub.deliveries():
            print(f"{delivery.reason}: {delivery.type}", flush=True)
            await work(hub, delivery)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
