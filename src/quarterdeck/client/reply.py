"""What a run has said so far, folded from its events; text that no longer counts is dropped."""

from __future__ import annotations

from typing import Any

from quarterdeck.client.stream import Told

TEXTS = {"content_delta": "content", "reasoning_delta": "reasoning"}


class Reply:
    def __init__(self) -> None:
        self.task: str | None = None
        self.conversation: str | None = None
        self.stage: str | None = None
        self.done: dict[str, Any] | None = None
        self._texts: list[tuple[int, str, str]] = []

    @property
    def content(self) -> str:
        return "".join(text for _, kind, text in self._texts if kind == "content")

    @property
    def reasoning(self) -> str:
        return "".join(text for _, kind, text in self._texts if kind == "reasoning")

    @property
    def status(self) -> str | None:
        return None if self.done is None else str(self.done.get("status"))

    def apply(self, told: Told) -> None:
        data = told.data
        self.task = data.get("task_id", self.task)
        self.conversation = data.get("conversation_id", self.conversation)
        if told.event in TEXTS:
            self._texts.append((told.seq, TEXTS[told.event], str(data.get("delta", ""))))
        elif told.event == "attempt_superseded":
            self.taken_back(data.get("from", 0), data.get("to", 0))
        elif told.event == "runtime_status":
            self.stage = data.get("stage")
        elif told.event == "done":
            self.done = data
        elif isinstance(shot := data.get("snapshot"), dict):
            self.stage = shot.get("stage")
            said = [(told.seq, kind, str(shot.get(kind) or "")) for kind in ("reasoning", "content")]
            self._texts = [piece for piece in said if piece[2]]

    def taken_back(self, first: int, last: int) -> bool:
        """Drop the text of these places; whether there was any. Text of a snapshot stands at the snapshot's place."""
        kept = [piece for piece in self._texts if not first <= piece[0] <= last]
        gone = len(kept) != len(self._texts)
        self._texts = kept
        return gone
