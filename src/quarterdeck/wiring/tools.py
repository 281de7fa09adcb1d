"""The tools of this server: the owner's, with what the owner allowed them, and those that tenants may be given."""

from __future__ import annotations

from quarterdeck.actions.desk import Desk
from quarterdeck.adapters.mcp.toolbox import WithMcp
from quarterdeck.adapters.mcp.tools import McpTools
from quarterdeck.adapters.skills.folders import SkillFolders
from quarterdeck.adapters.skills.tool import SkillRead
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.adapters.tools.board import WithBoard
from quarterdeck.adapters.tools.everyday import everyday_tools
from quarterdeck.adapters.tools.memory_search import MemorySearch
from quarterdeck.adapters.tools.tenants import TenantToolbox
from quarterdeck.adapters.tools.toolbox import LocalToolbox
from quarterdeck.engine.policy.redact import Redactor
from quarterdeck.engine.policy.rules import remember
from quarterdeck.engine.policy.shell import judge
from quarterdeck.kernel.ids import TenantId
from quarterdeck.log.log import Log
from quarterdeck.ports import Toolbox
from quarterdeck.settings import Settings
from quarterdeck.views.recall import Recall
from quarterdeck.views.tenants import Configs


def toolbox_of(
    settings: Settings, log: Log, configs: Configs, recall: Recall, skills: SkillFolders, mcp: McpTools
) -> Toolbox:
    hosts, open_to = settings.sudo_no_password, settings.fetch_allow

    def tools(hosts: tuple[str, ...] = (), open_to: tuple[str, ...] = ()) -> Toolbox:
        everyday = everyday_tools(judge, remember, Redactor, sudo_no_password=hosts, fetch_allow=open_to)
        own = LocalToolbox((*everyday, MemorySearch(recall), SkillRead(skills)))
        return WithMcp(own, mcp)

    async def given(tenant: TenantId) -> tuple[str, ...] | None:
        return (await configs.of(tenant)).tools

    # The board is a tenant's own, and needs nobody's leave.
    desk = Desk(log, SystemIds(), SystemClock())
    return WithBoard(TenantToolbox(tools(hosts, open_to), tools(), given), desk)
