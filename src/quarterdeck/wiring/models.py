"""The models of this server: the one that was found, for whoever brings none."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from quarterdeck.adapters.models.discovery import Found, ModelSettings, find
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.local import LocalModel
from quarterdeck.adapters.models.watch import Patience
from quarterdeck.adapters.system import SystemClock
from quarterdeck.events.run import Role
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.parts import Persona
from quarterdeck.ports import Model
from quarterdeck.runtime.roles import Models
from quarterdeck.settings import Settings
from quarterdeck.testing.scripted import ScriptedModel

LOOK_AGAIN_S = 5.0
MOST_NAMED = 100
logger = logging.getLogger("quarterdeck.wiring")


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
        self._named: dict[str, Model] = {}
        self._looked_at = 0.0

    async def found(self) -> Found:
        now = self._clock.steady()
        stale = self._found is None or (self._found.model is None and now - self._looked_at > LOOK_AGAIN_S)
        if stale:
            self._looked_at = now
            self._found = await find(self._settings, http=self._http, scripted=ScriptedModel.load)
        assert self._found is not None
        return self._found

    def of(self, tenant: TenantId, persona: Persona | None = None) -> Models:  # noqa: ARG002 - everybody's alike
        wanted = None if persona is None else persona.model
        return self if wanted is None else _Wanted(self, wanted)

    async def named(self, choice: str) -> Model:
        """Another one than the default, by `provider/model`, with the keys and addresses that are set."""
        if choice not in self._named:
            found = await find(replace(self._settings, choice=choice), http=self._http)
            if found.model is None:
                detail = found.source.replace(f"QUARTERDECK_MODEL={choice}", choice)
                raise ModelFailed("no_model", detail, retryable=False)
            self._named[choice] = found.model
            if len(self._named) > MOST_NAMED:
                self._named.pop(next(iter(self._named)))
        return self._named[choice]

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


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The one that somebody in particular is answered by."""

    models: DefaultModels
    choice: str

    async def model(self, role: Role) -> Model:  # noqa: ARG002 - one model serves every role
        found = await self.models.found()
        if found.model is not None and found.model.name == self.choice:
            return found.model
        return await self.models.named(self.choice)
