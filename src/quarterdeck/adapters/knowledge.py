"""What a run is told besides its conversation: memories, lessons, a skill."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from quarterdeck.events.run import SkillActivated
from quarterdeck.kernel.parts import Remembered
from quarterdeck.ports import Site
from quarterdeck.views.recall import Recall

# Which skill fits a message at a site, if one does.
Skills: TypeAlias = Callable[[Site, str], Awaitable[SkillActivated | None]]


class HouseKnowledge:
    """Keeps the `Knowledge` port."""

    def __init__(self, recall: Recall, skills: Skills | None = None) -> None:
        self._recall, self._skills = recall, skills

    async def memories(self, site: Site, message: str) -> tuple[Remembered, ...]:
        found = await self._recall.candidates(site.tenant, message, site.workspace, site.conversation)
        return tuple(Remembered(each.id, each.text) for each in found)

    async def lessons(self, site: Site, message: str) -> tuple[str, ...]:
        return tuple(each.text for each in await self._recall.lessons(site.tenant, message))

    async def skill(self, site: Site, message: str) -> SkillActivated | None:
        return None if self._skills is None else await self._skills(site, message)
