"""What belongs to no event loop, and what is made of it for each: settings become the parts of a house."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from quarterdeck import __version__
from quarterdeck.actions.desk import Desk
from quarterdeck.adapters.knowledge import HouseKnowledge
from quarterdeck.adapters.lockbox import MemoryLockbox
from quarterdeck.adapters.master_key import KeyFile, KeysInMemory, read_keys
from quarterdeck.adapters.mcp.config import read_servers
from quarterdeck.adapters.mcp.tools import McpTools
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.adapters.models.whereabouts import Whereabouts
from quarterdeck.adapters.recall.minilm import MiniLM
from quarterdeck.adapters.recall.minilm import available as no_minilm
from quarterdeck.adapters.skills.folders import SkillFolders
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.adapters.vault import MasterKeys, SealedVault
from quarterdeck.engine.money import Prices
from quarterdeck.events.run import Loop
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.parts import Persona
from quarterdeck.kernel.scope import LOCAL_OWNER
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.ports import Knowledge, Lockbox, Store, Toolbox
from quarterdeck.runtime.board.place import StaffCrew
from quarterdeck.runtime.conductor import TeamCrew
from quarterdeck.runtime.crew import Crew
from quarterdeck.runtime.purse import Caps, Purse
from quarterdeck.server.access import Access
from quarterdeck.server.doors import Doors
from quarterdeck.server.hub.hub import Hub
from quarterdeck.server.hub.speech import Speaking
from quarterdeck.server.quotas import Limits, Quotas
from quarterdeck.server.sse import OpenStreams
from quarterdeck.server.station import About, Station
from quarterdeck.server.tenancy import Tenancy
from quarterdeck.settings import Settings
from quarterdeck.views.recall import Recall
from quarterdeck.views.tenants import Configs
from quarterdeck.wiring.luggage import luggage
from quarterdeck.wiring.models import DefaultModels
from quarterdeck.wiring.providers import TenantProviders
from quarterdeck.wiring.terms import tenant_folder, terms_of, workspaces
from quarterdeck.wiring.tools import toolbox_of

# Workers of one process share it: a run that goes from one of them to another did not crash.
PROCESS = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"


@dataclass(slots=True)
class Ground:
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
    vault: SealedVault
    places: Whereabouts
    providers: TenantProviders
    configs: Configs
    streams: OpenStreams = field(default_factory=OpenStreams)
    speaking: Speaking = field(default_factory=Speaking)


def ground_of(settings: Settings, log: Log) -> Ground:
    skills, recall = skills_of(settings), Recall(log, MiniLM() if no_minilm() is None else None)
    mcp = McpTools(read_servers(settings.mcp_file), environment=settings.surroundings)
    knowledge = HouseKnowledge(recall, skills.skill)
    lockbox = MemoryLockbox(SystemClock())
    configs = Configs(log)
    models, vault = DefaultModels(settings), SealedVault(log, _masters(settings))
    places = Whereabouts(settings.provider_allow)
    patience = Patience.of(settings.model_patience_s)
    return Ground(
        settings,
        log,
        models,
        recall,
        toolbox_of(settings, log, configs, recall, skills, mcp),
        mcp,
        knowledge,
        lockbox,
        skills,
        vault,
        places,
        TenantProviders(configs, vault, places, models, SystemClock(), patience),
        configs,
    )


def _masters(settings: Settings) -> MasterKeys:
    if settings.master_key is not None:
        return KeysInMemory(read_keys(settings.master_key.split(","), "QUARTERDECK_MASTER_KEY"))
    return KeysInMemory() if settings.storage == "memory" else KeyFile(settings.master_key_file)


def crew_of(ground: Ground) -> Crew:
    worker, settings = f"{PROCESS}.{uuid.uuid4().hex[:8]}", ground.settings
    return Crew(
        ground.log,
        ground.providers,
        ground.toolbox,
        ground.knowledge,
        ground.lockbox,
        SystemClock(),
        SystemIds(),
        Purse(
            ground.log,
            SystemClock(),
            settings.prices,
            Caps(settings.run_budget_usd, settings.day_budget_usd),
            terms_of(ground.configs, settings),
        ),
        worker,
        workspaces(settings),
        settings.approval_s,
        settings.reflection,
        settings.windows,
    )


def staff_of(ground: Ground, worker: str) -> StaffCrew:
    """Who drives the agents of the board, beside the runs of this worker."""
    desk = Desk(ground.log, SystemIds(), SystemClock())
    return StaffCrew(desk, ground.providers, f"{worker}.staff", ground.settings.deadline_s or None)


def team_crew_of(ground: Ground, worker: str) -> TeamCrew:
    deadline_s = ground.settings.deadline_s or None
    return TeamCrew(ground.log, ground.providers, SystemIds(), f"{worker}.teams", deadline_s)


def station_of(ground: Ground) -> Station:
    async def about() -> About:
        found = await ground.models.found()
        name = None if found.model is None else found.model.name
        where = "memory" if ground.settings.storage == "memory" else str(ground.settings.database)
        return About(__version__, name, found.source, found.advice, where)

    async def model_ready() -> None:
        await ground.models.model("thinker")

    terms = terms_of(ground.configs, ground.settings)

    async def prices(tenant: TenantId) -> Prices:
        return (await terms(tenant)).prices

    async def loop_of(tenant: TenantId, persona: Persona | None) -> Loop:
        """`native` for a model that calls tools itself. One that cannot be had is told by the run."""
        try:
            traits = (await ground.providers.of(tenant, persona).model("thinker")).traits
        except ModelFailed:
            return "native"
        return "native" if traits.tools and not traits.slight else "roles"

    def taken_along(tenant: TenantId) -> AsyncIterator[bytes]:
        return luggage(ground.log, tenant, tenant_folder(ground.settings, tenant))

    desk = Desk(ground.log, SystemIds(), SystemClock())
    access = Access(ground.log, desk.clock)
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
        ground.recall,
        access,
        Hub(desk, access, ground.speaking),
        Tenancy(ground.vault, ground.places.judge, prices, ground.providers.try_out, taken_along),
        Doors(ground.settings.guarded, frozenset(ground.settings.hosts), ground.settings.proxied),
        Quotas(ground.log, desk.clock, limits_of(ground.settings)),
        loop_of,
    )


def limits_of(settings: Settings) -> Limits:
    """For each tenant. In local mode there are none."""
    if not settings.guarded:
        return Limits()
    return Limits(settings.tenant_rate or None, int(settings.tenant_runs) or None, int(settings.tenant_open) or None)


def skills_of(settings: Settings) -> SkillFolders:
    return SkillFolders(settings.database.parent / "skills")


def open_store(settings: Settings) -> Store:
    return MemoryStore() if settings.storage == "memory" else SqliteStore(settings.database)
