"""What tests of the runtime share: a log with supervisors on it, models that misbehave, a toolbox that is real."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.runs import Ask, start_run, stop_run
from quarterdeck.adapters.lockbox import MemoryLockbox
from quarterdeck.adapters.no_knowledge import NoKnowledge
from quarterdeck.adapters.no_tools import NoTools
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.engine.money import Prices
from quarterdeck.events.base import Event
from quarterdeck.events.run import ContentStreamed, Role, RunFinished
from quarterdeck.events.talk import MessageAdded
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.ids import ConversationId, RunId, StreamName, TenantId, conversation_stream, run_stream
from quarterdeck.kernel.parts import Effect, Persona, Risk, ToolCall, ToolSpec
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.ports import (
    Deed,
    Done,
    Knowledge,
    Model,
    ModelEvent,
    ModelRequest,
    Site,
    Store,
    Toolbox,
    Traits,
    Weighed,
)
from quarterdeck.runtime.crew import Crew
from quarterdeck.runtime.purse import Caps, Purse
from quarterdeck.runtime.supervisor import Supervisor
from quarterdeck.testing.scripted import ScriptedModel, Turn
from quarterdeck.views.tables import TABLES, VIEWS

BOUND_S = 20.0


class Cast:
    """Who plays which role; one model plays those that nobody else does."""

    def __init__(self, everyone: Model, **others: Model) -> None:
        self._everyone, self._others = everyone, others

    async def model(self, role: Role) -> Model:
        return self._others.get(role, self._everyone)

    def of(self, tenant: TenantId, persona: Persona | None = None) -> Cast:
        return self


class Playing:
    """A model made of one function from a request to what is streamed."""

    def __init__(self, play: Callable[[ModelRequest], AsyncIterator[ModelEvent]], traits: Traits | None = None) -> None:
        self.name, self.traits, self._play = "playing/model", traits or Traits(tools=True, schema=True), play
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self.requests.append(request)
        async for event in self._play(request):
            yield event

    async def aclose(self) -> None: ...


class Drawer:
    """A small real toolbox: a few notes that can be read and written. `ask` names the tools that need leave."""

    def __init__(self, ask: frozenset[str] = frozenset(), **notes: str) -> None:
        self.notes, self.ask = notes, ask
        self.used: list[ToolCall] = []

    async def specs(self, site: Site) -> tuple[ToolSpec, ...]:
        return (ToolSpec("read_note", "reads a note", {}, "pure"), ToolSpec("write_note", "writes a note"))

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        if call.name not in {"read_note", "write_note"}:
            raise ToolFailed(f"there is no tool {call.name!r}.", malformed=True)
        asked = json.loads(call.arguments)
        if "name" not in asked:
            raise ToolFailed("`name` is missing.", malformed=True)
        risk: Risk = "medium" if call.name in self.ask else "low"
        effect: Effect = "pure" if call.name == "read_note" else "irreversible"
        bound = {"before": self.notes.get(asked["name"], "")}
        return Weighed(risk, call.name, effect, call.arguments, f"{call.name} {asked['name']}", bound=bound)

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
        self.used.append(deed.call)
        asked = json.loads(deed.weighed.arguments)
        if deed.call.name == "write_note":
            self.notes[asked["name"]] = asked["text"]
            return Done("written")
        if asked["name"] not in self.notes:
            raise ToolFailed("there is no such note.")
        return Done(self.notes[asked["name"]])

    async def probe(self, deed: Deed) -> Done | None:
        return None


def saying(*content: str, **more: Any) -> ScriptedModel:
    return ScriptedModel([Turn(content=content, **more)])


@dataclass
class Seen:
    """A run as its log tells it: `(first, last, event)` in order."""

    rows: list[tuple[int, int, Event]] = field(default_factory=list)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for _, _, event in self.rows if isinstance(event, kind)]

    def places(self, kind: type[Any]) -> list[tuple[int, int]]:
        return [(first, last) for first, last, event in self.rows if isinstance(event, kind)]

    @property
    def end(self) -> RunFinished:
        [end] = self.of(RunFinished)
        assert self.rows[-1][2] is end
        assert isinstance(end, RunFinished)
        return end

    def text(self) -> str:
        return "".join("".join(event.texts) for event in self.of(ContentStreamed))


class Stage:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.log = Log(store, SystemClock(), TABLES, VIEWS)
        self.desk = Desk(self.log, SystemIds(), SystemClock())
        self.supervisors: list[Supervisor] = []
        self.knowledge: Knowledge = NoKnowledge()
        self.lockbox = MemoryLockbox(SystemClock())
        self.approval_s = 3600.0
        self.prices: Prices = {}
        self.caps = Caps()

    async def close(self) -> None:
        for supervisor in self.supervisors:
            await supervisor.close()
        await self.log.close()

    def supervisor(
        self, models: Model | Cast, toolbox: Toolbox | None = None, worker: str = "process.loop", **options: Any
    ) -> Supervisor:
        cast = models if isinstance(models, Cast) else Cast(models)
        return Supervisor(self.crew(cast, toolbox or NoTools(), worker), **options)

    def crew(self, cast: Cast, toolbox: Toolbox, worker: str) -> Crew:
        knowledge, clock = self.knowledge, SystemClock()
        here = (worker, lambda tenant, asked: asked or "/work", self.approval_s)
        purse = Purse(self.log, clock, self.prices, self.caps)
        return Crew(self.log, cast, toolbox, knowledge, self.lockbox, clock, SystemIds(), purse, *here)

    async def staffed(self, models: Model | Cast, toolbox: Toolbox | None = None, **options: Any) -> Supervisor:
        supervisor = self.supervisor(models, toolbox, **options)
        self.supervisors.append(supervisor)
        await supervisor.open()
        return supervisor

    async def let_go(self, supervisor: Supervisor, grace_s: float = 0.0) -> None:
        """In good order, as at a shutdown."""
        self.supervisors.remove(supervisor)
        await supervisor.close(grace_s)

    async def ask(self, message: str = "Hi", **options: Any) -> RunId:
        return (await start_run(self.desk, LOCAL_OWNER, Ask(message, **options))).task

    async def stop(self, task: RunId) -> None:
        await stop_run(self.desk, LOCAL_OWNER, task)

    async def until(self, task: RunId, enough: Callable[[Seen], bool]) -> Seen:
        """Follow the run until there is enough to see."""
        seen, cursor = Seen(), self.log.follow(name(task))
        async with asyncio.timeout(BOUND_S):
            while not enough(seen):
                seen.rows += [(row.first, row.last, event_of(row)) for row in await cursor.rows()]
        return seen

    async def ended(self, task: RunId) -> Seen:
        seen = await self.until(task, lambda seen: bool(seen.of(RunFinished)))
        assert seen.end
        return seen

    async def said(self, conversation: str) -> list[MessageAdded]:
        rows = await self.log.read(conversation_stream(LOCAL_TENANT, ConversationId(conversation)))
        return [event for row in rows if isinstance(event := event_of(row), MessageAdded)]

    async def answer_to(self, message: str = "Hi", **options: Any) -> RunFinished:
        return (await self.ended(await self.ask(message, **options))).end


def name(task: RunId) -> StreamName:
    return run_stream(LOCAL_TENANT, task)


@asynccontextmanager
async def bounded() -> AsyncIterator[None]:
    async with asyncio.timeout(BOUND_S):
        yield
