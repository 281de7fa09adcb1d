"""The read model of what agents say piece by piece: which streams there are, whose, where, and how each ended."""

from __future__ import annotations

from collections.abc import Sequence

from quarterdeck.events.agent_stream import AgentStreamEnded, AgentStreamInterrupted, AgentStreamStarted
from quarterdeck.events.base import Recorded
from quarterdeck.ports import Change, Patch, Put, Table

AGENT_STREAMS = Table(
    "agent_stream",
    {
        "tenant": "text",
        "id": "text",
        "project": "text",
        "agent": "text",
        "slug": "text",
        "chat": "text",
        "task": "text",
        "run": "text",
        "state": "text",
        "said": "text",
        "place": "integer",
        "started_at": "real",
        "ended_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("state", "id"), ("tenant", "chat", "id"), ("tenant", "task", "id"), ("tenant", "agent", "state", "id")),
)


class AgentStreamsView:
    """One line for each; deltas change nothing, so that a long answer costs no more than a short one. `place` is where
    it begins in its project's stream."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        match fact.event:
            case AgentStreamStarted(stream, agent, slug, chat, task, run):
                key = {"tenant": fact.tenant, "id": stream, "project": fact.stream.partition("/")[2]}
                about = {"agent": agent, "slug": slug, "chat": chat, "task": task, "run": run}
                begun = {"state": "open", "said": None, "place": fact.first, "started_at": fact.at, "ended_at": None}
                return [Put(AGENT_STREAMS, {**key, **about, **begun})]
            case AgentStreamEnded(stream, said=said):
                end = {"state": "ended", "said": said, "ended_at": fact.at}
                return [Patch(AGENT_STREAMS, {"tenant": fact.tenant, "id": stream}, end)]
            case AgentStreamInterrupted(stream):
                end = {"state": "interrupted", "ended_at": fact.at}
                return [Patch(AGENT_STREAMS, {"tenant": fact.tenant, "id": stream}, end)]
            case _:
                return []
