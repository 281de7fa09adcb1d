"""The fuse box: settings become a house. The only place that picks adapters."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI

from quarterdeck import __version__
from quarterdeck.actions.desk import Desk
from quarterdeck.adapters.knowledge import HouseKnowledge
from quarterdeck.adapters.lockbox import MemoryLockbox
from quarterdeck.adapters.mcp.config import read_servers
from quarterdeck.adapters.mcp.toolbox import WithMcp
from quarterdeck.adapters.mcp.tools import McpTools
from quarterdeck.adapters.models.discovery import Found, ModelSettings, find
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.local import LocalModel, available
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.adapters.recall.minilm import MiniLM
from quarterdeck.adapters.recall.minilm import available as no_minilm
from quarterdeck.adapters.skills.folders import Shelf, SkillFolders
from quarterdeck.adapters.skills.tool import SkillRead
from quarterdeck.adapters.sqlite.backup import backup
from quarterdeck.adapters.sqlite.facts import StorageFacts, facts
from quarterdeck.adapters.sqlite.restore import Restored, examine, restore
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.adapters.tools.everyday import everyday_tools
from quarterdeck.adapters.tools.memory_search import MemorySearch
from quarterdeck.adapters.tools.toolbox import LocalToolbox
from quarterdeck.engine.policy.redact import Redactor
from quarterdeck.engine.policy.rules import remember
from quarterdeck.engine.policy.shell import judge
from quarterdeck.events.run import Role
from quarterdeck.kernel.errors import Invalid, ModelFailed, NotFound
from quarterdeck.kernel.scope import LOCAL_OWNER
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.log.verify import troubles
from quarterdeck.ports import Knowledge, Lockbox, Model, Store, Toolbox
from quarterdeck.runtime.after import Aftercare, AfterCrew
from quarterdeck.runtime.janitor import Janitor
from quarterdeck.runtime.purse import Caps, Purse
from quarterdeck.runtime.runner import Crew
from quarterdeck.runtime.supervisor import Supervisor
from quarterdeck.server.app import create_app as server_app
from quarterdeck.server.sse import OpenStreams
from quarterdeck.server.station import About, Station
from quarterdeck.settings import Settings, read_settings
from quarterdeck.testing.scripted import ScriptedModel
from quarterdeck.views.recall import Recall
from quarterdeck.views.tables import TABLES, VIEWS

LOOK_AGAIN_S = 5.0
logger = logging.getLogger("quarterdeck.wiring")
# Workers of one process share it: a run that goes from one of them to another did not crash.
PROCESS = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"


class DefaultModels:
    """One model for every role: the one that was found. Where none was, it looks again now and then."""

    def __init__(self, settings: Settings) -> None:
        self._http, self._clock = Http(), SystemClock()
        self._settings = ModelSettings(
            settings.model,
            settings.openai_key,
            settings.openai_base,
            settings.anthropic_key,
            settings.anthropic_base,
            Patience.of(settings.model_patience_s),
        )
        self._found: Found | None = None
        self._looked_at = 0.0

    async def found(self) -> Found:
        now = self._clock.steady()
        stale = self._found is None or (self._found.model is None and now - self._looked_at > LOOK_AGAIN_S)
        if stale:
            self._looked_at = now
            self._found = await find(self._settings, http=self._http, scripted=ScriptedModel.load)
        assert self._found is not None
        return self._found

    async def model(self, role: Role) -> Model:  # noqa: ARG002 - one model serves every role as yet
        found = await self.found()
        if found.model is None:
            raise ModelFailed("no_model", f"{found.source} {found.advice}".strip(), retryable=False)
        return found.model

    async def preload(self) -> None:
        model = (await self.found()).model
        if isinstance(model, LocalModel):
            try:
                await model.preload()
            except (ModelFailed, OSError, RuntimeError, ValueError) as error:
                logger.warning("the embedded model did not load: %s", error)

    async def aclose(self) -> None:
        if self._found is not None and self._found.model is not None:
            await self._found.model.aclose()
        await self._http.aclose()


@dataclass(slots=True)
class _Floor:
    """What belongs to one event loop: a supervisor, who looks back at runs, the open streams, a janitor."""

    station: Station
    supervisor: Supervisor
    aftercare: Aftercare
    janitor: asyncio.Task[None]


@dataclass(slots=True)
class _Ground:
    """What belongs to no loop: the log and the models."""

    settings: Settings
    log: Log
    models: DefaultModels
    recall: Recall
    toolbox: Toolbox
    mcp: McpTools
    knowledge: Knowledge
    lockbox: Lockbox
    skills: SkillFolders
    streams: OpenStreams = field(default_factory=OpenStreams)


class LocalHouse:
    """Everything, on one machine. Opens when it is first needed, on whatever loop needs it; no loop is special.

    A run whose loop is gone is taken up by the next loop that enters.
    """

    def __init__(self, read: Callable[[], Settings] = read_settings) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._ground: _Ground | None = None
        self._floors: dict[asyncio.AbstractEventLoop, asyncio.Future[_Floor]] = {}
        self._here: tuple[asyncio.AbstractEventLoop, Station] | None = None

    def ground(self) -> _Ground:
        """The log and the models, opened once. Raises a `Problem` that says what is in the way."""
        with self._lock:
            if self._ground is None:
                settings = self._read()
                log = Log(open_store(settings), SystemClock(), TABLES, VIEWS)
                self._ground = _ground_of(settings, log)
            return self._ground

    async def open(self) -> None:
        await self.enter()

    async def about(self) -> About:
        return await (await self.enter()).about()

    async def preload(self) -> None:
        """Load the embedded model, if that is who answers, so that the first question need not wait for it."""
        await self.ground().models.preload()

    async def enter(self) -> Station:
        loop = asyncio.get_running_loop()
        if self._here is not None and self._here[0] is loop:
            return self._here[1]
        floor = self._floors.get(loop)
        if floor is None:
            self._leave_closed_loops()
            floor = self._floors[loop] = asyncio.ensure_future(self._furnished())
        station = (await asyncio.shield(floor)).station
        self._here = (loop, station)
        return station

    def _leave_closed_loops(self) -> None:
        for loop, floor in list(self._floors.items()):
            if loop.is_closed():
                del self._floors[loop]
                if floor.done() and not floor.cancelled() and floor.exception() is None and self._ground is not None:
                    self._ground.log.retire(floor.result().supervisor.worker)
                    self._ground.log.retire(floor.result().aftercare.worker)

    async def _furnished(self) -> _Floor:
        try:
            ground = self.ground()
            supervisor = Supervisor(crew := _crew(ground))
            await supervisor.open()
            aftercare = Aftercare(AfterCrew(ground.log, ground.models, SystemIds(), f"{crew.worker}.after"))
            await aftercare.open()
        except BaseException:
            self._floors.pop(asyncio.get_running_loop(), None)
            raise
        janitor = Janitor(ground.log, SystemClock(), ground.settings.keep_days)
        return _Floor(_station(ground), supervisor, aftercare, asyncio.ensure_future(janitor.work()))

    async def drain(self) -> None:
        """Before the doors close: nothing new, time for what runs to finish, then word to every open stream."""
        floor = self._floors.get(asyncio.get_running_loop())
        if floor is None or self._ground is None:
            return
        self._ground.streams.draining = True
        furnished = await floor
        await furnished.supervisor.drain(self._ground.settings.drain_s)
        await furnished.aftercare.drain()
        self._ground.streams.drain()

    def hurry(self) -> None:
        """Make a drain wait for nobody. Called from a signal handler, so it only leaves word on the loops."""
        for loop, floor in tuple(self._floors.items()):
            if floor.done() and not floor.cancelled() and floor.exception() is None:
                loop.call_soon_threadsafe(floor.result().supervisor.hurry)

    async def close(self) -> None:
        self._here = None
        floor = self._floors.pop(asyncio.get_running_loop(), None)
        if floor is not None:
            furnished = await floor
            furnished.janitor.cancel()
            await furnished.supervisor.close()
            await furnished.aftercare.close()
        self._leave_closed_loops()
        with self._lock:
            ground, self._ground = self._ground, None
        if ground is not None:
            await ground.mcp.aclose()
            await ground.models.aclose()
            await ground.log.close()


def _ground_of(settings: Settings, log: Log) -> _Ground:
    skills, recall = skills_of(settings), Recall(log, MiniLM() if no_minilm() is None else None)
    mcp = McpTools(read_servers(settings.mcp_file), environment=settings.surroundings)
    hosts, open_to = settings.sudo_no_password, settings.fetch_allow
    everyday = everyday_tools(judge, remember, Redactor, sudo_no_password=hosts, fetch_allow=open_to)
    own = LocalToolbox((*everyday, MemorySearch(recall), SkillRead(skills)))
    knowledge = HouseKnowledge(recall, skills.skill)
    lockbox = MemoryLockbox(SystemClock())
    return _Ground(settings, log, DefaultModels(settings), recall, WithMcp(own, mcp), mcp, knowledge, lockbox, skills)


def _crew(ground: _Ground) -> Crew:
    worker, settings = f"{PROCESS}.{uuid.uuid4().hex[:8]}", ground.settings
    return Crew(
        ground.log,
        ground.models,
        ground.toolbox,
        ground.knowledge,
        ground.lockbox,
        SystemClock(),
        SystemIds(),
        Purse(ground.log, SystemClock(), settings.prices, Caps(settings.run_budget_usd, settings.day_budget_usd)),
        worker,
        lambda asked: workspace_of(settings, asked),
        settings.approval_s,
        settings.reflection,
    )


def workspace_of(settings: Settings, asked: str | None) -> str:
    """The folder a run may work in, without links; where none was named, one of our own beside the data."""
    named = settings.workspace if asked is None else Path(asked).expanduser()
    return os.path.realpath(named)


def _station(ground: _Ground) -> Station:
    async def about() -> About:
        found = await ground.models.found()
        name = None if found.model is None else found.model.name
        where = "memory" if ground.settings.storage == "memory" else str(ground.settings.database)
        return About(__version__, name, found.source, found.advice, where)

    async def model_ready() -> None:
        await ground.models.model("thinker")

    desk = Desk(ground.log, SystemIds(), SystemClock())
    deadline_s = ground.settings.deadline_s or None
    return Station(
        desk,
        LOCAL_OWNER,
        ground.streams,
        ground.lockbox,
        deadline_s,
        about,
        model_ready,
        ground.skills,
        ground.settings.prices,
        ground.recall,
    )


def skills_of(settings: Settings) -> SkillFolders:
    return SkillFolders(settings.database.parent / "skills")


def open_store(settings: Settings) -> Store:
    return MemoryStore() if settings.storage == "memory" else SqliteStore(settings.database)


def create_app(read: Callable[[], Settings] = read_settings) -> FastAPI:
    """The application, for any ASGI server or in-process client. Its house opens with the lifespan, or at the first
    request where there is none."""
    return app_of(LocalHouse(read))


def app_of(house: LocalHouse) -> FastAPI:
    return server_app(house, __version__)


# For the command line


async def what_answers(settings: Settings) -> Found:
    """Who would answer with these settings, and why; asks those who run on this machine."""
    models = DefaultModels(settings)
    try:
        return await models.found()
    finally:
        await models.aclose()


def embedded_is_missing() -> str | None:
    """Why the embedded model cannot run here; None if it can."""
    return available()


def skills_shelf(settings: Settings, workspace: Path) -> Shelf:
    """The skills that a run in this folder would find, and what is wrong with the others."""
    return skills_of(settings).look(str(workspace))


def storage_facts(settings: Settings) -> StorageFacts:
    return facts(settings.database)


def back_up(settings: Settings, target: Path) -> None:
    backup(_on_disk(settings), target)


def restore_from(settings: Settings, copy: Path) -> Restored:
    return restore(_on_disk(settings), copy)


def verify(settings: Settings) -> list[str]:
    """What is wrong with the log, a sentence each. Takes the data folder for itself meanwhile."""
    database = _on_disk(settings)
    if not database.is_file():
        raise NotFound(f"There is no database at {database} yet.", code="no_database")
    if damage := examine(database):
        return damage
    store = SqliteStore(database)
    try:
        return troubles(store)
    finally:
        store.close()


def _on_disk(settings: Settings) -> Path:
    if settings.storage == "memory":
        raise Invalid("QUARTERDECK_STORAGE is `memory`: there is no database on a disk.", code="no_database")
    return settings.database
