"""One approval and everybody who has something to do with it: people who answer, some of them late or twice, and a run
that expires, calls off, voids and uses it, sometimes by what it read a moment ago."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from quarterdeck.actions.approvals import answer, give_password
from quarterdeck.actions.desk import Desk
from quarterdeck.adapters.lockbox import MemoryLockbox
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.engine import approval as rules
from quarterdeck.engine.approval import Answer, Approval
from quarterdeck.events import tool as ev
from quarterdeck.events.base import Event
from quarterdeck.kernel.errors import Closed, Moved, Problem
from quarterdeck.kernel.ids import RunId, approval_stream, run_stream
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.log.rows import event_of
from quarterdeck.views.approvals import APPROVALS
from quarterdeck.views.tables import TABLES, VIEWS

T = TypeVar("T")
OWN, RUN = approval_stream(LOCAL_TENANT, "a1"), run_stream(LOCAL_TENANT, RunId("r1"))
# What may follow what. `waiting` is approved, with a password that was asked for and not given yet.
EDGES = {
    "pending": {"approved", "denied", "expired", "cancelled"},
    "approved": {"consumed", "voided", "cancelled"},
}
ENDS = {"denied", "expired", "cancelled", "voided", "consumed"}


class HandClock(SystemClock):
    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


class Approving(RuleBasedStateMachine):
    @initialize(password=st.booleans())
    def ask(self, password: bool) -> None:
        self.loop = asyncio.new_event_loop()
        self.clock, self.lockbox = HandClock(), MemoryLockbox(SystemClock())
        self.log = Log(MemoryStore(), self.clock, TABLES, VIEWS)
        self.desk = Desk(self.log, SystemIds(), self.clock)
        self.password = password
        asked = ev.ApprovalRequested(
            "a1", "r1", "c1", "tool", "t", "{}", "t", "", "medium", "t", "", "0" * 64, None, password, self.until()
        )
        self.append(asked, 0)
        self.states, self.decisions, self.uses = ["pending"], 0, 0

    def until(self) -> float:
        return SystemClock().now() + 3600

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.now(self.log.close())
            self.loop.close()

    def now(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(doing)

    def known(self) -> Approval:
        async def read() -> Approval:
            return await Fold(self.log, OWN, Approval(), rules.evolve).catch_up()

        return self.now(read())

    def append(self, event: Event, head: int) -> bool:
        """As a run does it: both streams or none, and only where this one still ends where it was read."""
        also = ev.ToolStarted(ev.ToolCall("c1", "t", "{}"), "a1") if isinstance(event, ev.ApprovalConsumed) else event
        try:
            self.now(self.log.append(Entry(OWN, (event,), head=head), Entry(RUN, (also,))))
        except (Moved, Closed):
            return False
        return True

    # People

    @rule(decision=st.sampled_from(["approved", "denied", "happened", "expired"]), late=st.booleans())
    def somebody_answers(self, decision: Any, late: bool) -> None:
        before = self.known()
        self.clock.ahead = 7200.0 if late else 0.0
        try:
            self.now(answer(self.desk, LOCAL_OWNER, "a1", Answer(decision)))
        except Problem:
            assert self.known() == before
        else:
            assert (before.state, late, decision in {"approved", "denied"}) == ("pending", False, True)
            self.decisions += 1

    @rule(decisions=st.lists(st.sampled_from(["approved", "denied"]), min_size=2, max_size=6))
    def several_answer_at_once(self, decisions: list[Any]) -> None:
        self.clock.ahead = 0.0
        clicks = [answer(self.desk, LOCAL_OWNER, "a1", Answer(decision)) for decision in decisions]
        was = self.known().state

        async def together() -> list[BaseException | None]:
            return await asyncio.gather(*clicks, return_exceptions=True)

        results = self.now(together())
        assert results.count(None) == (1 if was == "pending" else 0)
        self.decisions += results.count(None)

    @rule()
    def somebody_gives_a_password(self) -> None:
        before = self.known()
        try:
            self.now(give_password(self.desk, LOCAL_OWNER, self.lockbox, "r1", "a1", "word"))
        except Problem:
            assert self.known() == before
        else:
            assert (before.state, before.lock) == ("approved", "asked")

    # The run

    @precondition(lambda self: self.password)
    @rule(stale=st.booleans())
    def it_asks_for_the_password(self, stale: bool) -> None:
        known = self.known()
        if known.state == "approved" and known.lock == "closed":
            assert self.append(ev.PasswordRequested("a1", "c1", "t"), known.version - stale) is not stale

    @rule(decision=st.sampled_from(["expired", "cancelled"]), stale=st.booleans())
    def it_gives_up_asking(self, decision: Any, stale: bool) -> None:
        known = self.known()
        if known.state == "pending":
            told = ev.ApprovalDecided("a1", "c1", decision, "system")
            assert self.append(told, known.version - stale) is not stale

    @rule(stale=st.booleans())
    def it_finds_the_world_changed(self, stale: bool) -> None:
        known = self.known()
        if known.state == "approved":
            told = ev.ApprovalDecided("a1", "c1", "voided", "system")
            assert self.append(told, known.version - stale) is not stale

    @rule(stale=st.booleans())
    def it_begins(self, stale: bool) -> None:
        known = self.known()
        if known.state == "approved" and (not self.password or known.lock == "open"):
            begun = self.append(ev.ApprovalConsumed("a1", "c1"), known.version - stale)
            assert begun is not stale
            self.uses += begun

    @rule(head=st.integers(0, 9))
    def somebody_tries_to_use_it_by_what_they_once_read(self, head: int) -> None:
        known = self.known()
        if head != known.version:
            assert not self.append(ev.ApprovalConsumed("a1", "c1"), head)

    # What must hold

    @invariant()
    def one_decision_one_use_and_only_known_steps(self) -> None:
        if not hasattr(self, "log"):
            return
        state = self.known().state
        if state != self.states[-1]:
            assert state in EDGES.get(self.states[-1], set()), (self.states, state)
            self.states.append(state)
        assert self.decisions <= 1
        assert self.uses <= 1
        assert (self.uses == 1) == (state == "consumed")
        assert state != "consumed" or "approved" in self.states

    @invariant()
    def the_table_and_the_run_tell_the_same(self) -> None:
        if not hasattr(self, "log"):
            return
        line = self.now(self.log.get(APPROVALS, tenant=LOCAL_TENANT, id="a1"))
        assert line is not None
        assert line["state"] == self.known().state
        told = [event_of(row) for row in self.now(self.log.read(RUN))]
        assert sum(isinstance(event, ev.ToolStarted) for event in told) == self.uses


TestApproving = Approving.TestCase
TestApproving.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
