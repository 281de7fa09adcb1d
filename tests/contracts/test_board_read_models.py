"""The board's tables: what the whole log gives, after a long and quarrelsome history, on every store."""

from __future__ import annotations

import asyncio
import contextlib
import random

from boardroom import OWNER, Boardroom, id_of
from logroom import Shelf, kept, rebuilt, soon
from quarterdeck.actions.board import cards, members, projects, speech, work
from quarterdeck.actions.board.cards import TaskEdit
from quarterdeck.actions.board.speech import Words
from quarterdeck.kernel.errors import Problem
from quarterdeck.kernel.scope import Scope


async def test_the_boards_tables_are_what_the_whole_log_gives(shelf: Shelf) -> None:
    board, chance = Boardroom.on(shelf.open(), shelf.clock), random.Random(11)
    slugs = ["ann", "bo", "cy", "dee"]
    agents = [await board.agent(slug, runtime=chance.choice(["external", "built_in"])) for slug in slugs]
    docks = [await board.project(f"dock{n}", *chance.sample(slugs, 3)) for n in range(2)]
    tasks = [await board.task(dock.id, f"Task {n}") for dock in docks for n in range(6)]
    actors = [OWNER, *agents]

    async def live(number: int) -> None:
        who, task, other = chance.choice(actors), chance.choice(tasks), chance.choice(tasks)
        with contextlib.suppress(Problem):  # many of these are refused, and leave nothing
            await act(board, number % 14, who, task, other, chance)

    for _ in range(12):
        await soon(asyncio.gather(*map(live, range(42))))
    await members.remove_member(board.desk, OWNER, board.book, id_of(agents[3]), [])
    tables = kept(shelf.store)
    assert tables == rebuilt(shelf.store)
    assert all(tables[name] for name in ("member", "project_member", "chat_message", "card", "card_activity", "wake"))
    shelf.open()
    assert kept(shelf.store) == tables


async def act(board: Boardroom, what: int, who: Scope, task: str, other: str, chance: random.Random) -> None:
    desk, book = board.desk, board.book
    some = chance.sample(["ann", "bo", "cy", "dee"], 2)
    project = await book.project(await book.project_of_card(task) or "")
    assert project is not None
    acts = (
        lambda: board.say(who, project.chat, f"@{some[0]} and @{some[1]}"),
        lambda: cards.assign(desk, OWNER, book, task, some),
        lambda: cards.link(desk, OWNER, book, task, [other]),
        lambda: cards.link(desk, OWNER, book, task, []),
        lambda: cards.move(desk, OWNER, book, task, chance.choice(["backlog", "todo", "in_progress", "done"])),
        lambda: cards.edit_task(desk, OWNER, book, task, TaskEdit(title=f"T{chance.random()}", labels=("a",))),
        lambda: speech.comment(desk, who, book, task, Words(f"@{some[0]}?")),
        lambda: work.claim(desk, who, book, task),
        lambda: work.submit(desk, who, book, task, "done"),
        lambda: work.review(desk, OWNER, book, task, chance.choice(["approved", "sent_back"]), "words"),
        lambda: work.hand_over(desk, who, book, task, some[0], "yours"),
        lambda: members.change_member(desk, OWNER, book, id_of(who), None, {"labels": (some[0],)}),
        lambda: projects.leave_project(desk, OWNER, book, project.id, id_of(who)),
        lambda: projects.join_project(desk, OWNER, book, project.id, some[0]),
    )
    await acts[what]()
