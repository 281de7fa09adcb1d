"""Runs that ask people first: what is allowed, what is refused, and what happens when the world goes on meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from staging import Cast, Drawer, Playing, Stage, bounded, name, saying

from quarterdeck.actions.approvals import answer, give_password, revoke_rule
from quarterdeck.engine.approval import Answer
from quarterdeck.events import run as ev
from quarterdeck.events import tool
from quarterdeck.kernel.errors import Conflict, Gone, Invalid, NotFound, Problem, ToolFailed
from quarterdeck.kernel.ids import RunId, TenantId
from quarterdeck.kernel.parts import ToolCall
from quarterdeck.kernel.scope import LOCAL_OWNER, Scope
from quarterdeck.log.entries import Claim, Entry
from quarterdeck.ports import Burst, Deed, Done, Ended, ModelEvent, ModelRequest, Query, Site, Weighed
from quarterdeck.testing.scripted import ScriptedModel, Turn
from quarterdeck.views.approvals import APPROVALS, RULES

ASKS = frozenset({"write_note"})
ALLOW, DENY = Answer("approved"), Answer("denied", words="not today")


def write(text: str = "blue", ident: str = "c1", note: str = "a") -> ToolCall:
    return ToolCall(ident, "write_note", json.dumps({"name": note, "text": text}))


def read(note: str = "a", ident: str = "c9") -> ToolCall:
    return ToolCall(ident, "read_note", json.dumps({"name": note}))


def calling(*calls: ToolCall, then: str = "Done.") -> ScriptedModel:
    return ScriptedModel([Turn(calls=list(calls)), Turn(content=(then,))])


async def asked(stage: Stage, task: str, count: int = 1) -> list[tool.ApprovalRequested]:
    """What the run asks, once it rests."""
    seen = await stage.until(task, lambda seen: len(seen.of(tool.ApprovalRequested)) >= count and rests(seen))
    found: list[tool.ApprovalRequested] = seen.of(tool.ApprovalRequested)
    return found


def rests(seen: object) -> bool:
    return isinstance(seen.rows[-1][2], ev.RunWaiting)  # type: ignore[attr-defined]


async def test_nothing_is_done_before_somebody_allowed_it_and_then_once(stage: Stage) -> None:
    drawer = Drawer(ASKS)
    await stage.staffed(calling(write()), drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    assert (drawer.used, request.tool, request.shown) == ([], "write_note", "write_note a")
    await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    seen = await stage.ended(task)
    assert (seen.end.answer, drawer.notes, len(drawer.used)) == ("Done.", {"a": "blue"}, 1)
    [began] = seen.of(tool.ToolStarted)
    assert began.approval == request.approval
    line = await stage.log.get(APPROVALS, tenant="local", id=request.approval)
    assert line is not None
    assert (line["state"], line["decided_by"]) == ("consumed", LOCAL_OWNER.actor)


async def test_what_is_refused_is_not_done_and_the_model_hears_why(stage: Stage) -> None:
    drawer, model = Drawer(ASKS), calling(write())
    await stage.staffed(model, drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    await answer(stage.desk, LOCAL_OWNER, request.approval, DENY)
    seen = await stage.ended(task)
    assert (drawer.used, seen.end.outcome) == ([], "completed")
    assert "not today" in model.requests[1].messages[-1].content


async def test_of_fifty_clicks_one_counts(stage: Stage) -> None:
    drawer = Drawer(ASKS)
    await stage.staffed(calling(write()), drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    clicks = (answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW if n % 2 else DENY) for n in range(50))
    results = await asyncio.gather(*clicks, return_exceptions=True)
    assert results.count(None) == 1
    assert all(isinstance(error, Conflict) for error in results if error is not None)
    await stage.ended(task)
    assert len(drawer.used) == results.index(None) % 2


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (Answer("happened"), Invalid),
        (Answer("expired"), Invalid),
        (Answer("approved", "always"), Invalid),
        (Answer("approved", words="x" * 5000), Invalid),
        (Answer("approved", arguments="[]"), Invalid),
        (Answer("approved", "run", arguments="{}"), Invalid),
    ],
)
async def test_an_answer_that_does_not_fit_changes_nothing(stage: Stage, said: Answer, error: type[Problem]) -> None:
    drawer = Drawer(ASKS)
    await stage.staffed(calling(write()), drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    with pytest.raises(error):
        await answer(stage.desk, LOCAL_OWNER, request.approval, said)
    await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    assert (await stage.ended(task)).end.answer == "Done."


async def test_another_tenant_finds_nothing_to_answer(stage: Stage) -> None:
    await stage.staffed(calling(write()), Drawer(ASKS))
    [request] = await asked(stage, await stage.ask(loop="native"))
    stranger = Scope(TenantId("other"), "person:stranger")
    for approval in (request.approval, "no-such-one"):
        with pytest.raises(NotFound):
            await answer(stage.desk, stranger, approval, ALLOW)


async def test_an_approval_that_nobody_answers_expires_and_the_run_goes_on(stage: Stage) -> None:
    stage.approval_s = 0.05
    drawer, model = Drawer(ASKS), calling(write())
    await stage.staffed(model, drawer)
    task = await stage.ask(loop="native")
    seen = await stage.ended(task)
    [request] = seen.of(tool.ApprovalRequested)
    assert ([d.decision for d in seen.of(tool.ApprovalDecided)], drawer.used) == (["expired"], [])
    assert "nobody answered in time" in model.requests[1].messages[-1].content
    with pytest.raises(Gone):
        await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)


async def test_what_has_changed_since_it_was_asked_about_is_asked_about_again(stage: Stage) -> None:
    drawer = Drawer(ASKS, a="red")
    await stage.staffed(calling(write()), drawer)
    task = await stage.ask(loop="native")
    [first] = await asked(stage, task)
    drawer.notes["a"] = "green"  # behind everybody's back
    await answer(stage.desk, LOCAL_OWNER, first.approval, ALLOW)
    both = await asked(stage, task, 2)
    assert drawer.used == []
    assert both[1].hash != first.hash
    await answer(stage.desk, LOCAL_OWNER, both[1].approval, ALLOW)
    seen = await stage.ended(task)
    assert [d.decision for d in seen.of(tool.ApprovalDecided)] == ["approved", "voided", "approved"]
    assert drawer.notes == {"a": "blue"}


async def test_a_person_may_allow_something_else_than_was_asked(stage: Stage) -> None:
    drawer = Drawer(ASKS)
    await stage.staffed(calling(write("everything")), drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    mine = Answer("approved", arguments='{"name": "a", "text": "a little"}')
    await answer(stage.desk, LOCAL_OWNER, request.approval, mine)
    await stage.ended(task)
    assert drawer.notes == {"a": "a little"}


async def test_what_is_allowed_for_the_run_is_not_asked_twice(stage: Stage) -> None:
    class Diary(Drawer):
        async def weigh(self, call: ToolCall, site: Site) -> Weighed:
            weighed = await super().weigh(call, site)
            return Weighed("medium", "note", "irreversible", weighed.arguments, weighed.shown)

    drawer = Diary()
    turns = [Turn(calls=[write(ident=f"c{n}")]) for n in range(3)]
    await stage.staffed(ScriptedModel([*turns, Turn(content=("Done.",)), *turns]), drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    await answer(stage.desk, LOCAL_OWNER, request.approval, Answer("approved", "run"))
    seen = await stage.ended(task)
    assert (len(drawer.used), len(seen.of(tool.ApprovalRequested))) == (3, 1)
    other = await stage.ask(loop="native")
    assert len(await asked(stage, other)) == 1, "another run asks again"


async def test_a_rule_covers_exactly_what_it_was_made_of_until_it_is_revoked(stage: Stage) -> None:
    class Ruled(Drawer):
        async def weigh(self, call: ToolCall, site: Site) -> Weighed:
            w = await super().weigh(call, site)
            return Weighed("medium", "note", "irreversible", w.arguments, w.shown, rule=f"{call.name} {w.arguments}")

    drawer = Ruled()
    both = [Turn(calls=[write()]), Turn(content=("Done.",))]
    other = [Turn(calls=[write("red")]), Turn(content=("Done.",))]
    await stage.staffed(ScriptedModel([*both, *both, *other, *both]), drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    await answer(stage.desk, LOCAL_OWNER, request.approval, Answer("approved", "always"))
    await stage.ended(task)
    assert (await stage.ended(await stage.ask(loop="native"))).of(tool.ApprovalRequested) == []
    assert len(drawer.used) == 2
    another = await stage.ask(loop="native")
    [request] = await asked(stage, another)
    await answer(stage.desk, LOCAL_OWNER, request.approval, DENY)
    await stage.ended(another)
    [rule] = await stage.log.find(Query(RULES, {"tenant": "local", "active": 1}, "id"))
    with pytest.raises(NotFound):
        await revoke_rule(stage.desk, Scope(TenantId("other"), "person:stranger"), rule["id"])
    await revoke_rule(stage.desk, LOCAL_OWNER, rule["id"])
    with pytest.raises(NotFound):
        await revoke_rule(stage.desk, LOCAL_OWNER, rule["id"])
    assert len(await asked(stage, await stage.ask(loop="native"))) == 1


async def test_while_people_think_what_needs_nobody_is_done(stage: Stage) -> None:
    drawer = Drawer(ASKS, b="red", c="green")
    calls = [write(), read("b", "c2"), write("x", "c3", "z"), read("c", "c4")]
    await stage.staffed(calling(*calls), drawer)
    task = await stage.ask(loop="native")
    requests = await asked(stage, task, 2)
    assert {call.id for call in drawer.used} == {"c2", "c4"}
    for request in reversed(requests):
        await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    await stage.ended(task)
    assert len(drawer.used) == 4


async def test_a_stop_calls_off_what_is_asked(stage: Stage) -> None:
    drawer = Drawer(ASKS)
    await stage.staffed(calling(write()), drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    await stage.stop(task)
    seen = await stage.ended(task)
    assert (seen.end.outcome, drawer.used) == ("stopped", [])
    with pytest.raises(Gone):
        await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)


async def test_what_was_asked_is_still_asked_after_a_restart_and_the_wait_is_no_crash(stage: Stage) -> None:
    drawer = Drawer(ASKS)
    first = await stage.staffed(calling(write()), drawer, worker="one.a")
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    await stage.let_go(first)
    second = await stage.staffed(saying("Done."), drawer, worker="two.a")
    await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    seen = await stage.ended(task)
    assert (drawer.notes, seen.end.outcome) == ({"a": "blue"}, "completed")
    assert second.worker == "two.a"


async def test_a_call_that_makes_no_sense_goes_back_to_the_model_three_times_at_most(stage: Stage) -> None:
    model = ScriptedModel(
        [Turn(calls=[ToolCall("c1", "burn_note", "{}")]) for _ in range(3)] + [Turn(content=("Well.",))]
    )
    await stage.staffed(model, Drawer())
    seen = await stage.ended(await stage.ask(loop="native"))
    assert (seen.end.answer, len(seen.of(tool.ToolFinished))) == ("Well.", 3)
    assert [bool(request.tools) for request in model.requests] == [True, True, True, False]


async def test_doing_the_same_again_and_again_is_noticed(stage: Stage) -> None:
    model = ScriptedModel([Turn(calls=[read(ident=f"c{n}")]) for n in range(3)] + [Turn(content=("Well.",))])
    await stage.staffed(model, Drawer(a="blue"))
    seen = await stage.ended(await stage.ask(loop="native"))
    assert seen.end.answer == "Well."
    assert "Do something else" in model.requests[2].messages[-1].content
    assert model.requests[3].tools == ()


async def test_roles_plan_again_after_a_call_that_made_no_sense(stage: Stage) -> None:
    def directive(name: str, args: dict[str, str]) -> dict[str, object]:
        actions = [{"tool": name, "args": args, "reason": "r"}]
        return {"kind": "action_directive", "intent": "look", "risk_level": "low", "actions": actions, "then": "answer"}

    action = ScriptedModel([Turn(json=directive("burn_note", {})), Turn(json=directive("read_note", {"name": "a"}))])
    await stage.staffed(Cast(saying("Blue."), action=action), Drawer(a="blue"))
    seen = await stage.ended(await stage.ask("Read note a"))
    assert [(used.name, used.malformed) for used in seen.of(tool.ToolFinished)] == [
        ("burn_note", True),
        ("read_note", False),
    ]
    assert seen.end.answer == "Blue."


class Asking(Drawer):
    """A drawer with a question in it."""

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        return Weighed("medium", "question", "irreversible", call.arguments, "Which colour?")


async def test_a_question_to_a_person_is_answered_in_words(stage: Stage) -> None:
    model = calling(ToolCall("c1", "ask_user", '{"question": "Which colour?"}'))
    drawer = Asking()
    await stage.staffed(model, drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    assert request.asked == "answer"
    with pytest.raises(Invalid):
        await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    await answer(stage.desk, LOCAL_OWNER, request.approval, Answer("approved", words="Blue, of course."))
    await stage.ended(task)
    assert (model.requests[1].messages[-1].content, drawer.used) == ("Blue, of course.", [])


class Locked(Drawer):
    """A drawer that wants a one-time password; `heard` is what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str | None] = []

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        return Weighed("high", "privileged", "irreversible", call.arguments, "sudo open the drawer", password=True)

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
        self.heard.append(deed.password)
        return Done("opened")


