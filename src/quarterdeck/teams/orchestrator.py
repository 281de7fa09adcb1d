"""Carries a team's task out in this process: asks the rules what is next, does it, tells the channel what happened."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from quarterdeck.engine.team import (
    MAX_DEBATES,
    Begin,
    Cut,
    Finish,
    Phase,
    Record,
    Rest,
    TeamState,
    decide,
    evolve,
    heed,
    language_of,
    prompt,
)
from quarterdeck.engine.team.prompts import ROOM, synthesis
from quarterdeck.engine.team.state import Guidance
from quarterdeck.engine.team.texts import TEXTS
from quarterdeck.engine.team.told import told
from quarterdeck.events import team as ev
from quarterdeck.events.base import Event
from quarterdeck.kernel.errors import ModelFailed
from quarterdeck.teams.config import ExpertConfig
from quarterdeck.teams.expert import Expert
from quarterdeck.teams.plan import PlanPhase, TeamPlan
from quarterdeck.teams.team import ExpertTeam

ANSWER_S = 600.0
LONGEST_TEXT = 40_000


@dataclass(frozen=True)
class TeamResult:
    """`outcome` is completed, stopped or failed; the answer holds what there is in each case."""

    outcome: str
    answer: str
    plan: TeamPlan
    code: str | None = None
    detail: str | None = None


class TeamOrchestrator:
    """One task at a time. `answer_s` is how long one call of a gateway may take."""

    MAX_DEBATES = MAX_DEBATES

    def __init__(self, team: ExpertTeam, *, debate_style: str = "open", answer_s: float = ANSWER_S) -> None:
        self._team, self._debate_style, self._answer_s = team, debate_style, answer_s
        self._user_context: list[str] = []
        self._debate_count = 0
        self._state = TeamState()
        self._plan: TeamPlan | None = None
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._ended: list[ev.PartEnded] = []
        self._news = asyncio.Event()
        self._said = 0
        self._executing = False

    async def execute(self, task: str, plan: TeamPlan | None = None, *, approve_plan: bool = False) -> TeamResult:
        """Plan, work, debate, answer. With a plan of your own nobody else makes one; with `approve_plan` the lead's
        waits until somebody says /approve."""
        if self._executing:
            raise RuntimeError("the team is at work on a task already")
        if not self._team.active_experts:
            raise ValueError("the team has no active expert")
        if plan is not None and (wrong := plan.validate(expert.config.name for expert in self._team.active_experts)):
            raise ValueError(" ".join(wrong))
        self._executing, self._debate_count, self._user_context = True, 0, []
        self._plan = plan or TeamPlan(task, lead_expert=self._lead_name())
        leave = self._team.on_intervention(self._news.set)
        try:
            return await self._carried_out(self._requested(task, plan, ask_first=approve_plan))
        finally:
            leave()
            await self._calls_over()
            self._executing = False

    async def plan(self, task: str) -> TeamPlan:
        """Only the plan: what the lead would have the team do."""
        state = evolve(TeamState(), self._requested(task, None))
        made = TeamPlan(task, lead_expert=self._lead_name())
        while not state.version:
            match decide(state, self.MAX_DEBATES):
                case Begin(parts):
                    for part in parts:
                        asked = prompt(state, part, self._room(part.expert))
                        state = evolve(evolve(state, part), await self._answered(part, asked))
                case Record(events):
                    for event in events:
                        state = evolve(state, event)
                case _:
                    break
        made.take(state.phases, state.version)
        return made

    # The loop

    async def _carried_out(self, requested: ev.TeamRunRequested) -> TeamResult:
        self._state = TeamState()
        await self._happen(requested)
        while True:
            self._news.clear()
            await self._take_word()
            intent = decide(self._state, self.MAX_DEBATES)
            match intent:
                case Record(events):
                    await self._happen(*events)
                case Begin(parts):
                    await self._begin(parts)
                case Cut(keys):
                    await self._happen(*map(ev.PartCut, keys))
                    for key in keys:
                        self._calls[key].cancel()
                case Finish(outcome, answer, code, detail):
                    await self._happen(ev.TeamRunFinished(outcome, answer, code, detail))
                    assert self._plan is not None
                    return TeamResult(outcome, answer, self._plan, code, detail)
                case Rest():
                    raise AssertionError("a run without an end has nothing left to do")
                case _:
                    await self._news.wait()

    async def _take_word(self) -> None:
        """What experts came to, and then what people said."""
        ended, self._ended = self._ended, []
        await self._happen(*ended)
        for text in self._team.consume_user_interventions():
            self._said += 1
            await self._happen(ev.TeamInterventionAccepted(f"i{self._said}", "", text))

    async def _begin(self, parts: Sequence[ev.PartStarted]) -> None:
        for part in parts:
            asked = prompt(self._state, part, self._room(part.expert))
            self._calls[part.part] = asyncio.create_task(self._call(part, asked))
            await self._happen(part)

    async def _call(self, part: ev.PartStarted, asked: str) -> None:
        try:
            ended = await self._answered(part, asked)
        except asyncio.CancelledError:
            ended = ev.PartEnded(part.part, "stopped")
        self._ended.append(ended)
        self._news.set()

    async def _answered(self, part: ev.PartStarted, asked: str) -> ev.PartEnded:
        """What a call comes to; whatever a gateway does is contained."""
        try:
            async with asyncio.timeout(self._answer_s):
                text = await self._chat(self._expert(part.expert), self._state.language, asked)
        except TimeoutError:
            return _failure(part, "timed_out", f"No answer within {self._answer_s:.0f} seconds.")
        except ModelFailed as failed:
            return _failure(part, failed.code, failed.detail)
        except Exception as error:  # noqa: BLE001 - the team goes on without whatever a gateway does
            return _failure(part, "gateway_error", f"{type(error).__name__}: {error}")
        if not isinstance(text, str):
            return _failure(part, "nonsense", "The reply had no text.")
        return ev.PartEnded(part.part, "completed", text[:LONGEST_TEXT])

    async def _chat(self, expert: Expert | None, language: ev.Language, asked: str) -> Any:
        gateway = self._gateway(expert)
        if gateway is None or expert is None:
            raise ModelFailed("no_gateway", "This expert has no gateway to ask.", retryable=False)
        who = config.member(language).persona.prompt if isinstance(config := expert.config, ExpertConfig) else ""
        options = {} if config.temperature is None else {"temperature": config.temperature}
        messages = [{"role": "user", "content": f"{who}\n\n{asked}".strip()}]
        return (await gateway.chat(messages, model=config.model, **options)).content

    async def _calls_over(self) -> None:
        for call in self._calls.values():
            call.cancel()
        await asyncio.gather(*self._calls.values(), return_exceptions=True)
        self._calls.clear()
        self._ended.clear()

    async def _happen(self, *events: Event) -> None:
        for event in events:
            before, self._state = self._state, evolve(self._state, event)
            if len(self._state.guidance) > len(before.guidance):
                self._user_context.append(self._state.guidance[-1].words)
            self._debate_count = self._state.debates
            if self._plan is not None and self._state.version:
                self._plan.take(self._state.phases, self._state.version)
            name, payload = told(event)
            await self._team.broadcast({"type": name, **payload})

    # One step at a time, on a plan at hand

    async def _process_interventions(self, lead: Expert | None, plan: TeamPlan) -> bool:  # noqa: ARG002 - the team knows it
        """Heed what was said since the last time; whether the work is to end."""
        if not self._executing:
            self._plan, self._state = plan, self._at(plan.task, plan.as_rules(), plan.version)
        await self._take_word()
        while self._state.pending:
            await self._happen(*heed(self._state, self._state.pending[0], self.MAX_DEBATES))
        return self._state.stops > 0

    async def _synthesize_results(self, lead: Expert | None, task: str, phases: Sequence[PlanPhase]) -> str:
        """The answer that the lead writes from what these phases came to."""
        stands = TeamPlan(task, list(phases), self._lead_name()).as_rules()
        state = self._at(task, stands, 1)
        words = TEXTS[state.language]
        asked = f"## {words.task}\n{task}\n\n{synthesis(state, words, self._room(self._lead_name()))}"
        return str(await self._chat(lead or self._team.lead_expert, state.language, asked))

    def _at(self, task: str, phases: tuple[Phase, ...], version: int) -> TeamState:
        state = evolve(TeamState(), self._requested(task, None))
        guidance = tuple(map(Guidance, self._user_context))
        told_all = replace(state, guidance=guidance, debates=self._debate_count)
        return replace(told_all, phases=phases, version=version, approved=True)

    def _requested(self, task: str, plan: TeamPlan | None, *, ask_first: bool = False) -> ev.TeamRunRequested:
        language = language_of(task)
        lead = self._lead_name()
        members = (expert.config.member(language) for expert in self._team.active_experts)
        experts = tuple(replace(member, lead=member.name == lead) for member in members)
        planned = () if plan is None else tuple(phase.planned() for phase in plan.phases)
        return ev.TeamRunRequested(self._team.team_id, task, language, experts, ask_first, planned, self._debate_style)

    def _lead_name(self) -> str:
        lead = self._team.lead_expert
        return "" if lead is None else lead.config.name

    def _expert(self, name: str) -> Expert | None:
        return self._team.get_expert(name) or self._team.lead_expert

    def _gateway(self, expert: Expert | None) -> Any:
        """The expert's own, else the lead's."""
        for one in (expert, self._team.lead_expert):
            gateway = None if one is None else one.agent._llm_gateway  # noqa: SLF001 - its name in programs of old
            if gateway is not None:
                return gateway
        return None

    def _room(self, name: str) -> int:
        """How much of the others' work the expert's model has room for; a gateway may say."""
        room = getattr(self._gateway(self._expert(name)), "room", None)
        return room if isinstance(room, int) else ROOM


def _failure(part: ev.PartStarted, code: str, detail: str) -> ev.PartEnded:
    return ev.PartEnded(part.part, "failed", "", code, detail[:500])
