"""Old import names. One table, one finder: importing an old name gives the very module that took its place."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

MOVED = {
    "app.main": "quarterdeck.wiring.asgi",
    "app.services": "quarterdeck.wiring",
    "app.services.conversation_service": "quarterdeck.wiring.conversation_service",
    "agentkit.core": "quarterdeck.teams",
    "agentkit.core.handoff_transport": "quarterdeck.teams.handoff",
    "agentkit.experts": "quarterdeck.teams",
    "agentkit.experts.config": "quarterdeck.teams.config",
    "agentkit.experts.orchestrator": "quarterdeck.teams.orchestrator",
    "agentkit.experts.plan": "quarterdeck.teams.plan",
    "agentkit.experts.team": "quarterdeck.teams.team",
    "duck_core.api": "quarterdeck.wiring",
    "duck_core.model_client": "quarterdeck.runtime.roles",
    "duck_core.tools": "quarterdeck.adapters.tools",
    "duck_core.tools.shell_exec_safe": "quarterdeck.adapters.tools.shell_exec_safe",
}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the names in `MOVED` and hands out their new homes, so that patches, pickles and `isinstance` agree."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the finder's signature is Python's
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self) if name in MOVED else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(MOVED[spec.name])
        self._own = (module.__spec__, module.__loader__)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run again; the module keeps its own name and spec."""
        module.__spec__, module.__loader__ = self._own


def install() -> None:
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
