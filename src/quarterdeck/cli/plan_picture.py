"""A team's plan in the terminal: drawn anew at each change where that can be, else told a line at a time."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from typing import Any

from quarterdeck.cli.screen import Screen, fitted
from quarterdeck.client import Told

MARKS = {"pending": "○", "running": "●", "completed": "✓", "failed": "✗", "skipped": "–", "stopped": "■"}
LOST = frozenset({"snapshot", "stream.gap", "stream.reset"})
LEAST_ROWS = 6


@dataclass
class Line:
    name: str
    expert: str
    after: tuple[str, ...] = ()
    status: str = "pending"
    detail: str = ""


@dataclass
class Picture:
    """What of a team's run is shown. `now` is what is done beside the phases."""

    version: int = 0
    why: str = ""
    phases: dict[str, Line] = field(default_factory=dict)
    now: str = ""
    answer: str = ""
    status: str = ""
    detail: str = ""

    def apply(self, told: Told) -> str | None:  # noqa: C901 - one line for each event
        """Take an event in; what of it is worth a line of its own, if anything."""
        data = told.data
        match told.event:
            case "plan_update":
                return self._changed(data)
            case "part_started":
                self.now = f"{data.get('expert')}: {data.get('work')}"
            case "part_ended":
                self.now = ""
                if data.get("end") == "failed":
                    return f"{data.get('part')} failed: {data.get('detail') or data.get('code')}"
            case "part_waiting":
                return f"{data.get('part')} waits for you: quarterdeck approvals list"
            case "plan_refused":
                return f"the plan could not be used: {data.get('why')}"
            case "debate_closed":
                sure = data.get("confidence")
                how = f", {sure:.0%} sure" if isinstance(sure, int | float) else ""
                return f"verdict ({data.get('why')}{how}): {data.get('verdict') or 'none'}"
            case "intervention_heeded":
                return f"{data.get('outcome')}: {data.get('detail')}"
            case "done":
                self.answer, self.status = str(data.get("answer") or ""), str(data.get("status"))
                self.detail, self.now = str(data.get("detail") or ""), ""
            case event if event in LOST:
                self._as_it_stands(data.get("snapshot") or {})
        return None

    def _changed(self, data: dict[str, Any]) -> str | None:
        phase = self.phases.get(str(data.get("phase")))
        match data.get("change"):
            case "plan":
                self.version, self.why, before = data["version"], str(data.get("why", "")), self.phases
                self.phases = {}
                for each in data["phases"]:
                    line = before.get(each["id"]) or Line("", "")
                    line.name, line.expert, line.after = each["name"], each["expert"], tuple(each["depends_on"])
                    self.phases[each["id"]] = line
                return f"plan {self.version}: {self.why}"
            case "started" if phase is not None:
                phase.status, phase.expert = "running", str(data.get("expert"))
            case "phase" if phase is not None:
                phase.status, phase.detail = str(data.get("status")), str(data.get("detail") or "")
                phase.expert = str(data.get("expert"))
                return f"{data.get('phase')}: {phase.status}" + (f" ({phase.detail})" if phase.detail else "")
            case "stopping":
                return f"applied: {data.get('detail')}"
        return None

    def _as_it_stands(self, shot: dict[str, Any]) -> None:
        self.version, self.phases = shot.get("plan_version", 0), {}
        for each in shot.get("phases", ()):
            line = Line(each["name"], each["expert"], tuple(each["depends_on"]), each["status"], each["detail"])
            self.phases[each["id"]] = line

    def lines(self, width: int) -> list[str]:
        shown = [f"plan {self.version}" + (f" · {self.why}" if self.why else "")] if self.version else ["planning …"]
        for name, line in self.phases.items():
            after = f" ← {', '.join(line.after)}" if line.after else ""
            why = f" · {line.detail}" if line.detail and line.status not in {"completed", "running"} else ""
            shown.append(f"  {MARKS.get(line.status, '?')} {name}: {line.name} [{line.expert}]{after}{why}")
        if self.now:
            shown.append(f"  … {self.now}")
        return [fitted(line, width) if not line.startswith(" ") else "  " + fitted(line, width - 2) for line in shown]


class Drawing:
    """Draws the picture at the foot of the terminal. What is typed ends a line there and is drawn over."""

    def __init__(self, screen: Screen) -> None:
        self._screen, self.picture = screen, Picture()
        self._drawn = 0
        self._lines: list[str] = []

    def show(self, told: Told) -> None:
        note = self.picture.apply(told)
        size = shutil.get_terminal_size((100, 24))
        lines = self.picture.lines(size.columns - 1)
        if not self._screen.live or len(lines) > max(LEAST_ROWS, size.lines - 4):
            self._drawn = 0
            if note is not None:
                self._screen.note(f"· {fitted(note, size.columns - 3)}")
            return
        if lines == self._lines and note is None and self._drawn:
            return  # what somebody is typing meanwhile stays to be seen
        self._rub_out()
        if note is not None and told.data.get("change") not in {"phase", "plan"}:
            self._screen.note(f"· {fitted(note, size.columns - 3)}")
        for line in lines:
            self._screen.plain(line + "\n")
        self._drawn, self._lines = len(lines), lines

    def typed(self) -> None:
        """Somebody ended a line at the keyboard."""
        if self._drawn:
            self._drawn += 1

    def note(self, line: str) -> None:
        self._rub_out()
        self._screen.note(line)
        self._redraw()

    def finish(self) -> None:
        """The answer alone goes to stdout where nobody watches."""
        self._screen.plain(("\n" if self._screen.live else "") + self.picture.answer.rstrip("\n") + "\n")
        if self.picture.detail:
            self._screen.note(f"({self.picture.status}: {self.picture.detail})")

    def _redraw(self) -> None:
        if not self._screen.live:
            return
        lines = self.picture.lines(shutil.get_terminal_size((100, 24)).columns - 1)
        for line in lines:
            self._screen.plain(line + "\n")
        self._drawn = len(lines)

    def _rub_out(self) -> None:
        if self._drawn:
            sys.stdout.write(f"\x1b[{self._drawn}A\r\x1b[J")
            sys.stdout.flush()
            self._drawn = 0
