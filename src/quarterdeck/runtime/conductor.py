"""Conducts one team's run: asks the rules what is next, lets ordinary runs do it, writes down what they came to.

It is the same loop whether the run is new or was left by a process that died at any line. A part and the run that does
it begin in one transaction, so that none of them is begun twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quarterdeck.engine.team import (
    Begin,
    Cut,
    Finish,
    Intent,
    Part,
    Record,
    Rest,
    TeamState,
    Wait,
    decide,
    evolve,
    prompt,
)
from quarterdeck.engine.team.prompts import ROOM
from quarterdeck.events import team as ev
from quarterdeck.events.base import Event
from quarterdeck.events.run import Loop, RunRequested, StopRequested
from quarterdeck.events.steering import InterventionAccepted
from quarterdeck.kernel.errors import Closed, ModelFailed, Moved
from quarterdeck.kernel.ids import RunId, StreamName, intervention_stream, run_stream
from quarterdeck.kernel.parts import Persona
from quarterdeck.log.entries import Claim, Entry
from quarterdeck.log.fold import Fold
from quarterdeck.log.log import Log
from quarterdeck.ports import Ids
from quarterdeck.runtime.roles import Providers
from quarterdeck.views.tables import RUNS

LONGEST_TEXT = 40_000
LONGEST_DETAIL = 500
ROOM_SLIGHT = 2_000
SORRY = "Something went wrong in the server itself; its log says what."


@dataclass(frozen=True, slots=True)
class TeamCrew:
    """What every conductor shares. The worker's name is its own: it keeps claims of its own."""

    log: Log
    providers: Providers
    ids: Ids
    worker: str
    deadline_s: float | None = None  # of one part


