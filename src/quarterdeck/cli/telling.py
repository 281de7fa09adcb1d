"""How a run is told in a terminal: reasoning dimmed, the answer plain, and what was taken back visibly so."""

from __future__ import annotations

import json
from typing import Any

from quarterdeck.cli.screen import Screen, fitted
from quarterdeck.client import Reply, Told

CUT_OFF = "(the model was cut off; trying again)"
LOST = {
    "stream.gap": "(the beginning is no longer kept; this is how it stands)",
    "stream.reset": "(the server's log is another one now; this is how it stands)",
    "snapshot": "(this is how it stands)",
}
LONGEST_CALL = 100
MOST_LINES = 5  # of what a call that failed has to say


class Telling:
    def __init__(self, screen: Screen) -> None:
        self._screen, self.reply = screen, Reply()
        self._speaking: str | None = None  # what the cursor is in the middle of
        self._ends_line = True
        self._heard: set[str] = set()  # calls whose output was shown as it came

    @property
    def task(self) -> str | None:
        return self.reply.task

    @property
    def failed(self) -> bool:
        return self.reply.status in {"failed", "quarantined"}

    def show(self, told: Told) -> None:
        before = len(self.reply.content) + len(self.reply.reasoning) if told.event == "attempt_superseded" else 0
        self.reply.apply(told)
        data = told.data
        match told.event:
            case "reasoning_delta" | "content_delta":
                self._say(told.event, str(data.get("delta", "")))
            case "attempt_superseded":
                gone = before > len(self.reply.content) + len(self.reply.reasoning)
                self._take_back(data, gone=gone)
            case "tool_call_started":
                arguments = json.dumps(data.get("args"), ensure_ascii=False)
                self.aside(fitted(f"· {data.get('tool')} {arguments}", LONGEST_CALL))
            case "tool_call_output":
                self._say(f"output of {data.get('call_id')}", str(data.get("delta", "")))
                self._heard.add(str(data.get("call_id")))
            case "tool_call_finished" if data.get("ok") is False:
                self._failed(data)
            case "memory_used" | "skill_activated":
                self.aside(fitted(recalled(data), LONGEST_CALL))
            case "stream.gap" | "stream.reset" | "snapshot":
                self._as_it_stands(told.event)
            case "done":
                self._done(data)

    def pause(self) -> None:
        """End the line that is being written, if there is one."""
        if not self._ends_line:
            self._screen.plain("\n")
        self._speaking, self._ends_line = None, True

    def moved(self) -> None:
        """Somebody has ended a line at the keyboard: the cursor is at the beginning of one."""
        self._ends_line = True

    def _say(self, kind: str, text: str) -> None:
        if not self._screen.live or not text:
            return
        if self._speaking not in {None, kind}:
            self.pause()
            self._screen.plain("\n")
        self._speaking = kind
        self._ends_line = text.endswith("\n")
        if kind == "content_delta":
            self._screen.plain(text)
        else:
            self._screen.dim(text)

    def _failed(self, data: dict[str, Any]) -> None:
        """The first lines of why; what was shown as it came is not said again."""
        status = data.get("exit_status")
        how = f"· {data.get('tool')} failed" + (f" with exit status {status}" if status is not None else "")
        lines = str(data.get("result") or "").strip().splitlines()
        if not lines or (data.get("call_id") in self._heard and self._screen.live):
            self.aside(fitted(how, LONGEST_CALL))
            return
        self.aside(fitted(f"{how}: {lines[0]}", LONGEST_CALL))
        for line in lines[1:MOST_LINES]:
            self.aside(f"  {fitted(line, LONGEST_CALL)}")
        if len(lines) > MOST_LINES:
            self.aside(f"  … and {len(lines) - MOST_LINES} lines more")

    def _take_back(self, data: dict[str, Any], *, gone: bool) -> None:
        wait = data.get("retry_in") or 0
        if gone and self._screen.live:
            self.aside(CUT_OFF)
        elif wait >= 1 or gone:
            reason = str(data.get("reason") or "the model failed").partition(": ")[2] or "the model failed"
            self.aside(CUT_OFF if gone else f"({reason.rstrip('.')}; trying again in {wait:.0f} s)")

    def aside(self, line: str) -> None:
        self.pause()
        self._screen.note(line)

    def _as_it_stands(self, event: str) -> None:
        self.aside(LOST[event])
        self._say("reasoning_delta", self.reply.reasoning)
        self._say("content_delta", self.reply.content)

    def _done(self, data: dict[str, Any]) -> None:
        self.pause()
        if not self._screen.live and self.reply.content:
            self._screen.plain(self.reply.content.rstrip("\n") + "\n")
        self._screen.note(summary(data))
        if self.failed:
            self._screen.complain(str(data.get("detail") or "The run failed."))


def recalled(data: dict[str, Any]) -> str:
    """What of memory is used, or which skill: in one line."""
    if isinstance(memories := data.get("memories"), list):
        return "· remembered: " + "; ".join(str(one.get("text")) for one in memories)
    return f"· active skill: {data.get('name')} – {data.get('description')}"


def summary(done: dict[str, Any]) -> str:
    """How much and how fast, in one line."""
    stats = done.get("generation_stats") or {}
    tokens, rate, first = stats.get("tokens") or 0, stats.get("avg_tokens_per_second"), stats.get("first_token_ms")
    parts = [f"{tokens} token{'' if tokens == 1 else 's'}"]
    if tokens and rate:
        parts.append(f"{rate:.1f} tokens/s")
    if first is not None:
        parts.append(f"first after {first / 1000:.1f} s")
    said = " · ".join(parts)
    return said if done.get("status") == "completed" else f"{done.get('status')} · {said}"
