"""A team: its experts, the channel they hear each other on, and what a person says to them, in order and taken once."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable

from quarterdeck.teams.expert import Expert
from quarterdeck.teams.handoff import Handler, HandoffTransport, InProcessHandoffTransport, Note


class ExpertTeam:
    def __init__(
        self,
        experts: Iterable[Expert] = (),
        *,
        name: str = "",
        transport: HandoffTransport | None = None,
        team_id: str | None = None,
    ) -> None:
        self.team_id = team_id or uuid.uuid4().hex
        self.name = name
        self._handoff_transport = transport or InProcessHandoffTransport()
        self._experts: dict[str, Expert] = {}
        self._lead_expert_name: str | None = None
        self._said: list[str] = []
        self._wakers: list[Callable[[], None]] = []
        for expert in experts:
            self.add_expert(expert)

    @property
    def team_channel(self) -> str:
        return f"team:{self.team_id}"

    @property
    def transport(self) -> HandoffTransport:
        return self._handoff_transport

    # Members

    @property
    def experts(self) -> list[Expert]:
        return list(self._experts.values())

    @property
    def active_experts(self) -> list[Expert]:
        return [expert for expert in self._experts.values() if expert.is_active]

    @property
    def lead_expert(self) -> Expert | None:
        """Who was named, else the first."""
        named = self._experts.get(self._lead_expert_name or "")
        return named or next(iter(self.active_experts), None)

    def get_expert(self, name: str) -> Expert | None:
        return self._experts.get(name)

    def add_expert(self, expert: Expert) -> None:
        name = expert.config.name
        if any(name.casefold() == other.casefold() for other in self._experts):
            raise ValueError(f"there is a {name!r} in the team already")
        if expert.config.is_lead and self._lead_expert_name is not None:
            raise ValueError(f"{self._lead_expert_name!r} leads the team already")
        self._experts[name] = expert
        expert.team_id = self.team_id
        if expert.config.is_lead:
            self._lead_expert_name = name

    def remove_expert(self, name: str) -> Expert | None:
        """A run that goes on keeps the team it began with."""
        expert = self._experts.pop(name, None)
        if expert is not None:
            expert.team_id = None
        if name == self._lead_expert_name:
            self._lead_expert_name = None
        return expert

    # Word

    async def broadcast(self, message: Note) -> None:
        await self._handoff_transport.send(self.team_channel, message)

    def subscribe(self, handler: Handler) -> Callable[[], None]:
        """Hear everything on the team's channel. Returns how to stop."""
        return self._handoff_transport.register_handler(self.team_channel, handler)

    async def add_user_intervention(self, text: str) -> None:
        """Say something to the team, at any time: a command such as /stop or /debate, or words for the experts."""
        self._said.append(text)
        for wake in tuple(self._wakers):
            wake()
        await self.broadcast({"type": "user_intervention", "content": text})

    async def broadcast_user_message(self, text: str) -> None:
        """The same: whatever a person says to the channel is heeded."""
        await self.add_user_intervention(text)

    def consume_user_interventions(self) -> list[str]:
        """What was said since it was last asked for, in order; each is handed out once."""
        said, self._said = self._said, []
        return said

    def on_intervention(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Be told at once that there is something to consume. Returns how to stop."""
        self._wakers.append(wake)
        return lambda: self._wakers.remove(wake)
