"""Being asked by a run, and stepping in, in the terminal; where nobody can be asked, saying how to answer elsewhere."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from quarterdeck.cli.backstage import Backstage, Turn
from quarterdeck.cli.keyboard import Keyboard, Typed, hidden
from quarterdeck.cli.question import Allow, Deny, Open, Outcome, Question, card, choices, question, understood
from quarterdeck.cli.screen import Screen, fitted
from quarterdeck.cli.telling import LOST, Telling
from quarterdeck.client import Client, Told
from quarterdeck.kernel.errors import Problem, Unavailable

Mode: TypeAlias = Literal["steer", "queue", "interrupt"]

PROMPT = "password (it is not shown, and kept nowhere): "
HINT = "(what you type while it works steers it; `! …` breaks in at once, `+ …` waits for the answer)"
MODES: dict[str, Mode] = {"!": "interrupt", "+": "queue"}
TAKEN = {
    "steer": "(noted; it is heeded at the next step)",
    "queue": "(noted; it is said after this answer)",
    "interrupt": "(noted; what goes on is broken off)",
}
DECIDED = {
    "approved": "allowed",
    "denied": "refused",
    "happened": "it happened",
    "again": "to be done again",
    "expired": "nobody answered in time",
    "cancelled": "called off",
    "voided": "it is not any more what was asked about",
    "given": "the password was given",
}
ANSWERED = frozenset({"approval_decided", "approval_gone", "password_not_wanted", "run_ended"})
LINE = 100


class Unanswered(Unavailable):
    code = "waits_for_a_person"


@dataclass(frozen=True, slots=True)
class Way:
    """What another command needs to reach the run: options, and a server where this one's ends with it."""

    options: str = ""
    start: bool = False


@dataclass(frozen=True, slots=True)
class Here:
    """Where the person is, and how they could answer from elsewhere."""

    keyboard: Keyboard
    way: Way


class Asked(Protocol):
    """Whoever hears what a run asks. `next_run` is what goes on where this one ends."""

    next_run: str | None

    def heard(self, told: Told) -> None: ...

    def typed(self, typed: Typed) -> None: ...

    def unanswered(self) -> Unanswered | None: ...


class Elsewhere:
    """Nobody can be asked here: as soon as the run waits for a person, it says how to answer and how to go on."""

    next_run: str | None = None

    def __init__(self, way: Way) -> None:
        self._open, self._way = Open(), way

    def heard(self, told: Told) -> None:
        self._open.apply(told)
        if told.event == "runtime_status" and str(told.data.get("stage", "")).startswith("waiting_for_"):
            waits = self.unanswered()
            if waits is not None:
                raise waits

    def typed(self, typed: Typed) -> None:
        """There is no keyboard."""

    def unanswered(self) -> Unanswered | None:
        return left_open(self._open.all.values(), self._way)


