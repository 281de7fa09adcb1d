"""A team's run played through without anything that waits: the rules say what, a script says what it comes to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from quarterdeck.engine.team import Begin, Cut, Finish, Record, Rest, TeamState, decide, evolve, prompt
from quarterdeck.engine.team.plan import in_circles
from quarterdeck.events import team as ev
from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import Persona

# What a part comes to, given the part and its prompt.
Play = Callable[[ev.PartStarted, str], ev.PartEnded]


def experts(*names: str) -> tuple[ev.Expert, ...]:
    return tuple(ev.Expert(Persona(name, name), f"knows {name}", number == 0) for number, name in enumerate(names))


def asked(task: str = "Compare three databases", *names: str, **more: Any) -> ev.TeamRunRequested:
    who = experts(*(names or ("lead", "ada", "bob")))
    language = more.pop("language", "en")
    return ev.TeamRunRequested("t1", task, language, who, **more)


def planned(ident: str, expert: str = "ada", after: Sequence[str] = (), **more: Any) -> ev.Planned:
    return ev.Planned(ident, f"phase {ident}", expert, f"do {ident}", tuple(after), **more)


def plan_text(*phases: ev.Planned) -> str:
    shapes = [
        {
            "id": p.id,
            "name": p.name,
            "expert": p.expert,
            "task": p.task,
            "depends_on": list(p.depends_on),
            "type": p.kind,
        }
        | ({"topic": p.topic} if p.topic else {})
        for p in phases
    ]
    return "Here it is:\n```json\n" + json.dumps({"phases": shapes}) + "\n```"


def done(part: ev.PartStarted, text: str | None = None) -> ev.PartEnded:
    return ev.PartEnded(part.part, "completed", f"[{part.part}] by {part.expert}" if text is None else text)


def failed(part: ev.PartStarted, code: str = "provider_error", text: str = "") -> ev.PartEnded:
    return ev.PartEnded(part.part, "failed", text, code, "it went wrong")


@dataclass
class Game:
    """The events so far and the parts that are under way. `prompts` is what each expert was asked."""

    requested: ev.TeamRunRequested
    state: TeamState = field(default_factory=TeamState)
    events: list[Event] = field(default_factory=list)
    under_way: list[ev.PartStarted] = field(default_factory=list)
    prompts: dict[str, str] = field(default_factory=dict)
    said: int = 0
    waits: str = ""

    def __post_init__(self) -> None:
        self.happen(self.requested)

    def happen(self, *events: Event) -> None:
        for event in events:
            self.events.append(event)
            self.state = evolve(self.state, event)
            assert in_circles([phase.planned for phase in self.state.phases]) == ()

    def say(self, text: str) -> str:
        self.said += 1
        self.happen(ev.TeamInterventionAccepted(f"i{self.said}", "r1", text))
        return f"i{self.said}"

    def settle(self) -> None:
        """Carry out what can be carried out without anybody's work or word."""
        for _ in range(1000):
            match decide(self.state):
                case Record(events):
                    assert events, "nothing is recorded for ever"
                    self.happen(*events)
                case Begin(parts):
                    for part in parts:
                        self.prompts[part.part] = prompt(self.state, part)
                    self.happen(*parts)
                    self.under_way += parts
                case Cut(keys):
                    self.happen(*map(ev.PartCut, keys))
                case Finish(outcome, answer, code, detail):
                    self.happen(ev.TeamRunFinished(outcome, answer, code, detail))
                case Rest():
                    return
                case wait:
                    self.waits = wait.why
                    return
        raise AssertionError("it never settles")

    def end(self, key: str, ended: ev.PartEnded | None = None) -> None:
        part = next(part for part in self.under_way if part.part == key)
        self.under_way.remove(part)
        self.happen(ended or done(part))
        self.settle()

    def play(self, play: Play = lambda part, _: done(part), most: int = 500) -> TeamState:
        """Until it is over, or until nothing goes on by itself."""
        self.settle()
        for _ in range(most):
            if not self.under_way:
                return self.state
            part = self.under_way[0]
            cut = self.state.parts[part.part].cut
            ended = play(part, self.prompts[part.part])
            self.end(part.part, replace(ended, end="stopped") if cut else ended)
        raise AssertionError("it never ends")

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def finish(self) -> ev.TeamRunFinished:
        [end] = self.of(ev.TeamRunFinished)
        assert self.events[-1] is end
        return end

    def receipt(self, ident: str) -> ev.TeamInterventionHeeded:
        [found] = [event for event in self.of(ev.TeamInterventionHeeded) if event.intervention == ident]
        return found

    def began(self, work: str) -> list[ev.PartStarted]:
        return [event for event in self.of(ev.PartStarted) if event.work == work]
