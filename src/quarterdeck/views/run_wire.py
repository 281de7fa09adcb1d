"""A run's events as the runtime door tells them: one SSE frame for each place of the stream, made once for all readers.

Data is JSON with `task_id` as its first key and a blank after `:` and `,`; clients match on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from quarterdeck.events import run as ev
from quarterdeck.events import tool
from quarterdeck.events.base import Erased, Event, Unknown
from quarterdeck.kernel.cursor import print_place
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Row

Payload: TypeAlias = dict[str, Any]
Told: TypeAlias = tuple[int, str, Payload]

_printed = json.JSONEncoder(ensure_ascii=False).encode
_DELTA_NAMES = {ev.ContentStreamed.KIND: "content_delta", ev.ReasoningStreamed.KIND: "reasoning_delta"}


@dataclass(frozen=True, slots=True)
class RunDoor:
    """What every frame of one run needs to know beside its event."""

    task: str
    conversation: str
    epoch: str

    @property
    def named(self) -> Payload:
        """What a frame that stands for no event is about."""
        return {"task_id": self.task, "conversation_id": self.conversation}

    def said(self, event: str, place: int, payload: Payload) -> bytes:
        """A frame that stands for no event: a gap, a snapshot."""
        data = orjson.dumps(payload)
        return b"event: %b\nid: %b\ndata: %b\n\n" % (event.encode(), print_place(self.epoch, place).encode(), data)

    def frames(self, row: Row) -> bytes:
        """The row's frames. Kept with the row: the next watcher is handed the same bytes."""
        if row.wire is None:
            if (name := _DELTA_NAMES.get(row.kind)) is not None and row.version == 1:
                row.wire = self._deltas(row, name)
            else:
                row.wire = b"".join(map(self._frame, self.told(row)))
        return row.wire

    def told(self, row: Row) -> Iterator[Told]:
        """The row's events by the names that clients know."""
        event = event_of(row)
        if isinstance(event, ev.ContentStreamed | ev.ReasoningStreamed):
            name = _DELTA_NAMES[event.KIND]
            for place, text in enumerate(event.texts, row.first):
                yield place, name, {"task_id": self.task, "delta": text}
            return
        if row.last > row.first:  # of a kind only a later release knows: the places it takes are told, not passed over
            skipped = {"from": row.first, "to": row.last - 1, "why": "unknown"}
            yield row.last - 1, "skip", {"task_id": self.task, **skipped}
        name, payload = _told(event, row, self.conversation)
        yield row.last, name, {"task_id": self.task, **payload}

    def _frame(self, told: Told) -> bytes:
        place, name, payload = told
        data = _printed(payload)
        return f"id: v1.{self.epoch}.{place}\nevent: {name}\ndata: {data}\n\n".encode()

    def _deltas(self, row: Row, name: str) -> bytes:
        """The hot path, for the shape of delta that there is: no event is made, only a small template filled."""
        before = f"id: v1.{self.epoch}.".encode()
        between = f'\nevent: {name}\ndata: {{"task_id": "{self.task}", "delta": '.encode()
        dumps, texts = orjson.dumps, orjson.loads(row.data)["texts"]
        return b"".join(
            [b"%b%d%b%b}\n\n" % (before, place, between, dumps(text)) for place, text in enumerate(texts, row.first)]
        )


def _told(event: Event, row: Row, conversation: str) -> tuple[str, Payload]:
    match event:
        case ev.RunRequested():
            return "runtime_status", {"conversation_id": conversation, "stage": "queued"}
        case ev.StageChanged(stage) | ev.RunWaiting(stage):
            return "runtime_status", {"conversation_id": conversation, "stage": stage}
        case ev.AttemptSuperseded(attempt, since, reason, retry_in):
            span = {"from": since + 1, "to": row.first - 1}
            return "attempt_superseded", {"attempt": attempt, **span, "reason": reason, "retry_in": retry_in}
        case ev.RunFinished():
            return "done", {"conversation_id": conversation, **done_payload(event)}
        case Erased(kind) | Unknown(kind):
            return "event", {"kind": kind, "data": _loaded(row.data)}
        case _:
            return _told_of_tools(event, row)


def _told_of_tools(event: Event, row: Row) -> tuple[str, Payload]:
    match event:
        case tool.ToolStarted(call):
            return "tool_call_started", {"call_id": call.id, "tool": call.name, "args": _loaded(call.arguments)}
        case tool.ToolSaid(call_id, text):
            return "tool_call_output", {"call_id": call_id, "delta": text}
        case tool.ToolFinished():
            told = {"call_id": event.call_id, "tool": event.name, "ok": event.ok, "result": event.result}
            return "tool_call_finished", {**told, "exit_status": event.exit_status}
        case tool.ApprovalRequested():
            return "tool_approval_requested", _asked(event)
        case tool.PasswordRequested(approval, call_id, shown):
            asked = {"approval_id": approval, "call_id": call_id, "command": shown}
            return "tool_password_requested", {"status": "waiting_for_password", **asked}
        case _:
            return event.KIND.replace(".", "_").removeprefix("run_"), orjson.loads(row.data)


def _asked(event: tool.ApprovalRequested) -> Payload:
    status = "waiting_for_answer" if event.asked == "answer" else "waiting_for_approval"
    asked = {"status": status, "approval_id": event.approval, "tool": event.tool, "args": _loaded(event.arguments)}
    why = {"reason": event.reason, "risk_level": event.risk, "action_type": event.action, "why": event.why}
    rest = {"call_id": event.call_id, "asked": event.asked, "shown": event.shown, "expires_at": event.expires_at}
    return {**asked, **why, **rest, "always": event.rule is not None}


def done_payload(event: ev.RunFinished) -> Payload:
    return {
        "status": event.outcome,
        "code": event.code,
        "detail": event.detail,
        "generation_stats": orjson.loads(orjson.dumps(event.stats)),
        "usage": orjson.loads(orjson.dumps(event.usage)),
    }


def _loaded(text: str | bytes) -> object:
    """JSON where it is JSON, the text itself where a model wrote something else."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text if isinstance(text, str) else text.decode("utf-8", "replace")
