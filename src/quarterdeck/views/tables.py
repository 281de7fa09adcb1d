"""The read models, all of them, and that of runs. Changed in the transaction that appends the event."""

from __future__ import annotations

from collections.abc import Sequence

from quarterdeck.events import run
from quarterdeck.events.base import Recorded
from quarterdeck.events.talk import ConversationDeleted
from quarterdeck.ports import Change, Drop, Patch, Put, Table
from quarterdeck.views import access, approvals, board, board_tasks, memory, staff, talk, teams, tenants
from quarterdeck.views.agent_streams import AGENT_STREAMS, AgentStreamsView
from quarterdeck.views.audit import AUDIT, AuditView
from quarterdeck.views.deliveries import MAILBOXES, MailboxesView
from quarterdeck.views.usage import USAGE, UsageView

RUNS = Table(
    "run",
    {
        "tenant": "text",
        "id": "text",
        "conversation": "text",
        "message": "text",
        "status": "text",
        "open": "integer",
        "stage": "text",
        "loop": "text",
        "model": "text",
        "answer": "text",
        "code": "text",
        "detail": "text",
        "requested_at": "real",
        "finished_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("id",), ("tenant", "conversation", "id"), ("conversation", "id"), ("open", "id")),
)
TABLES = (
    AGENT_STREAMS,
    MAILBOXES,
    RUNS,
    *access.TABLES,
    *talk.TABLES,
    *teams.TABLES,
    *approvals.TABLES,
    *memory.TABLES,
    USAGE,
    AUDIT,
    *tenants.TABLES,
    *board.TABLES,
    *board_tasks.TABLES,
    *staff.TABLES,
)


class RunsView:
    """One line for each run, and how it stands."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        key = {"tenant": fact.tenant, "id": fact.stream.partition("/")[2]}
        match fact.event:
            case run.RunRequested(conversation, message, loop):
                asked = {"conversation": conversation, "message": message, "loop": loop, "requested_at": fact.at}
                return [Put(RUNS, {**key, **asked, "status": "queued", "open": 1, "stage": "queued", "answer": ""})]
            case run.RunClaimed():
                return [Patch(RUNS, key, {"status": "running"})]
            case run.StageChanged(stage):
                return [Patch(RUNS, key, {"stage": stage})]
            case run.RunWaiting(status):
                return [Patch(RUNS, key, {"status": status, "stage": None})]
            case run.AttemptStarted(_, _, model):
                return [Patch(RUNS, key, {"model": model})]
            case run.RunFinished(outcome, answer, code, detail):
                end = {"answer": answer, "code": code, "detail": detail, "finished_at": fact.at}
                return [Patch(RUNS, key, {**end, "status": outcome, "open": 0, "stage": None})]
            case ConversationDeleted():
                return [Drop(RUNS, {"tenant": fact.tenant, "conversation": key["id"]})]
            case _:
                return []


VIEWS = (
    AgentStreamsView(),
    MailboxesView(),
    RunsView(),
    *access.VIEWS,
    *talk.VIEWS,
    *teams.VIEWS,
    *approvals.VIEWS,
    *memory.VIEWS,
    UsageView(),
    AuditView(),
    *tenants.VIEWS,
    *board.VIEWS,
    *board_tasks.VIEWS,
    *staff.VIEWS,
)
