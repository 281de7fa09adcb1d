"""Agents of the board that we drive: woken once, heard piece by piece, and nothing lost or doubled by a crash."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import orjson
import pytest
from staging import BOUND_S, Cast, Drawer, Playing, Stage

from boardroom import OWNER, Boardroom, id_of
from quarterdeck.actions.approvals import answer
from quarterdeck.actions.board import cards, members, projects, speech, work
from quarterdeck.actions.board.speech import Words
from quarterdeck.actions.desk import Desk
from quarterdeck.adapters.tools.board import WithBoard
from quarterdeck.engine.approval import Answer
from quarterdeck.engine.board.people import Project
from quarterdeck.events.agent_stream import (
    AgentStreamDelta,
    AgentStreamEnded,
    AgentStreamInterrupted,
    AgentStreamStarted,
    AgentStreamTool,
)
from quarterdeck.events.card import TaskOpened
from quarterdeck.events.inbox import WakeEnded, WakeTaken
from quarterdeck.events.run import ContentStreamed, RunFinished, RunRequested, RunWaiting
from quarterdeck.events.tool import ApprovalRequested
from quarterdeck.kernel.board import MemberConfig
from quarterdeck.kernel.errors import ModelFailed, ToolFailed, Unavailable
from quarterdeck.kernel.ids import ConversationId, RunId, TenantId, project_stream, run_stream
from quarterdeck.kernel.parts import ToolCall
from quarterdeck.kernel.scope import LOCAL_TENANT, Scope
from quarterdeck.log.entries import Appended, Entry
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Burst, Deed, Ended, Model, ModelEvent, ModelRequest, Query, Site, Toolbox
from quarterdeck.runtime.board.place import StaffCrew
from quarterdeck.runtime.board.staff import Staff
from quarterdeck.views.board import CHAT_MESSAGES, WAKES
from quarterdeck.views.board_book import BoardBook


class Shift:
    """A stage with a board on it, and those who drive its agents."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.board = Boardroom(stage.desk)
        self.staffs: list[Staff] = []

    async def on(self, model: Model, toolbox: Toolbox | None = None, worker: str = "process.loop") -> Staff:
        await self.stage.staffed(model, toolbox, worker=worker)
        return await self.staff(model, worker)

    async def staff(self, model: Model, worker: str = "process.loop") -> Staff:
        staff = Staff(StaffCrew(self.stage.desk, Cast(model), f"{worker}.staff"), again_s=0.01, renew_s=0.01)
        self.staffs.append(staff)
        await staff.open()
        return staff

    async def off(self) -> None:
        for staff in self.staffs:
            await staff.close()
        self.staffs.clear()

    async def settled(self, count: int = 1) -> list[dict[str, Any]]:
        """The wake-ups, once so many are over."""
        return await self.until(lambda lines: sum(not line["open"] for line in lines) >= count)

    async def until(self, enough: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        changed = asyncio.Event()
        leave = self.stage.log.listen(lambda _: changed.set())
        try:
            async with asyncio.timeout(BOUND_S):
                while True:
                    changed.clear()
                    lines = await self.stage.log.find(Query(WAKES, {"tenant": LOCAL_TENANT}, "id", limit=500))
                    if enough(lines):
                        return lines
                    await changed.wait()
        finally:
            leave()

    async def messages(self, chat: str) -> list[tuple[str, str]]:
        where = {"tenant": LOCAL_TENANT, "chat": chat}
        lines = await self.stage.log.find(Query(CHAT_MESSAGES, where, "place", limit=500))
        return [(line["author_slug"], line["content"]) for line in lines]

    async def runs(self) -> int:
        return len([1 for state in self.stage.store.streams() if state.name.kind == "run"])


@pytest.fixture
async def shift(stage: Stage) -> AsyncIterator[Shift]:
    shift = Shift(stage)
    yield shift
    await shift.off()


def echo(*pieces: str) -> Playing:
    """Says these pieces; where there are none, what it was asked."""

    async def play(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Burst("content", list(pieces or (request.messages[-1].content,)))
        yield Ended("stop")

    return Playing(play)


async def crew(board: Boardroom, **config: Any) -> tuple[Scope, Project]:
    bo = await board.agent("bo", runtime="built_in", **config)
    return bo, await board.project("dock", "bo")


async def test_a_mention_is_answered_in_the_chat_and_told_piece_by_piece(shift: Shift) -> None:
    board = shift.board
    bo, project = await crew(board, prompt="Be brief.", provider="openai", model="gpt")
    model = echo("Hel", "lo", "!")
    await shift.on(model)
    await board.say(OWNER, project.chat, "@bo hello")
    [wake] = await shift.settled()
    assert (wake["status"], wake["member"]) == ("completed", id_of(bo))
    assert await shift.messages(project.chat) == [("owner", "@bo hello"), ("bo", "Hello!")]
    told = [event for event in await board.told(project.id) if type(event).__module__.endswith("agent_stream")]
    begun, *deltas, ended = told
    assert isinstance(begun, AgentStreamStarted)
    assert (begun.run, begun.agent, begun.chat, begun.task) == (wake["run"], id_of(bo), project.chat, None)
    texts = [text for event in deltas if isinstance(event, AgentStreamDelta) for text in event.texts]
    assert ("".join(texts), [type(event) for event in deltas]) == ("Hello!", [AgentStreamDelta] * len(deltas))
    assert isinstance(ended, AgentStreamEnded)
    assert (ended.final_message, ended.tool_log) == ("Hello!", "[]")
    system, asked = model.requests[-1].messages[0].content, model.requests[-1].messages[-1].content
    assert "Be brief." in system
    assert asked == "@owner: @bo hello"
    requested = event_of((await shift.stage.log.read(run_stream(LOCAL_TENANT, RunId(wake["run"]))))[0])
    assert isinstance(requested, RunRequested)
    assert requested.persona is not None
    assert (requested.persona.model, requested.persona.id) == ("openai/gpt", id_of(bo))


async def test_a_task_is_claimed_worked_on_and_handed_in(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board)
    await shift.on(echo("Seven ropes."))
    task = await board.task(project.id, "Count the ropes", assignees=("bo",))
    await shift.settled()
    card = await board.card(task)
    assert (card["status"], card["summary"], card["claimed_by"]) == ("in_review", "Seven ropes.", None)
    await work.review(board.desk, OWNER, board.book, task, "sent_back", "And the short ones?")
    wakes = await shift.settled(2)
    assert [wake["reason"] for wake in wakes] == ["assignment", "sent_back"]
    assert (await board.card(task))["status"] == "in_review"
    kinds = [type(event).__name__ for event in await board.told(project.id)]
    assert kinds.count("TaskCommented") == kinds.count("AgentStreamEnded") == kinds.count("TaskSubmitted") == 2
    await work.review(board.desk, OWNER, board.book, task, "approved", "")


async def test_tools_are_told_as_they_end(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board)

    async def play(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if any(message.role == "tool" for message in request.messages):
            yield Burst("content", ["It says 7."])
            yield Ended("stop")
            return
        calls = (ToolCall("c1", "read_note", '{"name": "ropes"}'), ToolCall("c2", "read_note", '{"name": "none"}'))
        yield Ended("tool_calls", calls)

    await shift.on(Playing(play), Drawer(ropes="7"))
    await board.say(OWNER, project.chat, "@bo read the note")
    await shift.settled()
    told = await board.told(project.id)
    tools = {orjson.loads(event.args)["name"]: event for event in told if isinstance(event, AgentStreamTool)}
    assert orjson.loads(tools["ropes"].result) == {"output": "7"}
    assert set(orjson.loads(tools["none"].result)) == {"error"}
    [ended] = [event for event in told if isinstance(event, AgentStreamEnded)]
    log = {line["args"]["name"]: line["error"] for line in orjson.loads(ended.tool_log)}
    assert log["ropes"] is None
    assert "no such note" in log["none"]


async def test_what_a_tool_was_asked_and_told_is_shown_only_so_far(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board)
    await shift.on(calling(("read_note", {"name": "long", "why": "x" * 50_000})), Drawer(long="猫" * 50_000))
    await board.say(OWNER, project.chat, "@bo read it")
    await shift.settled()
    [tool] = [event for event in await board.told(project.id) if isinstance(event, AgentStreamTool)]
    assert [len(orjson.loads(each)[name]) for each, name in ((tool.args, "text"), (tool.result, "output"))] == [
        8001
    ] * 2


async def test_a_tool_that_needs_leave_waits_for_a_person_and_the_work_goes_on(shift: Shift) -> None:
    board, drawer = shift.board, Drawer(ask=frozenset({"write_note"}))
    _, project = await crew(board, tools=("write_note",))

    async def play(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if any(message.role == "tool" for message in request.messages):
            yield Burst("content", ["Written."])
            yield Ended("stop")
            return
        assert [tool.name for tool in request.tools] == ["write_note"]
        yield Ended("tool_calls", (ToolCall("c1", "write_note", '{"name": "ropes", "text": "7"}'),))

    await shift.on(Playing(play), drawer)
    task = await board.task(project.id, assignees=("bo",))
    [wake] = await shift.until(lambda lines: lines[0]["status"] == "working")
    seen = await shift.stage.until(RunId(wake["run"]), lambda seen: bool(seen.of(RunWaiting)))
    assert drawer.used == []
    [asked] = seen.of(ApprovalRequested)
    await answer(board.desk, OWNER, asked.approval, Answer("approved", "once"))
    await shift.settled()
    assert drawer.notes["ropes"] == "7"
    assert (await board.card(task))["status"] == "in_review"


def calling(*calls: tuple[str, dict[str, Any]], then: str = "Done.") -> Playing:
    """Calls these tools at once where they are offered, then says so."""

    async def play(request: ModelRequest) -> AsyncIterator[ModelEvent]:
        offered = {tool.name for tool in request.tools}
        if any(message.role == "tool" for message in request.messages) or not offered >= {name for name, _ in calls}:
            yield Burst("content", [then])
            yield Ended("stop")
            return
        asked = [ToolCall(f"c{n}", name, json.dumps(arguments)) for n, (name, arguments) in enumerate(calls)]
        yield Ended("tool_calls", tuple(asked))

    return Playing(play)


async def test_an_agent_looks_around_speaks_and_opens_tasks_as_itself(shift: Shift) -> None:
    board = shift.board
    await board.agent("cy", runtime="built_in", tools=())
    bo, project = await crew(board)
    await projects.join_project(board.desk, OWNER, board.book, project.id, "cy")
    calls = (
        ("board_look", {}),
        ("board_say", {"content": "Hello all."}),
        ("board_open_task", {"title": "Splice", "assignees": ["cy"]}),
        ("board_open_task", {"title": "Sail", "assignees": ["stranger"]}),
    )
    task = await board.task(project.id, "Delegate", assignees=("bo",))
    await shift.on(calling(*calls), WithBoard(Drawer(), board.desk))
    wakes = await shift.settled(2)
    assert [wake["hops"] for wake in wakes[:2]] == [0, 1]
    assert await shift.messages(project.chat) == [("bo", "Hello all.")]
    told = await board.told(project.id)
    opened = [event for event in told if isinstance(event, TaskOpened) and event.task != task]
    assert [(event.title, event.by.slug, event.by.member) for event in opened][:1] == [("Splice", "bo", id_of(bo))]
    tools = [event for event in told if isinstance(event, AgentStreamTool)]
    results = [orjson.loads(event.result) for event in tools[:4]]
    assert {tuple(each) for each in results} == {("output",), ("error",)}
    assert any("@cy" in each.get("output", "") and "Delegate" in each["output"] for each in results if "output" in each)


async def test_only_a_run_of_the_board_has_its_tools(shift: Shift) -> None:
    """Whatever it calls its conversation, and whatever it says it is."""
    board = shift.board
    bo, project = await crew(board)
    model = calling(("board_say", {"content": "I am Bo."}), then="No such tool.")
    await shift.on(model, WithBoard(Drawer(), board.desk))
    run = await shift.stage.ask("Hi", conversation=f"chat:{project.chat}:{id_of(bo)}", loop="native")
    assert (await shift.stage.ended(run)).end.answer == "No such tool."
    assert not any(tool.name.startswith("board_") for request in model.requests for tool in request.tools)
    toolbox = WithBoard(Drawer(), board.desk)
    site = Site(LOCAL_TENANT, run, ConversationId("c"), "/work")
    with pytest.raises(ToolFailed):
        await toolbox.weigh(ToolCall("c1", "board_say", '{"content": "I am Bo."}'), site)


async def test_a_call_that_is_tried_again_is_done_once(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board)
    await shift.on(echo("Hi."))
    await board.say(OWNER, project.chat, "@bo hello")
    [wake] = await shift.settled()
    toolbox = WithBoard(Drawer(), board.desk)
    site = Site(LOCAL_TENANT, RunId(wake["run"]), ConversationId("c"), "/work")
    for name, arguments in (("board_say", {"content": "Once."}), ("board_open_task", {"title": "Once"})):
        call = ToolCall("c1", name, json.dumps(arguments))
        deed = Deed(call, site, await toolbox.weigh(call, site), f"run:{name}:☂ {'x' * 500}")
        told = {(await toolbox.use(deed, lambda _: None)).text for _ in range(3)}
        assert len(told) == 1
    assert [text for _, text in await shift.messages(project.chat)].count("Once.") == 1


async def test_text_that_is_taken_back_is_left_interrupted_and_said_again(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board)
    tries = 0

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        nonlocal tries
        tries += 1
        yield Burst("content", ["Hel"])
        if tries == 1:
            raise ModelFailed("provider_cut", "cut", retryable=True, retry_after=0.0)
        yield Burst("content", ["lo"])
        yield Ended("stop")

    await shift.on(Playing(play))
    await board.say(OWNER, project.chat, "@bo hello")
    await shift.settled()
    told = await board.told(project.id)
    streams = [event.stream for event in told if isinstance(event, AgentStreamStarted)]
    assert len(set(streams)) == 2
    assert all(uuid.UUID(stream) for stream in streams)
    assert [event.stream for event in told if isinstance(event, AgentStreamInterrupted)] == streams[:1]
    again = [event for event in told if isinstance(event, AgentStreamDelta) and event.stream == streams[1]]
    assert "".join(text for event in again for text in event.texts) == "Hello"
    assert again[0].index == 0
    assert (await shift.messages(project.chat))[-1] == ("bo", "Hello")


async def test_no_more_is_begun_than_may_be_and_all_is_answered_in_turn(shift: Shift) -> None:
    board = shift.board
    names = [f"t{n}" for n in range(6)]
    bo, project = await crew(board, max_concurrent_tasks=2)
    now, most, gate = 0, 0, asyncio.Event()

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        nonlocal now, most
        now += 1
        most = max(most, now)
        if most == 3:
            gate.set()
        await gate.wait()
        now -= 1
        yield Burst("content", ["done"])
        yield Ended("stop")

    await shift.on(Playing(play))
    tasks = [await board.task(project.id, name, assignees=("bo",)) for name in names]
    lines = await shift.until(lambda lines: sum(line["status"] == "working" for line in lines) == 2)
    assert sum(line["status"] == "queued" for line in lines) == 4
    await members.change_member(board.desk, OWNER, board.book, id_of(bo), None, {"max_concurrent_tasks": 3})
    await shift.settled(6)
    assert most == 3
    assert {(await board.card(task))["status"] for task in tasks} == {"in_review"}


async def test_one_chat_is_answered_one_message_after_the_other(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board, max_concurrent_tasks=5)
    model = echo("ok")
    await shift.on(model)
    for number in range(4):
        await board.say(OWNER, project.chat, f"@bo number {number}")
    await shift.settled(4)
    said = await shift.messages(project.chat)
    assert [text for slug, text in said if slug == "bo"] == ["ok"] * 4
    asked = [request.messages[-1].content for request in model.requests]
    assert [f"number {number}" in text for number, text in enumerate(asked)] == [True] * 4


async def test_two_workers_answer_once(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board)
    model = echo("once")
    await shift.on(model, worker="one.loop")
    await shift.on(model, worker="two.loop")
    for number in range(5):
        await board.say(OWNER, project.chat, f"@bo {number}")
    await shift.settled(5)
    assert await shift.runs() == 5
    assert [text for slug, text in await shift.messages(project.chat) if slug == "bo"] == ["once"] * 5


async def test_what_was_left_half_told_is_told_on_without_a_hole_or_a_double(shift: Shift) -> None:
    """The attendant is let go of at every piece, and another goes on."""
    board = shift.board
    _, project = await crew(board)
    texts = [f"piece {n} " for n in range(12)]
    step = asyncio.Semaphore(0)

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        for text in texts:
            await step.acquire()
            yield Burst("content", [text])
        yield Ended("stop")

    model = Playing(play)
    await shift.stage.staffed(model)
    await board.say(OWNER, project.chat, "@bo hello")
    for number, text in enumerate(texts):
        await shift.staff(model, f"process.loop{number}")
        [wake] = await shift.until(lambda lines: lines[0]["status"] == "working")
        step.release()
        run = RunId(wake["run"])
        await shift.stage.until(run, lambda seen, upto=number: len(seen.text()) >= len("".join(texts[: upto + 1])))
        if number % 3:
            await until_told(shift, project, text)
        await shift.off()
    await shift.stage.ended(run)
    await shift.staff(model, "process.last")
    await shift.settled()
    told = await board.told(project.id)
    deltas = [event for event in told if isinstance(event, AgentStreamDelta)]
    assert [text for event in deltas for text in event.texts] == texts
    assert [event.index for event in deltas] == [
        sum(len(each.texts) for each in deltas[:n]) for n in range(len(deltas))
    ]
    assert sum(isinstance(event, AgentStreamEnded) for event in told) == 1
    assert [slug for slug, _ in await shift.messages(project.chat)] == ["owner", "bo"]


async def until_told(shift: Shift, project: Project, text: str) -> None:
    cursor = shift.stage.log.follow(project_stream(LOCAL_TENANT, project.id))
    async with asyncio.timeout(BOUND_S):
        while True:
            for row in await cursor.rows():
                event = event_of(row)
                if isinstance(event, AgentStreamDelta) and text in event.texts:
                    return


async def test_a_wake_up_that_nobody_heard_is_taken_up_later(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board)
    await board.say(OWNER, project.chat, "@bo are you there?")
    await shift.on(echo("I am."))
    await shift.settled()
    assert (await shift.messages(project.chat))[-1] == ("bo", "I am.")


async def test_what_failed_is_told_and_the_task_waits_for_a_person(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board)

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        raise ModelFailed("provider_rejected", "No such model.", retryable=False)
        yield Ended("stop")

    await shift.on(Playing(play))
    task = await board.task(project.id, assignees=("bo",))
    [wake] = await shift.settled()
    assert wake["status"] == "failed"
    assert (await board.card(task))["status"] == "todo"
    kinds = [type(event).__name__ for event in await board.told(project.id)]
    assert kinds.count("TaskCommented") == 1
    assert len(await board.wakes()) == 1


async def test_an_agent_that_was_taken_out_says_nothing_more(shift: Shift) -> None:
    board = shift.board
    bo, project = await crew(board)
    gate = asyncio.Event()

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Burst("content", ["I know"])
        await gate.wait()
        yield Ended("stop")

    await shift.on(Playing(play))
    await board.say(OWNER, project.chat, "@bo hello")
    await shift.until(lambda lines: lines[0]["status"] == "working")
    await projects.leave_project(board.desk, OWNER, board.book, project.id, id_of(bo))
    gate.set()
    [wake] = await shift.settled()
    assert wake["status"] == "dropped"
    assert [slug for slug, _ in await shift.messages(project.chat)] == ["owner"]
    assert isinstance((await board.told(project.id))[-1], AgentStreamInterrupted)


async def test_removing_an_agent_stops_its_work_and_drops_what_waits(shift: Shift) -> None:
    board = shift.board
    bo, project = await crew(board)

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Burst("content", ["I know"])
        await asyncio.Event().wait()
        yield Ended("stop")

    await shift.on(Playing(play))
    await board.say(OWNER, project.chat, "@bo hello")
    await board.say(OWNER, project.chat, "@bo again")
    lines = await shift.until(lambda lines: [line["status"] for line in lines] == ["working", "queued"])
    await members.remove_member(board.desk, OWNER, board.book, id_of(bo), [])
    assert (await shift.stage.ended(RunId(lines[0]["run"]))).end.outcome == "stopped"
    assert [line["status"] for line in await shift.settled(2)] == ["dropped", "dropped"]


async def test_what_is_not_its_task_any_more_is_not_begun(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board)
    task = await board.task(project.id, assignees=("bo",))
    await cards.assign(board.desk, OWNER, board.book, task, [])
    await shift.on(echo("done"))
    [wake] = await shift.settled()
    assert (wake["status"], wake["run"]) == ("dropped", None)
    assert await shift.runs() == 0


async def test_two_agents_that_answer_everything_come_to_rest(shift: Shift) -> None:
    board = shift.board
    for slug in ("bo", "cy"):
        await board.agent(slug, runtime="built_in", chat_listen="all")
    project = await board.project("dock", "bo", "cy")
    await shift.on(echo("Interesting! What do you think?"))
    await board.say(OWNER, project.chat, "hello")
    await shift.until(lambda lines: len(lines) > 2 and not any(line["open"] for line in lines))
    said = await shift.messages(project.chat)
    assert 2 < len(said) < 30
    held = await shift.stage.log.find(Query(CHAT_MESSAGES, {"tenant": LOCAL_TENANT, "chat": project.chat}, "place"))
    assert held[-1]["held"] in {"hops", "turns"}


async def test_a_person_s_comment_is_answered_with_a_comment(shift: Shift) -> None:
    board = shift.board
    _, project = await crew(board)
    await shift.on(echo("Soon."))
    task = await board.task(project.id, assignees=("bo",), status="backlog")
    await speech.comment(board.desk, OWNER, board.book, task, Words("When?"))
    [wake] = await shift.settled()
    assert (wake["reason"], (await board.card(task))["status"]) == ("comment", "backlog")
    for kind, count in ((WakeTaken, 1), (WakeEnded, 1), (ContentStreamed, 0), (RunFinished, 0)):
        found = [event for event in await board.inbox(board.acting(wake["member"])) if isinstance(event, kind)]
        assert len(found) == count


async def test_work_on_a_task_that_was_taken_away_is_stopped(shift: Shift) -> None:
    board = shift.board
    await board.agent("cy")
    _, project = await crew(board)
    await projects.join_project(board.desk, OWNER, board.book, project.id, "cy")

    async def play(_: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield Burst("content", ["I am"])
        await asyncio.Event().wait()
        yield Ended("stop")

    await shift.on(Playing(play))
    for take_away in (
        lambda task: cards.assign(board.desk, OWNER, board.book, task, ["cy"]),
        lambda task: work.hand_over(board.desk, OWNER, board.book, task, "cy", "You do it."),
        lambda task: cards.move(board.desk, OWNER, board.book, task, "cancelled"),
    ):
        task = await board.task(project.id, assignees=("bo",))
        lines = await shift.until(lambda lines: lines[-1]["status"] == "working")
        await take_away(task)
        assert (await shift.stage.ended(RunId(lines[-1]["run"]))).end.outcome == "stopped"
        await shift.until(lambda lines: not lines[-1]["open"])
        card = await board.card(task)
        assert (card["status"], card["claimed_by"]) in {("todo", None), ("cancelled", None)}


async def test_each_tenants_agents_are_woken_in_their_own_tenant(shift: Shift) -> None:
    board, log = shift.board, shift.stage.log
    elsewhere = Scope(TenantId("elsewhere"), "person:eve", frozenset({"*"}))
    book = BoardBook(log, elsewhere.tenant)
    _, ours = await crew(board)
    config = MemberConfig(runtime="built_in")
    twin = await members.add_member(board.desk, elsewhere, members.NewMember("agent", "Bo", "bo", config))
    dock = await projects.open_project(board.desk, elsewhere, book, projects.NewProject("Dock", "dock", "", ("bo",)))
    theirs = await book.project(dock)
    assert theirs is not None
    await shift.on(echo("Here."))
    await speech.post_message(board.desk, elsewhere, book, theirs.chat, Words("@bo where are you?"))
    await board.say(OWNER, ours.chat, "nobody is meant")
    where = {"tenant": elsewhere.tenant, "chat": theirs.chat}
    async with asyncio.timeout(BOUND_S):
        cursor = log.follow(project_stream(elsewhere.tenant, dock))
        while len(lines := await log.find(Query(CHAT_MESSAGES, where, "place"))) < 2:
            await cursor.rows()
    assert [(line["author"], line["content"]) for line in lines][1:] == [(twin.id, "Here.")]
    assert await board.wakes() == []
    assert await shift.messages(ours.chat) == [("owner", "nobody is meant")]


class Dying:
    """A log that lets nothing more be written from one append on: as if the process had died there, just before it was
    committed or just after."""

    def __init__(self, log: Log, at: int, *, committed: bool) -> None:
        self._log, self._left, self._committed = log, at, committed
        self.dead = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def append(self, *entries: Entry, **options: Any) -> Appended:
        if self._left == 0 and self._committed and not self.dead.is_set():
            await self._log.append(*entries, **options)
        if self._left == 0:
            self.dead.set()
            raise Unavailable("the process is gone")
        self._left -= 1
        return await self._log.append(*entries, **options)


@pytest.mark.parametrize("committed", [False, True])
async def test_wherever_the_one_who_drives_it_dies_an_agent_answers_once(shift: Shift, committed: bool) -> None:
    board, stage = shift.board, shift.stage
    _, project = await crew(board)
    model = calling(("read_note", {"name": "ropes"}), then="Seven.")
    await stage.staffed(model, Drawer(ropes="7"))
    for at in range(7):
        if at % 2:
            task = await board.task(project.id, assignees=("bo",))
        else:
            await board.say(OWNER, project.chat, f"@bo number {at}")
        dying = Dying(stage.log, at, committed=committed)
        desk = Desk(cast("Log", dying), stage.desk.ids, stage.desk.clock)
        staff = Staff(StaffCrew(desk, Cast(model), f"dying{at}.staff"), again_s=0.01, renew_s=60.0)
        await staff.open()
        over, dead = asyncio.ensure_future(shift.settled(at + 1)), asyncio.ensure_future(dying.dead.wait())
        await asyncio.wait([over, dead], return_when=asyncio.FIRST_COMPLETED)
        dead.cancel()
        await staff.close()
        await shift.staff(model, f"living{at}")
        await over
        await shift.off()
        if at % 2:
            assert (await board.card(task))["status"] == "in_review"
    assert [slug for slug, _ in await shift.messages(project.chat)] == ["owner", "bo"] * 4
    told = await board.told(project.id)
    kinds = [type(event).__name__ for event in told]
    assert [kinds.count(kind) for kind in ("AgentStreamStarted", "AgentStreamEnded", "TaskCommented")] == [7, 7, 3]
    for stream in [event.stream for event in told if isinstance(event, AgentStreamStarted)]:
        own = [event for event in told if getattr(event, "stream", None) == stream]
        indexes = [event.index for event in own if isinstance(event, AgentStreamTool | AgentStreamDelta)]
        assert indexes == [0, 1]
    assert await shift.runs() == 7