async def test_a_password_is_asked_for_after_the_approval_and_is_in_no_event(stage: Stage) -> None:
    drawer = Locked()
    await stage.staffed(calling(write()), drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    handed = (stage.desk, LOCAL_OWNER, stage.lockbox, task, request.approval, "tr0ub4dor")
    with pytest.raises(Conflict):
        await give_password(*handed)
    await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    await stage.until(task, lambda seen: bool(seen.of(tool.PasswordRequested)) and rests(seen))
    assert drawer.heard == []
    await give_password(*handed)
    seen = await stage.ended(task)
    assert (drawer.heard, "tr0ub4dor" in str(seen.rows)) == (["tr0ub4dor"], False)
    with pytest.raises(Conflict):
        await give_password(*handed)


async def test_a_password_that_was_lost_with_its_server_is_asked_for_again(stage: Stage) -> None:
    drawer = Locked()
    first = await stage.staffed(calling(write()), drawer, worker="one.a")
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    await stage.until(task, lambda seen: bool(seen.of(tool.PasswordRequested)) and rests(seen))
    await stage.let_go(first)
    handed = (stage.desk, LOCAL_OWNER, stage.lockbox, task, request.approval, "tr0ub4dor")
    await give_password(*handed)
    assert stage.lockbox.take(request.approval) == "tr0ub4dor"  # as a restart would lose it
    await stage.staffed(saying("Done."), drawer, worker="two.a")
    await stage.until(task, lambda seen: len(seen.of(tool.PasswordRequested)) == 2 and rests(seen))
    await give_password(*handed)
    await stage.ended(task)
    assert drawer.heard == ["tr0ub4dor"]


class Hanging(Drawer):
    """Its first use never comes back."""

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
        self.used.append(deed.call)
        if len(self.used) == 1:
            await asyncio.Event().wait()
        return Done("done at last")


async def cut_off(stage: Stage, drawer: Drawer, call: ToolCall) -> str:
    """A run whose server is gone in the middle of this call."""
    first = await stage.staffed(calling(call), drawer, worker="one.a")
    task = await stage.ask(loop="native")
    await stage.until(task, lambda seen: bool(seen.of(tool.ToolStarted)))
    await stage.let_go(first)
    return task


@pytest.mark.parametrize(
    ("said", "uses", "heard"),
    [("happened", 1, "it happened"), ("again", 2, "done at last"), ("denied", 1, "is not known")],
)
async def test_what_a_crash_left_unknown_is_decided_by_a_person(
    stage: Stage, said: tool.Decision, uses: int, heard: str
) -> None:
    drawer, model = Hanging(), saying("Done.")
    task = await cut_off(stage, drawer, write())
    await stage.staffed(model, drawer, worker="two.a")
    [request] = await asked(stage, task)
    assert (request.asked, len(drawer.used)) == ("outcome", 1)
    with pytest.raises(Invalid):
        await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    await answer(stage.desk, LOCAL_OWNER, request.approval, Answer(said))
    seen = await stage.ended(task)
    assert (seen.end.outcome, len(drawer.used)) == ("completed", uses)
    assert heard in model.requests[0].messages[-1].content


async def test_what_changes_nothing_is_simply_done_again_after_a_crash(stage: Stage) -> None:
    drawer = Hanging()
    task = await cut_off(stage, drawer, read())
    await stage.staffed(saying("Done."), drawer, worker="two.a")
    seen = await stage.ended(task)
    assert (len(drawer.used), seen.of(tool.ApprovalRequested)) == (2, [])


async def test_what_changes_nothing_and_was_allowed_is_done_again_without_asking_again(stage: Stage) -> None:
    drawer = Hanging(frozenset({"read_note"}))
    first = await stage.staffed(calling(read()), drawer, worker="one.a")
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    await stage.until(task, lambda seen: bool(seen.of(tool.ToolStarted)))
    await stage.let_go(first)
    await stage.staffed(saying("Done."), drawer, worker="two.a")
    seen = await stage.ended(task)
    assert (len(drawer.used), len(seen.of(tool.ApprovalRequested))) == (2, 1)
    assert [began.approval for began in seen.of(tool.ToolStarted)] == [request.approval, None]


class Shelf(Drawer):
    """A drawer in which it can be looked up whether something was written. Its first use never comes back; with
    `writes` it had done its work by then."""

    def __init__(self, *, writes: bool) -> None:
        super().__init__(ASKS, a="red")
        self.writes = writes

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        w = await super().weigh(call, site)
        bound = {**w.bound, "after": json.loads(call.arguments)["text"]}
        return Weighed(w.risk, w.action, "probeable", w.arguments, w.shown, bound=bound)

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
        first = not self.used
        self.used.append(deed.call)
        if self.writes or not first:
            self.notes["a"] = deed.weighed.bound["after"]
        if first:
            await asyncio.Event().wait()
        return Done("written")

    async def probe(self, deed: Deed) -> Done | None:
        return Done("it is there") if self.notes["a"] == deed.weighed.bound["after"] else None


async def allowed_and_cut_off(stage: Stage, drawer: Drawer) -> RunId:
    """A run whose server is gone in the middle of a call that somebody allowed."""
    first = await stage.staffed(calling(write()), drawer, worker="one.a")
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    await stage.until(task, lambda seen: bool(seen.of(tool.ToolStarted)))
    await stage.let_go(first)
    return task


async def test_what_can_be_looked_up_after_a_crash_is_not_done_again_if_it_was_done(stage: Stage) -> None:
    """By then it comes to something else than what was allowed, because the world is what it made of it."""
    drawer, model = Shelf(writes=True), saying("Done.")
    task = await allowed_and_cut_off(stage, drawer)
    await stage.staffed(model, drawer, worker="two.a")
    seen = await stage.ended(task)
    assert (len(drawer.used), model.requests[0].messages[-1].content) == (1, "it is there")
    assert len(seen.of(tool.ApprovalRequested)) == 1


async def test_what_can_be_looked_up_after_a_crash_is_done_if_it_was_not_and_needs_no_second_leave(
    stage: Stage,
) -> None:
    drawer = Shelf(writes=False)
    task = await allowed_and_cut_off(stage, drawer)
    await stage.staffed(saying("Done."), drawer, worker="two.a")
    seen = await stage.ended(task)
    assert (len(drawer.used), drawer.notes) == (2, {"a": "blue"})
    assert len(seen.of(tool.ApprovalRequested)) == 1


async def test_what_was_cut_off_and_would_now_come_to_something_else_is_asked_about_anew(stage: Stage) -> None:
    drawer = Shelf(writes=False)
    task = await allowed_and_cut_off(stage, drawer)
    drawer.notes["a"] = "green"  # somebody else's, meanwhile
    await stage.staffed(saying("Done."), drawer, worker="two.a")
    both = await asked(stage, task, 2)
    assert (both[0].hash != both[1].hash, len(drawer.used)) == (True, 1)
    await answer(stage.desk, LOCAL_OWNER, both[1].approval, ALLOW)
    seen = await stage.ended(task)
    assert (len(drawer.used), drawer.notes) == (2, {"a": "blue"})
    assert [began.approval for began in seen.of(tool.ToolStarted)] == [each.approval for each in both]


async def test_what_a_tool_says_while_it_works_is_told_before_its_end(stage: Stage) -> None:
    class Chatty(Drawer):
        async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
            for word in ("one ", "two ", "three"):
                say(word)
                await asyncio.sleep(0)
            return Done("one two three")

    await stage.staffed(calling(write()), Chatty())
    seen = await stage.ended(await stage.ask(loop="native"))
    assert "".join(said.text for said in seen.of(tool.ToolSaid)) == "one two three"
    kinds = [type(event) for _, _, event in seen.rows if isinstance(event, tool.ToolSaid | tool.ToolFinished)]
    assert kinds[-1] is tool.ToolFinished


async def test_a_forbidden_call_is_refused_whoever_allows_it(stage: Stage) -> None:
    class Forbidden(Drawer):
        async def weigh(self, call: ToolCall, site: Site) -> Weighed:
            return Weighed(
                "forbidden", "destructive", "irreversible", call.arguments, "rm -rf /", "It is the whole disk."
            )

    drawer, model = Forbidden(), calling(write())
    await stage.staffed(model, drawer)
    seen = await stage.ended(await stage.ask(loop="native"))
    assert (drawer.used, seen.of(tool.ApprovalRequested)) == ([], [])
    assert "the whole disk" in model.requests[1].messages[-1].content


async def test_a_tool_that_vanished_between_asking_and_doing_is_a_failed_tool(stage: Stage) -> None:
    class Fickle(Drawer):
        gone = False

        async def weigh(self, call: ToolCall, site: Site) -> Weighed:
            if self.gone:
                raise ToolFailed("the drawer is gone.")
            return await super().weigh(call, site)

    drawer, model = Fickle(ASKS), calling(write())
    await stage.staffed(model, drawer)
    task = await stage.ask(loop="native")
    [request] = await asked(stage, task)
    drawer.gone = True
    await answer(stage.desk, LOCAL_OWNER, request.approval, ALLOW)
    async with bounded():
        await stage.ended(task)
    assert (drawer.used, model.requests[1].messages[-1].content) == ([], "failed: the drawer is gone.")


async def test_a_run_whose_worker_was_gone_before_it_could_say_that_it_waits_says_so(stage: Stage) -> None:
    """Whoever watches is told that it rests, and does not wait for something to happen."""
    task = await stage.ask(loop="native")
    gone, call = Claim("gone.a", 1), write()
    begun = [ev.RunClaimed(gone.worker, 1), ev.AttemptStarted(1, "thinker", "a/model")]
    said = ev.AttemptFinished(1, "thinker", "tool_calls", calls=(call,))
    weighed = tool.ToolWeighed("c1", "medium", "write_note", "irreversible", call.arguments, "write a note", "0" * 64)
    request = tool.ApprovalRequested(
        "a1", task, "c1", "tool", "write_note", call.arguments, "write a note", "", "medium", "write_note", "", "0" * 64
    )
    await stage.log.append(Entry(name(task), (*begun, said, weighed, request), claim=gone))
    await stage.staffed(saying("Done."), Drawer(ASKS))
    seen = await stage.until(task, lambda seen: bool(seen.rows) and rests(seen))
    assert [waiting.status for waiting in seen.of(ev.RunWaiting)] == ["waiting_for_approval"]


class Ledger(Drawer):
    """Each use is a line in a file, so that one too many is seen."""

    def __init__(self, path: Path) -> None:
        super().__init__(ASKS)
        self.path = path

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
        with self.path.open("a") as file:
            file.write(f"{deed.site.run}\n")
        return Done("written")


AT_ONCE = 20


@pytest.mark.proof
async def test_of_two_answers_at_the_same_moment_one_counts_and_is_done_once(
    stage: Stage, tmp_path: Path, rounds: int
) -> None:
    """Each round is twenty races; five hundred rounds are ten thousand."""
    drawer = Ledger(tmp_path / "ledger")
    drawer.path.touch()
    model = Playing(once_called)
    await stage.staffed(model, drawer)
    allowed: list[str] = []
    for nth in range(rounds):
        tasks = [await stage.ask(loop="native") for _ in range(AT_ONCE)]
        requests = [(await asked(stage, task))[0] for task in tasks]
        other = DENY if nth % 4 == 3 else ALLOW
        said = [(request.approval, word) for request in requests for word in (ALLOW, other)]
        clicks = [answer(stage.desk, LOCAL_OWNER, approval, word) for approval, word in said]
        results = await asyncio.gather(*clicks, return_exceptions=True)
        for place, task in enumerate(tasks):
            pair = results[2 * place : 2 * place + 2]
            assert pair.count(None) == 1
            assert any(isinstance(error, Conflict) for error in pair)
            if said[2 * place + pair.index(None)][1] is ALLOW:
                allowed.append(task)
            await stage.ended(task)
    assert sorted(drawer.path.read_text().split()) == sorted(allowed)


async def once_called(request: ModelRequest) -> AsyncIterator[ModelEvent]:
    """A model that writes, and then says so."""
    if request.messages[-1].role == "tool":
        yield Burst("content", ["Done."])
        yield Ended("stop")
    else:
        yield Ended("tool_calls", (write(),))
