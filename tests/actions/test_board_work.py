"""Tasks and the work on them: steps, claims, reviews, dependencies, and that an agent touches only what is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from boardroom import OWNER, Boardroom, HandClock, id_of
from quarterdeck.actions.board import cards, speech, work
from quarterdeck.actions.board.cards import TaskEdit
from quarterdeck.actions.board.speech import Words
from quarterdeck.engine.board.card import LEASE_S
from quarterdeck.engine.board.people import Project
from quarterdeck.events.card import TaskClaimed, TaskUnblocked
from quarterdeck.kernel.errors import Conflict, NotFound, Problem
from quarterdeck.kernel.scope import LOCAL_TENANT, Scope
from quarterdeck.ports import Query
from quarterdeck.views.board_tasks import CARD_ACTIVITY, CARD_COMMENTS


async def crew(board: Boardroom, **config: object) -> tuple[Scope, Scope, Project]:
    bo, cy = await board.agent("bo", **config), await board.agent("cy", **config)
    return bo, cy, await board.project("dock", "bo", "cy")


async def refused(code: str, act: Awaitable[object]) -> None:
    with pytest.raises(Problem) as problem:
        await act
    assert problem.value.code == code


async def test_a_task_goes_from_its_opening_to_its_end(board: Boardroom) -> None:
    bo, _, project = await crew(board)
    task = await board.task(project.id, assignees=("bo",), labels=("ropes",), priority="high")
    await work.claim(board.desk, bo, board.book, task)
    assert (await board.card(task))["status"] == "in_progress"
    await speech.comment(board.desk, bo, board.book, task, Words("Half is done."))
    await work.submit(board.desk, bo, board.book, task, "All are counted.")
    card = await board.card(task)
    assert (card["status"], card["claimed_by"], card["summary"]) == ("in_review", None, "All are counted.")
    await refused("words_missing", work.review(board.desk, OWNER, board.book, task, "sent_back", " "))
    await work.review(board.desk, OWNER, board.book, task, "sent_back", "The short ones too.")
    await work.claim(board.desk, bo, board.book, task)
    await work.submit(board.desk, bo, board.book, task, "Those too.")
    await work.review(board.desk, OWNER, board.book, task, "approved", "")
    assert (await board.card(task))["status"] == "done"
    lines = await board.log.find(Query(CARD_ACTIVITY, {"tenant": LOCAL_TENANT, "card": task}, "place"))
    assert [line["kind"].removeprefix("task.") for line in lines] == [
        "opened",
        "claimed",
        "moved",
        "commented",
        "submitted",
        "moved",
        "claim_ended",
        "reviewed",
        "moved",
        "claimed",
        "moved",
        "submitted",
        "moved",
        "claim_ended",
        "reviewed",
        "moved",
    ]


async def test_an_agent_touches_only_what_was_given_to_it(board: Boardroom) -> None:
    bo, cy, project = await crew(board)
    task = await board.task(project.id, assignees=("bo",))
    stranger = await board.agent("stranger")
    for act in (
        speech.comment(board.desk, cy, board.book, task, Words("me too")),
        work.claim(board.desk, cy, board.book, task),
        work.submit(board.desk, cy, board.book, task, "done"),
        work.hand_over(board.desk, cy, board.book, task, "cy", ""),
        cards.assign(board.desk, cy, board.book, task, ["cy"]),
        cards.edit_task(board.desk, cy, board.book, task, TaskEdit(title="Mine")),
        cards.move(board.desk, cy, board.book, task, "in_progress"),
        cards.link(board.desk, cy, board.book, task, []),
    ):
        await refused("task_not_given", act)
    await refused("not_the_reviewer", work.review(board.desk, cy, board.book, task, "approved", ""))
    await refused("task_not_found", work.claim(board.desk, stranger, board.book, task))
    await refused("review_needed", cards.move(board.desk, bo, board.book, task, "done"))
    await speech.comment(board.desk, OWNER, board.book, task, Words("@cy, what do you think?"))
    await speech.comment(board.desk, cy, board.book, task, Words("Now I may answer."))
    lines = await board.log.find(Query(CARD_COMMENTS, {"tenant": LOCAL_TENANT, "card": task}, "place"))
    assert [line["author_slug"] for line in lines] == ["owner", "cy"]


async def test_an_agent_reviews_as_the_reviewer_and_never_its_own_work(board: Boardroom) -> None:
    bo, cy, project = await crew(board)
    task = await board.task(project.id, assignees=("bo", "cy"), reviewer="cy")
    await work.claim(board.desk, bo, board.book, task)
    await work.submit(board.desk, bo, board.book, task, "done")
    await work.review(board.desk, cy, board.book, task, "approved", "fine")
    own = await board.task(project.id, assignees=("cy",), reviewer="cy")
    await work.claim(board.desk, cy, board.book, own)
    await work.submit(board.desk, cy, board.book, own, "done")
    await refused("not_the_reviewer", work.review(board.desk, cy, board.book, own, "approved", "fine"))


async def test_a_claim_is_one_members_and_runs_out_without_a_heartbeat(board: Boardroom, clock: HandClock) -> None:
    bo, cy, project = await crew(board)
    task = await board.task(project.id, assignees=("bo", "cy"))
    until = await work.claim(board.desk, bo, board.book, task)
    assert until == clock.now() + LEASE_S
    await refused("task_claimed", work.claim(board.desk, cy, board.book, task))
    clock.hand += LEASE_S - 1
    assert await work.heartbeat(board.desk, bo, board.book, task) == clock.now() + LEASE_S
    clock.hand += LEASE_S - 1
    await refused("task_claimed", work.claim(board.desk, cy, board.book, task))
    clock.hand += 2
    await work.claim(board.desk, cy, board.book, task)
    await refused("task_not_claimed", work.heartbeat(board.desk, bo, board.book, task))
    await refused("task_not_claimed", work.submit(board.desk, bo, board.book, task, "late"))
    assert (await board.card(task))["claimed_by"] == id_of(cy)


async def test_nobody_has_more_in_hand_than_they_may_however_fast_they_ask(board: Boardroom) -> None:
    bo, _, project = await crew(board, max_concurrent_tasks=3)
    tasks = [await board.task(project.id, f"Task {n}", assignees=("bo",)) for n in range(10)]
    claims = [work.claim(board.desk, bo, board.book, task) for task in tasks]
    came = await asyncio.gather(*claims, return_exceptions=True)
    late = [each for each in came if isinstance(each, Conflict)]
    assert (len(late), {each.code for each in late}) == (7, {"too_many_tasks"})
    taken = [task for task, each in zip(tasks, came, strict=True) if not isinstance(each, Conflict)]
    await work.submit(board.desk, bo, board.book, taken[0], "done")
    free = next(task for task in tasks if task not in taken)
    await work.claim(board.desk, bo, board.book, free)


async def test_of_many_who_claim_one_task_at_once_one_gets_it(board: Boardroom) -> None:
    names = [f"a{n}" for n in range(12)]
    agents = [await board.agent(name) for name in names]
    project = await board.project("dock", *names)
    task = await board.task(project.id, assignees=tuple(names))
    claims = [work.claim(board.desk, agent, board.book, task) for agent in agents]
    came = await asyncio.gather(*claims, return_exceptions=True)
    assert sum(not isinstance(each, BaseException) for each in came) == 1
    assert sum(isinstance(event, TaskClaimed) for event in await board.told(project.id)) == 1


async def test_tasks_never_come_to_wait_for_each_other(board: Boardroom) -> None:
    project = await board.project()
    a, b, c = [await board.task(project.id, name) for name in "abc"]
    await cards.link(board.desk, OWNER, board.book, b, [a])
    await cards.link(board.desk, OWNER, board.book, c, [b])
    with pytest.raises(Conflict) as cycle:
        await cards.link(board.desk, OWNER, board.book, a, [c])
    assert (cycle.value.code, cycle.value.extra["cycle"]) == ("cycle", [a, c, b, a])
    await refused("cycle", cards.link(board.desk, OWNER, board.book, a, [a]))
    await refused("unknown_task", cards.link(board.desk, OWNER, board.book, a, ["nothing"]))


async def test_of_two_links_at_once_that_would_close_a_circle_one_is_refused(board: Boardroom) -> None:
    project = await board.project()
    for _ in range(10):
        a, b = [await board.task(project.id, name) for name in "ab"]
        links = (cards.link(board.desk, OWNER, board.book, a, [b]), cards.link(board.desk, OWNER, board.book, b, [a]))
        came = await asyncio.gather(*links, return_exceptions=True)
        assert [each.code for each in came if isinstance(each, Conflict)] == ["cycle"]


async def test_a_task_that_waits_is_let_through_by_the_last_one_it_needs(board: Boardroom) -> None:
    bo, _, project = await crew(board, runtime="built_in")
    for _ in range(6):
        a, b = [await board.task(project.id, name) for name in "ab"]
        waiting = await board.task(project.id, "last", assignees=("bo",), depends_on=(a, b))
        assert await board.wakes(task=waiting) == []
        await refused("task_blocked", work.claim(board.desk, bo, board.book, waiting))
        await refused("task_blocked", cards.move(board.desk, OWNER, board.book, waiting, "done"))
        await asyncio.gather(*(cards.move(board.desk, OWNER, board.book, each, "done") for each in (a, b)))
        assert [wake["reason"] for wake in await board.wakes(task=waiting)] == ["unblocked"]
        told = [event for event in await board.told(project.id) if isinstance(event, TaskUnblocked)]
        assert [event.task for event in told].count(waiting) == 1


async def test_being_given_a_task_wakes_the_agents_that_we_drive(board: Boardroom) -> None:
    bo, cy, project = await crew(board, runtime="built_in")
    task = await board.task(project.id, assignees=("bo",))
    await cards.assign(board.desk, OWNER, board.book, task, ["bo", "cy"])
    await cards.assign(board.desk, OWNER, board.book, task, ["cy", "bo"])
    assert [(wake["member"], wake["reason"]) for wake in await board.wakes(task=task)] == [
        (id_of(bo), "assignment"),
        (id_of(cy), "assignment"),
    ]
    shelved = await board.task(project.id, assignees=("bo",), status="backlog")
    assert await board.wakes(task=shelved) == []
    await cards.move(board.desk, OWNER, board.book, shelved, "todo")
    assert len(await board.wakes(task=shelved)) == 1


async def test_a_person_s_comment_wakes_whoever_has_the_task_and_an_agent_s_does_not(board: Boardroom) -> None:
    bo, cy, project = await crew(board, runtime="built_in")
    task = await board.task(project.id, assignees=("bo", "cy"), status="backlog")
    await speech.comment(board.desk, bo, board.book, task, Words("Looking at it."))
    assert await board.wakes(task=task) == []
    await speech.comment(board.desk, OWNER, board.book, task, Words("Any news?"))
    assert {wake["member"] for wake in await board.wakes(task=task)} == {id_of(bo), id_of(cy)}


async def test_a_task_is_handed_over_with_words(board: Boardroom) -> None:
    bo, cy, project = await crew(board, runtime="built_in", max_concurrent_tasks=1)
    task = await board.task(project.id, assignees=("bo",))
    await work.claim(board.desk, bo, board.book, task)
    await work.hand_over(board.desk, bo, board.book, task, "cy", "You know ropes.")
    card = await board.card(task)
    assert (card["assignees"], card["status"], card["claimed_by"]) == (f'["{id_of(cy)}"]', "todo", None)
    assert [wake["member"] for wake in await board.wakes(task=task)] == [id_of(bo), id_of(cy)]
    await refused("task_not_given", work.claim(board.desk, bo, board.book, task))
    other = await board.task(project.id, assignees=("bo",))
    await work.claim(board.desk, bo, board.book, other)


async def test_two_edits_at_once_both_count(board: Boardroom) -> None:
    project = await board.project()
    task = await board.task(project.id)
    edits = (TaskEdit(title="New"), TaskEdit(description="Long"), TaskEdit(priority="low"), TaskEdit(labels=("x",)))
    await asyncio.gather(*(cards.edit_task(board.desk, OWNER, board.book, task, edit) for edit in edits))
    card = await board.card(task)
    assert (card["title"], card["description"], card["priority"], card["labels"]) == ("New", "Long", "low", '["x"]')


async def test_only_members_of_the_project_can_be_given_its_tasks(board: Boardroom) -> None:
    await board.agent("stranger")
    project = await board.project()
    await refused("not_in_project", board.task(project.id, assignees=("stranger",)))
    await refused("unknown_member", board.task(project.id, assignees=("nobody",)))
    await refused("bad_move", board.task(project.id, status="done"))
    with pytest.raises(NotFound):
        await board.task("nowhere")


async def test_a_task_goes_only_where_its_status_leads(board: Boardroom) -> None:
    project = await board.project()
    task = await board.task(project.id)
    await refused("bad_move", cards.move(board.desk, OWNER, board.book, task, "in_review"))
    await cards.move(board.desk, OWNER, board.book, task, "done")
    await refused("bad_move", cards.move(board.desk, OWNER, board.book, task, "backlog"))
    await cards.move(board.desk, OWNER, board.book, task, "todo")
    await refused("task_not_assigned", work.claim(board.desk, OWNER, board.book, task))
    await refused("nothing_to_change", cards.edit_task(board.desk, OWNER, board.book, task, TaskEdit()))
