"""What a client's screen shows, from frames alone: the independent half of the snapshot law."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from door_client import Frame


@dataclass
class Shown:
    """What a client's screen shows of a run: folded from frames alone, beginning from a snapshot where it was given."""

    seq: int = 0
    status: str = "queued"
    stage: str | None = "queued"
    attempt: int = 0
    content: str = ""
    reasoning: str = ""
    code: str | None = None
    detail: str | None = None

    def take(self, frame: Frame) -> Shown:
        data, seq = frame.data, frame.seq
        if seq is None:
            return self
        if "snapshot" in data:
            assert data["snapshot"]["seq"] == seq
            return Shown(**data["snapshot"])
        if frame.event == "skip":
            assert data["to"] == seq
            return replace(self, seq=seq)
        assert seq == self.seq + 1, f"{self.seq} is followed by {seq}"
        return replace(self._taken(frame.event, data), seq=seq)

    def _taken(self, event: str, data: Any) -> Shown:
        if event == "runtime_status":
            return replace(self, stage=data["stage"])
        if event == "claimed":
            return replace(self, status="running")
        if event == "attempt_started":
            return replace(self, attempt=data["attempt"], content="", reasoning="")
        if event in {"content_delta", "reasoning_delta"}:
            field = event.removesuffix("_delta")
            return replace(self, **{field: getattr(self, field) + data["delta"]})
        if event == "attempt_superseded":
            return replace(self, content="", reasoning="")
        if event == "done":
            return replace(self, status=data["status"], stage=None, code=data["code"], detail=data["detail"])
        return self


def shown(frames: list[Frame]) -> Shown:
    screen = Shown()
    for frame in frames:
        screen = screen.take(frame)
    return screen
