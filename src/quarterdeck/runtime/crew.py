"""What every runner of a house shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from quarterdeck.engine.windows import KNOWN, Windows
from quarterdeck.events.run import RunRequested
from quarterdeck.kernel.ids import ConversationId, RunId, TenantId
from quarterdeck.log.log import Log
from quarterdeck.ports import Clock, Ids, Knowledge, Lockbox, Site, Toolbox
from quarterdeck.runtime.purse import Purse
from quarterdeck.runtime.roles import Providers

APPROVAL_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Crew:
    """Tools in the widest sense: whatever it takes to carry a run out."""

    log: Log
    providers: Providers
    toolbox: Toolbox
    knowledge: Knowledge
    lockbox: Lockbox
    clock: Clock
    ids: Ids
    purse: Purse
    worker: str
    workspace: Callable[[TenantId, str | None], str]
    approval_s: float = APPROVAL_S
    reflection: bool = False
    windows: Windows = field(default_factory=lambda: KNOWN)

    def site(self, tenant: TenantId, run: RunId, asked: RunRequested) -> Site:
        """Where the calls of a run would happen."""
        return Site(tenant, run, ConversationId(asked.conversation), self.workspace(tenant, asked.workspace))
