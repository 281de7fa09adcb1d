"""What a run asks of a person, as a card shows it and a line answers it. Nothing here waits for anybody."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from quarterdeck.cli.screen import inert
from quarterdeck.client import Told
from quarterdeck.engine.policy.shown import suspicious, visible

Kind: TypeAlias = Literal["tool", "answer", "outcome", "password"]
Reach: TypeAlias = Literal["once", "run", "always"]
Ending: TypeAlias = Literal["happened", "again", "give_up"]

_BLANKS = re.compile(r"( +)")
_MOST_BLANKS = 15  # a longer run of them is one of the reasons to look twice
_REACHES: dict[str, Reach] = {"o": "once", "once": "once", "r": "run", "run": "run", "a": "always", "always": "always"}
_ENDINGS: dict[str, Ending] = {"h": "happened", "happened": "happened", "a": "again", "again": "again"}
_ENDINGS |= {"g": "give_up", "give_up": "give_up"}


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    run: str
    kind: Kind
    tool: str
    shown: str
    reason: str = ""
    risk: str = ""
    action: str = ""
    why: str = ""
    always: bool = False

    @property
    def reaches(self) -> tuple[Reach, ...]:
        """How far it can be allowed. A password is given for one command that was seen, so sudo is allowed once."""
        if self.action == "privileged":
            return ("once",)
        return ("once", "run", "always") if self.always else ("once", "run")

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why to look twice."""
        return () if self.kind in {"answer", "password"} else suspicious(self.shown)


@dataclass(frozen=True, slots=True)
class Allow:
    reach: Reach = "once"
    words: str = ""


@dataclass(frozen=True, slots=True)
class Deny:
    words: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    ending: Ending
    words: str = ""


def question(data: Mapping[str, Any]) -> Question:
    """From an event that asks for an approval, or from an approval."""
    kind: Kind = "password" if data.get("waiting_for_password") is True else data.get("asked") or "tool"
    names = {"tool": "tool", "shown": "shown", "reason": "reason", "risk": "risk_level", "action": "action_type"}
    told = {name: str(data.get(key) or "") for name, key in {**names, "why": "why"}.items()}
    always = data.get("always") is True
    return Question(str(data.get("approval_id")), str(data.get("task_id")), kind, **told, always=always)


class Open:
    """The questions of one run that nobody has answered yet, in the order they came; a fold of its events."""

    def __init__(self) -> None:
        self.all: dict[str, Question] = {}

    def apply(self, told: Told) -> Question | None:
        """Returns what is no longer asked by it."""
        data = told.data
        match told.event:
            case "tool_approval_requested":
                asked = question(data)
                self.all[asked.id] = asked
            case "tool_password_requested":
                command = str(data.get("command") or "")
                ident = str(data.get("approval_id"))
                self.all[ident] = Question(ident, str(data.get("task_id")), "password", "", command)
            case "approval_decided" | "approval_password_given":
                return self.all.pop(str(data.get("approval")), None)
            case "done":
                self.all.clear()
        return None


def card(asked: Question, *, choose: bool = True) -> str:
    """All of it, whole, with what cannot be seen written out; at its end what may be typed."""
    lines = [f"┌ {_title(asked)}"]
    text = (inert(asked.shown) if asked.kind == "answer" else asked.shown).removesuffix("\n")
    lines += [f"│ {line if asked.kind == 'answer' else seen(line)}" for line in text.split("\n")]
    if asked.kind in {"tool", "outcome"}:
        lines += [f"│ {name}: {visible(said)}" for name, said in _beside(asked)]
        lines += [f"│ look twice: this {doubt}" for doubt in asked.doubts]
    if choose and asked.kind != "password":
        lines.append(f"└ {choices(asked)}")
    return "\n".join(lines) + "\n"


def choices(asked: Question) -> str:
    """What may be typed."""
    if asked.kind == "answer":
        return "the next line that you type is the answer"
    if asked.kind == "outcome":
        return "it [h]appened, do it [a]gain, or [g]ive it up; words behind that tell the model more"
    if asked.doubts:
        return "type `allow` in full to allow it once, or [d]eny; words behind that tell the model why"
    offered = "  ".join(f"[{reach[0]}]{reach[1:]}" for reach in asked.reaches)
    return f"allow it: {offered}   or [d]eny; words behind that tell the model why"


def understood(asked: Question, line: str) -> Allow | Deny | Outcome | None:
    """What a line says to it; None where it says nothing that was offered."""
    line = line.strip()
    if asked.kind == "answer":
        return Allow(words=line) if line else None
    word, _, words = line.partition(" ")
    word, words = word.lower(), words.strip()
    if asked.kind == "outcome":
        return Outcome(_ENDINGS[word], words) if word in _ENDINGS else None
    if word in {"d", "deny"}:
        return Deny(words)
    if words:
        return None
    if word == "allow":
        return Allow()
    reach = None if asked.doubts else _REACHES.get(word)
    return Allow(reach) if reach in asked.reaches and reach is not None else None


def seen(line: str) -> str:
    """A line with everything visible in it. Blanks that show themselves stay as they are; those at its end do not."""
    pieces = _BLANKS.split(line.rstrip(" "))
    shown = (p if p.isspace() and len(p) <= _MOST_BLANKS else visible(p) for p in pieces if p)
    return "".join(shown) + visible(line[len(line.rstrip(" ")) :])


def _title(asked: Question) -> str:
    risk = f" · risk: {visible(asked.risk)}" if asked.risk else ""
    risk += f" · {visible(asked.action)}" if asked.action and asked.action != asked.tool else ""
    match asked.kind:
        case "tool":
            return f"{visible(asked.tool)} wants to do this{risk}"
        case "outcome":
            return f"{visible(asked.tool)} was cut off in the middle of this{risk}"
        case "answer":
            return "a question to you"
        case "password":
            return "this needs your password"


def _beside(asked: Question) -> Iterator[tuple[str, str]]:
    if asked.why:
        yield "why you are asked", asked.why
    if asked.reason:
        yield "the model says", asked.reason