class Asking:
    """Questions are asked one after the other. What is typed answers the one that is shown; else it is for the run."""

    def __init__(self, stage: Backstage, client: Client, screen: Screen, telling: Telling, here: Here) -> None:
        self._stage, self._client, self._screen = stage, client, screen
        self._telling, self._here = telling, here
        self._open = Open()
        self._sent: set[str] = set()  # answered from here; whether it counts is not known yet
        self._shown: Question | None = None
        self._shown_at = 0.0
        self.next_run: str | None = None

    def heard(self, told: Told) -> None:
        gone = self._open.apply(told)
        match told.event:
            case "approval_decided" | "approval_password_given":
                self._decided(told.data, gone)
            case "intervention_applied":
                self._heeded(told.data)
            case "intervention_expired":
                self._telling.aside(fitted(f"(what you said was not heeded: {told.data.get('why')})", LINE))
            case "tool_approval_requested" | "tool_password_requested":
                self._sent.discard(str(told.data.get("approval_id")))
            case event if event in LOST and self._telling.task is not None:
                self._stage.meanwhile(self._client.approvals(pending=False, task=self._telling.task), self._found)
        self._ask()

    def typed(self, typed: Typed) -> None:
        self._telling.moved()
        line = typed.line.strip()
        asked = self._shown
        if asked is None or typed.at < self._shown_at or not _may_answer(asked, line):
            self._say(line)
        elif (said := understood(asked, line)) is None:
            self._telling.aside(f"({choices(asked)})")
        else:
            self._send(asked, self._answer(asked, said))

    def unanswered(self) -> Unanswered | None:
        return left_open(self._open.all.values(), self._here.way)

    # Questions

    def _ask(self) -> None:
        while self._shown is None:
            waiting = [asked for ident, asked in self._open.all.items() if ident not in self._sent]
            if not waiting:
                return
            self._show(waiting[0])

    def _show(self, asked: Question) -> None:
        self._here.keyboard.forget()
        self._telling.pause()
        self._shown, self._shown_at = asked, time.monotonic()  # before it can be seen, so that a quick answer is one
        self._screen.plain(card(asked))
        if asked.kind == "password":
            self._ask_password(asked)

    def _ask_password(self, asked: Question) -> None:
        password = ""
        try:
            with self._stage.hushed():
                while not password:
                    password = hidden(PROMPT)
        except (KeyboardInterrupt, EOFError) as key:
            self._stage.turn(Turn.LEFT if isinstance(key, EOFError) else Turn.INTERRUPTED)
        else:
            self._send(asked, self._client.give_password(asked.run, asked.id, password))

    def _answer(self, asked: Question, said: Allow | Deny | Outcome) -> Coroutine[Any, Any, Any]:
        match said:
            case Allow(reach, words):
                return self._client.allow(asked.id, reach, words=words)
            case Deny(words):
                return self._client.deny(asked.id, words)
            case Outcome(ending, words):
                return self._client.outcome(asked.id, ending, words)

    def _send(self, asked: Question, answer: Coroutine[Any, Any, Any]) -> None:
        self._sent.add(asked.id)
        self._shown = None
        self._stage.meanwhile(answer, lambda came: self._answered(asked, came))
        self._ask()

    def _answered(self, asked: Question, came: object) -> None:
        """Taken; or somebody was quicker; or it is to be asked again."""
        if not isinstance(came, Problem):
            return
        self._telling.aside(f"({came.detail})")
        if came.code not in ANSWERED:
            self._sent.discard(asked.id)
            self._ask()

    def _decided(self, data: dict[str, Any], gone: Question | None) -> None:
        decision = str(data.get("decision") or "given")
        if decision == "voided":
            self._telling.aside(f"({data.get('words') or 'What was allowed has changed.'} Nothing was done.)")
        if gone is None or gone.id in self._sent:
            return
        by = f" by {data['by']}" if data.get("by") not in {None, "system"} else ""
        self._telling.aside(fitted(f"(no longer asked: {DECIDED.get(decision, decision)}{by})", LINE))
        if self._shown is not None and self._shown.id == gone.id:
            self._shown = None

    def _found(self, came: list[dict[str, Any]] | Problem) -> None:
        """What is open where the past was left out."""
        if isinstance(came, Problem):
            self._telling.aside(f"({came.detail})")
            return
        found = [question(one) for one in came[::-1] if one["status"] == "pending" or one["waiting_for_password"]]
        self._open.all = {asked.id: asked for asked in found}
        if self._shown is not None and self._shown.id not in self._open.all:
            self._shown = None
        self._ask()

    # Stepping in

    def _say(self, line: str) -> None:
        mode = _mode(line)
        text = line if mode == "steer" else line[2:].strip()
        task = self._telling.task
        if not text:
            return
        if task is None:
            self._telling.aside("(not said: the run has not begun yet)")
            return
        self._stage.meanwhile(self._client.intervene(task, text, mode), lambda came: self._taken(mode, came))

    def _taken(self, mode: Mode, came: dict[str, Any] | Problem) -> None:
        self._telling.aside(f"(not said: {came.detail})" if isinstance(came, Problem) else TAKEN[mode])

    def _heeded(self, data: dict[str, Any]) -> None:
        if isinstance(after := data.get("next_run"), str):
            self.next_run = after
            self._telling.aside("(what you said for later comes now)")
        else:
            self._telling.aside(f"(heeded from step {data.get('step')})")


def _may_answer(asked: Question, line: str) -> bool:
    """To a question every line is the answer. A password is typed where nobody sees it, and words to a run say so."""
    return asked.kind == "answer" or (asked.kind != "password" and _mode(line) == "steer")


def _mode(line: str) -> Mode:
    return MODES.get(line[:1], "steer") if line[1:2] == " " else "steer"


def left_open(asked: Iterable[Question], way: Way) -> Unanswered | None:
    """What is still asked, with the commands that look at it, answer it, and watch how the run goes on."""
    open_ones = list(asked)
    if not open_ones:
        return None
    tools = ", ".join(dict.fromkeys(one.tool or one.shown for one in open_ones))
    lines = [f"The run waits for you ({fitted(tools, LINE)}). Look, answer, and see how it goes on:"]
    lines += ["quarterdeck serve   (no server of its own stays behind this command)"] if way.start else []
    for one in open_ones:
        lines += [f"quarterdeck approvals {verb} {one.id}{words}{way.options}" for verb, words in _verbs(one)]
    lines.append(f"quarterdeck runs watch {open_ones[0].run}{way.options}")
    return Unanswered("\n  ".join(lines))


def _verbs(asked: Question) -> tuple[tuple[str, str], ...]:
    show = ("show", "")
    match asked.kind:
        case "tool":
            return (show, ("allow", ""), ("deny", " --words 'why not'"))
        case "answer":
            return (show, ("allow", " --words 'your answer'"))
        case "outcome":
            return (show, ("outcome", " happened"), ("outcome", " again"), ("outcome", " give_up"))
        case "password":
            return (show, ("password", ""))
