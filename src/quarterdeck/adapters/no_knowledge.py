"""Knowledge of nothing."""

from __future__ import annotations

from quarterdeck.events.run import SkillActivated
from quarterdeck.kernel.parts import Remembered
from quarterdeck.ports import Site


class NoKnowledge:
    async def memories(self, site: Site, message: str) -> tuple[Remembered, ...]:  # noqa: ARG002 - it knows nothing of anything
        return ()

    async def lessons(self, site: Site, message: str) -> tuple[str, ...]:  # noqa: ARG002 - it knows nothing of anything
        return ()

    async def skill(self, site: Site, message: str) -> SkillActivated | None:  # noqa: ARG002 - it knows nothing of anything
        return None
