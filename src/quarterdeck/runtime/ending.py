"""How a run ends: its last event, and all that is written in the same transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quarterdeck.engine.run import Finish, RunState
from quarterdeck.engine.run.decide import loose_ends
from quarterdeck.events.after import AfterRequested
from quarterdeck.events.base import Event
from quarterdeck.events.run import RunFinished, Stats
from quarterdeck.events.talk import ConversationSummarised, MessageAdded
from quarterdeck.kernel.ids import ConversationId, StreamName, conversation_stream
from quarterdeck.log.entries import Entry
from quarterdeck.runtime.after import after_run
from quarterdeck.runtime.crew import Crew
from quarterdeck.runtime.succession import successor, without
from quarterdeck.runtime.twins import twins


@dataclass(frozen=True, slots=True)
class Ending:
    crew: Crew
    run: StreamName
    actor: str

    def of(
        self, finish: Finish, state: RunState, stats: Stats, *, tainted: bool
    ) -> tuple[tuple[Event, ...], tuple[Entry, ...]]:
        """The last events of the run, and what goes in with them elsewhere."""
        assert state.requested is not None
        ended = RunFinished(finish.outcome, finish.answer, finish.code, finish.detail, stats, state.usage)
        status = "failed" if finish.outcome == "quarantined" else finish.outcome
        said = MessageAdded("assistant", finish.answer, self.run.key, status)
        heeded, next_said, next_run = successor(finish, state, self.run, self.crew.ids, self.actor)
        events = (*heeded, *loose_ends(without(state, heeded), "the run has ended"), ended)
        stream = conversation_stream(self.run.tenant, ConversationId(state.requested.conversation))
        summarised = () if state.digest is None else (ConversationSummarised(*state.digest),)
        talk = Entry(stream, (*summarised, said, *next_said), actor=self.actor, cause=self.run.key)
        after = self._afterwards(finish, state, tainted=tainted)
        return events, (talk, *twins(self.run, state, events, self.actor), *next_run, *after)

    def _afterwards(self, finish: Finish, state: RunState, *, tainted: bool) -> Sequence[Entry]:
        """A look back at what was done, which nobody waits for."""
        asked = state.requested
        assert asked is not None
        memory = asked.loop == "roles" and (asked.persona is None or asked.persona.memory)
        if finish.outcome != "completed" or not (memory or self.crew.reflection):
            return ()
        wanted = AfterRequested(
            self.run.key,
            asked.conversation,
            asked.message,
            finish.answer,
            self.crew.workspace(self.run.tenant, asked.workspace),
            memory,
            self.crew.reflection,
            tainted=state.tainted or tainted,
        )
        return (after_run(self.run, wanted, self.actor),)
