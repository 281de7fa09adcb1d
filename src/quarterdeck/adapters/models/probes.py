"""Looking for models that run on this machine: who listens on the usual ports, and what it lists."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import orjson

from quarterdeck.adapters.models.calls import BROKEN
from quarterdeck.adapters.models.endpoint import Labels
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.openai_chat import OpenAIChat
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.ports import Traits

NEARBY_S = 0.3
REMOTE_S = 3.0
LONGEST_LIST = 1 << 20
LEAST = Traits(schema=True)
NOT_FOR_CHAT = ("embed", "whisper", "tts", "rerank", "bge-", "dall-e", "moderation")


@dataclass(frozen=True, slots=True)
class Place:
    provider: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Running:
    """A model at a place. `traits` is what the server said it can do, if it said anything."""

    place: Place
    name: str
    traits: Traits = LEAST


# In the order in which they are preferred.
LOOPBACK = (
    Place("ollama", "http://127.0.0.1:11434/v1"),
    Place("lmstudio", "http://127.0.0.1:1234/v1"),
    Place("llamacpp", "http://127.0.0.1:8080/v1"),
    Place("vllm", "http://127.0.0.1:8000/v1"),
)


async def first_running(places: tuple[Place, ...], http: Http) -> Running | None:
    """Ask all places at once; the first in order that lists a model for conversation."""
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(first_model(place, http)) for place in places]
    found = [(place, task.result()) for place, task in zip(places, asked, strict=True)]
    running = next(((place, name) for place, name in found if name), None)
    if running is None:
        return None
    return Running(*running, await _traits(*running, http))


async def first_model(place: Place, http: Http, *, patience_s: float = NEARBY_S) -> str | None:
    """The first model for conversation in a list of the shape that OpenAI's servers give, else None."""
    document = await _document("GET", place.base_url.rstrip("/") + "/models", place.api_key, http, patience_s)
    listed = document.get("data") if isinstance(document, dict) and document.get("object") == "list" else None
    entries = listed if isinstance(listed, list) else []
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)]
    return next((name for name in names if isinstance(name, str) and _for_chat(name)), None)


def model_at(running: Running, http: Http, patience: Patience | None = None) -> OpenAIChat:
    place = running.place
    labels = Labels(place.provider, "its settings", "its address")
    return OpenAIChat(
        model=running.name,
        base_url=place.base_url,
        api_key=place.api_key,
        http=http,
        patience=patience,
        traits=running.traits,
        labels=labels,
    )


def _for_chat(name: str) -> bool:
    return bool(name) and not any(word in name.lower() for word in NOT_FOR_CHAT)


async def _traits(place: Place, name: str, http: Http) -> Traits:
    """Ollama tells what a model can do; of the others we assume the least."""
    if place.provider != "ollama":
        return LEAST
    url = place.base_url.removesuffix("/v1") + "/api/show"
    document = await _document("POST", url, None, http, NEARBY_S, {"model": name})
    can = document.get("capabilities") if isinstance(document, dict) else None
    can = can if isinstance(can, list) else []
    return Traits(tools="tools" in can, schema=True, reasoning="thinking" in can)


async def _document(
    method: str, url: str, key: str | None, http: Http, patience_s: float, body: dict[str, str] | None = None
) -> Any:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    session = await http.session()
    try:
        async with (
            asyncio.timeout(patience_s),
            session.request(method, url, json=body, headers=headers, allow_redirects=False) as response,
        ):
            if response.status != 200:
                return None
            data = b""
            while len(data) < LONGEST_LIST and (more := await response.content.readany()):
                data += more
            return orjson.loads(data)
    except (*BROKEN, TimeoutError, ValueError):
        return None
