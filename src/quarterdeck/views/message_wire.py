"""A run's events as the platform door tells them: the answer to a message, with the event's type inside the data too.

The same events as at the runtime door, by other names; `views/run_wire.py` says what each is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from quarterdeck.events.run import RunFinished, RunRequested
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Row
from quarterdeck.views.run_wire import Payload, RunDoor, Told

_printed = json.JSONEncoder(ensure_ascii=False).encode
_NAMES = {"content_delta": "token", "reasoning_delta": "reasoning", "runtime_status": "status"}


@dataclass(frozen=True, slots=True)
class MessageDoor:
    """An answer goes by the id of its run. Its frames are made for each watcher anew: there is one, as a rule."""

    message: str
    conversation: str
    epoch: str

    @property
    def named(self) -> Payload:
        return {"message_id": self.message, "conversation_id": self.conversation}

    def frames(self, row: Row) -> bytes:
        event = event_of(row)
        if isinstance(event, RunRequested):
            who = None if event.persona is None else event.persona.id
            return self.said("message_start", row.last, {**self.named, "employee_id": who})
        if isinstance(event, RunFinished):
            return self._ended(row.last, event)
        return b"".join(self.said(name, place, payload) for place, name, payload in self._told(row))

    def said(self, event: str, place: int, payload: Payload) -> bytes:
        data = _printed({"type": event, **payload})
        return f"id: v1.{self.epoch}.{place}\nevent: {event}\ndata: {data}\n\n".encode()

    def _told(self, row: Row) -> Iterator[Told]:
        for place, name, payload in RunDoor(self.message, self.conversation, self.epoch).told(row):
            named = {what: value for what, value in payload.items() if what not in {"task_id", "delta"}}
            words = {"content": payload["delta"]} if name in {"content_delta", "reasoning_delta"} else {}
            yield place, _NAMES.get(name, name), {"message_id": self.message, **words, **named}

    def _ended(self, place: int, event: RunFinished) -> bytes:
        """What went wrong is told in a frame of its own, and once more in the last one, for whoever comes back."""
        wrong = {"code": event.code, "detail": event.detail}
        told = b""
        if event.outcome not in {"completed", "stopped"}:
            told = f"event: error\ndata: {_printed({'type': 'error', **self.named, **wrong})}\n\n".encode()
        usage = orjson.loads(orjson.dumps(event.usage))
        counted = event.stats.tokens if event.usage.output_tokens is None else event.usage.output_tokens
        end = {**self.named, "status": event.outcome, "token_count": counted, "usage": usage, **wrong}
        return told + self.said("message_end", place, end)
