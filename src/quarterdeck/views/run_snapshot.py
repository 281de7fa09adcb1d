"""A run as it stands at one place of its stream: what a reader starts from who does not want the whole past."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from quarterdeck.events import run as ev
from quarterdeck.events.base import Event


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """snapshot(S) and the events behind S give snapshot(n), for every S and n."""

    seq: int = 0
    status: str = "queued"
    stage: str | None = "queued"
    attempt: int = 0
    content: str = ""
    reasoning: str = ""
    code: str | None = None
    detail: str | None = None

    def told(self) -> dict[str, Any]:
        return asdict(self)

    def stored(self) -> bytes:
        return orjson.dumps(self)


def restored(data: bytes) -> RunSnapshot:
    return RunSnapshot(**orjson.loads(data))


def evolve(shot: RunSnapshot, event: Event) -> RunSnapshot:
    return _evolved(replace(shot, seq=shot.seq + event.span), event)


def _evolved(shot: RunSnapshot, event: Event) -> RunSnapshot:
    match event:
        case ev.RunClaimed():
            return replace(shot, status="running")
        case ev.StageChanged(stage):
            return replace(shot, stage=stage)
        case ev.AttemptStarted(attempt, role):
            begun = replace(shot, attempt=attempt)
            return replace(begun, content="", reasoning="") if role == "thinker" else begun
        case ev.ContentStreamed(_, texts):
            return replace(shot, content=shot.content + "".join(texts))
        case ev.ReasoningStreamed(_, texts):
            return replace(shot, reasoning=shot.reasoning + "".join(texts))
        case ev.AttemptSuperseded():
            return replace(shot, content="", reasoning="")
        case ev.RunFinished(outcome, _, code, detail):
            return replace(shot, status=outcome, stage=None, code=code, detail=detail)
        case _:
            return shot
