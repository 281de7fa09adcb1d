"""What the commands do without a server: look, copy, verify."""

from __future__ import annotations

from pathlib import Path

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.tokens import Issued, Wanted, issue_token
from quarterdeck.adapters.models.discovery import Found
from quarterdeck.adapters.models.local import available
from quarterdeck.adapters.skills.folders import Shelf
from quarterdeck.adapters.sqlite.backup import backup
from quarterdeck.adapters.sqlite.facts import StorageFacts, facts
from quarterdeck.adapters.sqlite.restore import Restored, examine, restore
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.kernel.errors import Invalid, NotFound
from quarterdeck.kernel.scope import LOCAL_OWNER
from quarterdeck.log.log import Log
from quarterdeck.log.verify import troubles
from quarterdeck.settings import Settings
from quarterdeck.views.tables import TABLES, VIEWS
from quarterdeck.wiring.ground import skills_of
from quarterdeck.wiring.models import DefaultModels


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


async def issue_operator_token(settings: Settings, actor: str, name: str, expires_at: float | None = None) -> Issued:
    """A token for whoever runs the server, and so has its data folder. Takes the folder for itself meanwhile."""
    database = _on_disk(settings)
    log = Log(SqliteStore(database), SystemClock(), TABLES, VIEWS)
    try:
        wanted = Wanted(actor, "operator", name, expires_at)
        return await issue_token(Desk(log, SystemIds(), SystemClock()), LOCAL_OWNER, wanted)
    finally:
        await log.close()


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
