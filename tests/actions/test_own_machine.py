"""The server's machine is its operator's: nobody else in the local tenant reaches beyond what they were given."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from quarterdeck.actions.approvals import answer
from quarterdeck.actions.desk import Desk
from quarterdeck.actions.runs import Ask, start_run
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.engine.access import RIGHTS
from quarterdeck.engine.approval import Answer
from quarterdeck.events.run import RunRequested
from quarterdeck.events.tool import ApprovalRequested
from quarterdeck.kernel.errors import NotAllowed
from quarterdeck.kernel.ids import RunId, TenantId, approval_stream, run_stream
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT, Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.views.tables import TABLES, VIEWS

OWNER = Scope(LOCAL_TENANT, "person:olga", RIGHTS["owner"])


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    log = Log(MemoryStore(), SystemClock(), TABLES, VIEWS)
    yield Desk(log, SystemIds(), SystemClock())
    await log.close()


async def asked(desk: Desk, action: str, tenant: TenantId = LOCAL_TENANT) -> str:
    """A run that waits for a person."""
    run, ident = RunId(desk.ids.mint()), desk.ids.mint()
    call = ("call-1", "tool", "shell_exec_safe", "{}", "cat /etc/passwd", "to see", "medium", action, "why", "0" * 64)
    event = ApprovalRequested(ident, run, *call)  # type: ignore[arg-type]
    await desk.log.append(
        Entry(run_stream(tenant, run), (RunRequested("c", "hello"), event)),
        Entry(approval_stream(tenant, ident), (event,)),
    )
    return ident


@pytest.mark.parametrize("action", ["file_outside_workspace", "privileged", "shell", "destructive"])
async def test_what_reaches_beyond_the_folder_is_allowed_by_an_operator_alone(desk: Desk, action: str) -> None:
    ident = await asked(desk, action)
    with pytest.raises(NotAllowed) as refused:
        await answer(desk, OWNER, ident, Answer("approved"))
    assert refused.value.code == "operators_only"
    await answer(desk, LOCAL_OWNER, ident, Answer("approved"))


async def test_anybody_who_may_answer_at_all_may_refuse(desk: Desk) -> None:
    ident = await asked(desk, "privileged")
    await answer(desk, OWNER, ident, Answer("denied"))


async def test_what_stays_within_the_folder_is_allowed_by_whoever_may_answer(desk: Desk) -> None:
    await answer(desk, OWNER, await asked(desk, "file_write"), Answer("approved"))


async def test_only_an_operator_names_a_folder_of_the_machine(desk: Desk) -> None:
    with pytest.raises(NotAllowed):
        await start_run(desk, OWNER, Ask("hello", workspace="/etc"))
    assert await start_run(desk, OWNER, Ask("hello"))
    assert await start_run(desk, LOCAL_OWNER, Ask("hello", workspace="/etc"))
