"""Which of a tenant's keys is to be tried: in their order, but those last that were just refused or slowed down."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.ports import Clock, Model, ModelEvent, ModelRequest, Traits

REFUSED_S = 600.0
SLOWED_S = 30.0
AWAY_S = 60.0
# What another key may mend, and for how long the one that met it is passed over.
KEYS_FAULT = {"provider_auth": REFUSED_S, "provider_out_of_money": REFUSED_S, "provider_rate_limited": SLOWED_S}
PLACES_FAULT = frozenset({"provider_unreachable", "provider_timeout", "provider_error", "provider_malformed"})
MOST_KNOWN = 10_000


class Keyring:
    """What is known of keys and places by how calls with them went. Of this process, and gone with it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rests: dict[str, float] = {}

    def rest(self, name: str, seconds: float) -> None:
        now = self._clock.steady()
        if len(self._rests) >= MOST_KNOWN:
            self._rests = {each: until for each, until in self._rests.items() if until > now}
        self._rests[name] = now + seconds

    def ready(self, name: str) -> bool:
        return self._rests.get(name, 0.0) <= self._clock.steady()

    def first(self, names: Sequence[str]) -> str | None:
        """The first that is ready; where none is, the one that soonest will be."""
        return min(names, key=lambda name: 0.0 if self.ready(name) else self._rests[name], default=None)


class KeyedModel:
    """A model behind one of several keys. What goes wrong is noted; where another key may mend it, that is said."""

    def __init__(self, model: Model, ring: Keyring, key: str | None, others: Sequence[str], place: str) -> None:
        self._model, self._ring, self._key, self._others, self._place = model, ring, key, others, place

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def traits(self) -> Traits:
        return self._model.traits

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        try:
            async for event in self._model.stream(request):
                yield event
        except ModelFailed as failed:
            raise self._noted(failed) from None

    async def aclose(self) -> None:
        """Its connections are shared by all tenants' models."""

    def _noted(self, failed: ModelFailed) -> ModelFailed:
        if failed.code in PLACES_FAULT:
            self._ring.rest(self._place, AWAY_S)
        if failed.code not in KEYS_FAULT or self._key is None:
            return failed
        self._ring.rest(self._key, failed.retry_after or KEYS_FAULT[failed.code])
        if not any(self._ring.ready(key) for key in self._others):
            return failed
        return ModelFailed(failed.code, f"{failed.detail} Another key is tried.", retryable=True, retry_after=0.0)