class Conductor:
    def __init__(self, crew: TeamCrew, name: StreamName) -> None:
        self._crew, self._name = crew, name
        self._fold: Fold[TeamState] = Fold(crew.log, name, TeamState(), evolve)
        self._actor = f"worker:{crew.worker}"
        self._asked_by = self._actor
        self._epoch = 0
        self._news = asyncio.Event()
        self._seen: set[str] = set()  # runs of parts that were looked at, or that began here
        self._heard: dict[str, str] = {}  # runs of which there is something to look at

    async def drive(self) -> None:
        """To the end, through whatever times there are in which nobody works."""
        state = await self._fold.catch_up()
        if state.requested is None or state.outcome is not None:
            return
        self._asked_by = (await self._crew.log.read(self._name, 0, 1))[0].actor
        await self._claim(state)
        while not isinstance(await self._step(), Rest):
            pass

    async def _step(self) -> Intent:
        """Write down what came, and all that follows from it, in one transaction; where nothing does, wait for news."""
        self._news.clear()
        state = await self._fold.catch_up()
        heard, self._heard = self._heard, {}
        events, also = await self._came(state, heard), list[Entry]()
        for event in events:
            state = evolve(state, event)
        while not isinstance(intent := decide(state), Wait | Rest):
            more, entries = await self._followed(intent, state)
            events, also = [*events, *more], [*also, *entries]
            for event in more:
                state = evolve(state, event)
        if events:
            await self._append(events, also, heard)
            return Wait()
        if isinstance(intent, Wait):
            await self._news.wait()
        return intent

    async def _append(self, events: Sequence[Event], also: Sequence[Entry], heard: dict[str, str]) -> None:
        """Only where nothing came in between: what is decided is decided from all that happened."""
        entry = Entry(self._name, tuple(events), actor=self._actor, fence=self._epoch, head=self._fold.seq)
        try:
            await self._crew.log.append(entry, *also)
        except Moved:  # somebody said something meanwhile: look again, with that
            self._heard = {**heard, **self._heard}
            self._seen.clear()
        except Closed as closed:
            own = None if closed.code == "tenant_gone" else await self._crew.log.look(self._name)
            if own is None or own.closed:
                raise
            self._seen.clear()  # the run of a part has ended meanwhile

    def wake(self) -> None:
        """There is something new in the stream."""
        self._news.set()

    def heard(self, run: str, what: str) -> None:
        """A run of a part has ended, or waits for a person."""
        self._heard[run] = what
        self._news.set()

    def has(self, run: str) -> bool:
        return run in self._seen

    async def give_up(self) -> None:
        """End what our own code failed at: a clear end is better than a run that never moves again."""
        state = await self._fold.catch_up()
        if self._epoch and state.requested is not None and state.outcome is None:
            stops = [
                Entry(self._child(part), (StopRequested(),), actor=self._actor) for part in await self._alive(state)
            ]
            ended = ev.TeamRunFinished("failed", "", "internal", SORRY)
            await self._crew.log.append(Entry(self._name, (ended,), actor=self._actor, fence=self._epoch), *stops)

    async def _claim(self, state: TeamState) -> None:
        claim = Claim(self._crew.worker, state.epoch + 1)
        claimed = ev.TeamRunClaimed(claim.worker, claim.epoch)
        await self._crew.log.append(Entry(self._name, (claimed,), actor=self._actor, claim=claim))
        self._epoch = claim.epoch

    # What the runs of the parts came to

    async def _came(self, state: TeamState, heard: dict[str, str]) -> list[Event]:
        """What is new of the runs of its parts."""
        looked_at = [part for part in state.open_parts if part.run not in self._seen or part.run in heard]
        self._seen |= {part.run for part in looked_at if part.run is not None}
        came = [await self._came_to(part, heard) for part in looked_at]
        return [event for event in came if event is not None]

    async def _came_to(self, part: Part, heard: dict[str, str]) -> Event | None:
        line = await self._crew.log.get(RUNS, tenant=self._name.tenant, id=part.run)
        if line is None:
            return ev.PartEnded(part.key, "failed", "", "run_not_found", "Its run is not there any more.")
        if line["open"]:
            waits = str(line["status"]).startswith("waiting")
            return ev.PartWaiting(part.key, part.run or "", line["status"]) if waits and part.run in heard else None
        end: ev.PartEnd = line["status"] if line["status"] in {"completed", "stopped"} else "failed"
        text, detail = line["answer"] or "", line["detail"]
        if len(text) > LONGEST_TEXT:
            text = text[:LONGEST_TEXT] + f"\n[… {len(text) - LONGEST_TEXT}]"
        return ev.PartEnded(part.key, end, text, line["code"], None if detail is None else detail[:LONGEST_DETAIL])

    async def _alive(self, state: TeamState) -> list[Part]:
        lines = [(part, await self._crew.log.look(self._child(part))) for part in state.open_parts]
        return [part for part, stream in lines if stream is not None and not stream.closed]

    # Deeds

    async def _followed(self, intent: Intent, state: TeamState) -> tuple[Sequence[Event], Sequence[Entry]]:
        """The events of what was decided, and what goes in with them elsewhere."""
        match intent:
            case Record(events):
                return events, self._steered(state, events)
            case Begin(parts):
                return await self._begun(state, parts)
            case Cut(keys):
                return tuple(map(ev.PartCut, keys)), [self._stop(state.parts[key]) for key in keys]
            case Finish(outcome, answer, code, detail):
                return (ev.TeamRunFinished(outcome, answer, code, detail),), ()
            case _:
                return (), ()

    async def _begun(
        self, state: TeamState, parts: Sequence[ev.PartStarted]
    ) -> tuple[Sequence[Event], Sequence[Entry]]:
        begun, runs = list[ev.PartStarted](), list[Entry]()
        for part in parts:
            run = RunId(self._crew.ids.mint())
            requested = await self._requested(state, part, run)
            begun.append(replace(part, run=run))
            stream = run_stream(self._name.tenant, run)
            runs.append(Entry(stream, (requested,), actor=self._asked_by, cause=self._name.key))
            self._seen.add(run)  # before it begins: it may end at once
        return begun, runs

    async def _requested(self, state: TeamState, part: ev.PartStarted, run: RunId) -> RunRequested:
        """The run that does a part. Only work on a phase has tools and skills; words alone need none."""
        assert state.requested is not None
        persona = replace(state.expert(part.expert).persona, memory=False)
        if part.work != "phase":
            persona = replace(persona, tools=(), skills=())
        loop, room = await self._means(persona)
        return RunRequested(
            run,
            prompt(state, part, room),
            loop,
            state.requested.workspace,
            deadline_s=self._crew.deadline_s,
            persona=persona,
            root=self._name.key,
            budget_usd=state.requested.budget_usd,
        )

    async def _means(self, persona: Persona) -> tuple[Loop, int]:
        """Which loop the expert's model can take, and how much of the others' work it has room for."""
        try:
            traits = (await self._crew.providers.of(self._name.tenant, persona).model("thinker")).traits
        except ModelFailed:
            return "roles", ROOM  # the run itself will say what is wrong
        return "native" if traits.tools else "roles", ROOM_SLIGHT if traits.slight else ROOM

    def _steered(self, state: TeamState, events: Sequence[Event]) -> list[Entry]:
        """What a person said reaches those who are at work on a phase now, in the transaction that heeds it."""
        entries: list[Entry] = []
        for event in events:
            if not isinstance(event, ev.TeamInterventionHeeded) or event.command not in {"guidance", "member"}:
                continue
            for part in state.open_parts:
                ours = part.work == "phase" and not part.cut and event.to in {None, part.expert}
                if event.outcome == "applied" and ours and part.run is not None:
                    word = InterventionAccepted(self._crew.ids.mint(), part.run, "steer", event.words)
                    twin = intervention_stream(self._name.tenant, word.intervention)
                    entries.append(Entry(twin, (word,), actor=self._asked_by, cause=part.run))
                    entries.append(Entry(self._child(part), (word,), actor=self._asked_by))
        return entries

    def _stop(self, part: Part) -> Entry:
        return Entry(self._child(part), (StopRequested("it is not wanted any more"),), actor=self._actor)

    def _child(self, part: Part) -> StreamName:
        return run_stream(self._name.tenant, RunId(part.run or ""))
