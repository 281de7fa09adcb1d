"""What is measured: how each target is started, what one turn asks of it, and how its events read."""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from pathlib import Path

import orjson

from wire import Event, request

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


class Target(ABC):
    """One thing under test. A `direct` target is the model itself and is set like it."""

    name: str
    about: str
    health = "/healthz"
    direct = False
    imports: str | None = None  # the package whose import time counts
    run_id: re.Pattern[bytes]  # finds, in the first bytes of an answer, the name under which others may watch it

    @abstractmethod
    def argv(self, port: int) -> list[str]: ...

    def env(self, folder: Path, upstream: int) -> dict[str, str]:  # noqa: ARG002
        return {"OPENAI_BASE_URL": f"http://127.0.0.1:{upstream}/v1", "OPENAI_API_KEY": "bench"}

    @abstractmethod
    def turn(self, session: str, text: str, *, watched: bool = False) -> bytes: ...

    @abstractmethod
    def watch(self, run: str) -> bytes: ...

    @abstractmethod
    def delta(self, event: Event) -> str:
        """The text that this event adds to the answer."""

    @abstractmethod
    def ends(self, event: Event) -> bool:
        """True for the event that says the answer is complete."""


class OpenAITarget(Target):
    """Anything that speaks the model's own protocol."""

    run_id = re.compile(rb'"id":"(chatcmpl-\d+)"')
    watched_path = "/v1/chat/completions"

    def turn(self, session: str, text: str, *, watched: bool = False) -> bytes:  # noqa: ARG002
        path = self.watched_path if watched else "/v1/chat/completions"
        message = {"role": "user", "content": text}
        return request("POST", path, {"model": "bench", "messages": [message], "stream": True})

    def watch(self, run: str) -> bytes:
        return request("GET", f"/watch/{run}")

    def delta(self, event: Event) -> str:
        if event.data == b"[DONE]":
            return ""
        choices = orjson.loads(event.data)["choices"]
        return choices[0]["delta"].get("content") or "" if choices else ""

    def ends(self, event: Event) -> bool:
        return event.data == b"[DONE]"


class Direct(OpenAITarget):
    name, direct, health = "direct", True, "/v1/models"
    about = "the mock model itself: the limit of the measuring"

    def argv(self, port: int) -> list[str]:
        return [sys.executable, str(HERE / "upstream.py"), "--port", str(port)]


class Proxy(OpenAITarget):
    name, watched_path = "proxy", "/watched"
    about = "a hand-written relay on Starlette and httpx, without persistence"

    def argv(self, port: int) -> list[str]:
        options = ["--app-dir", str(HERE), "--host", "127.0.0.1", "--port", str(port), "--backlog", "4096"]
        return [sys.executable, "-m", "uvicorn", "proxy:app", *options, "--no-access-log", "--log-level", "warning"]


class Quarterdeck(Target):
    """Quarterdeck as it ships, from this checkout: every token is committed before it is sent."""

    name = "quarterdeck"
    about = "Quarterdeck, durable"
    imports: str | None = "quarterdeck"
    run_id = re.compile(rb'"task_id": ?"([^"]+)"')

    def argv(self, port: int) -> list[str]:
        return [sys.executable, "-m", "quarterdeck", "serve", "--port", str(port)]

    def env(self, folder: Path, upstream: int) -> dict[str, str]:
        return super().env(folder, upstream) | {
            "PYTHONPATH": str(ROOT / "src"),
            "QUARTERDECK_MODEL": "openai/bench",
            "QUARTERDECK_DATA_DIR": str(folder / "data"),
            "DUCK_ENABLE_REFLECTION": "0",  # a second call of the model per turn, which nothing else here makes
        }

    def turn(self, session: str, text: str, *, watched: bool = False) -> bytes:  # noqa: ARG002
        body = {"message": text, "workspace": ".", "conversation_id": session, "loop": "native"}
        return request("POST", "/v1/chat/stream", body)

    def watch(self, run: str) -> bytes:
        return request("GET", f"/v1/tasks/{run}/stream")

    def delta(self, event: Event) -> str:
        return str(orjson.loads(event.data)["delta"]) if event.name == b"content_delta" else ""

    def ends(self, event: Event) -> bool:
        return event.name == b"done"


class Memory(Quarterdeck):
    name, imports = "memory", None
    about = "Quarterdeck on its memory storage"

    def env(self, folder: Path, upstream: int) -> dict[str, str]:
        return super().env(folder, upstream) | {"QUARTERDECK_STORAGE": "memory"}


TARGETS: dict[str, Target] = {target.name: target for target in (Direct(), Proxy(), Quarterdeck(), Memory())}
