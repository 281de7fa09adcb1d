"""The rules of the board by themselves: mentions, who hears what, circles, the steps of a task, what is next."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.engine.board import card as rules
from quarterdeck.engine.board import graph, inbox, listening
from quarterdeck.engine.board.card import ENDED, LEASE_S, MOVES, Card
from quarterdeck.engine.board.inbox import Inbox
from quarterdeck.engine.board.listening import MOST_HOPS, MOST_TURNS, Said
from quarterdeck.engine.board.mentions import MOST, mentioned
from quarterdeck.engine.board.people import Member
from quarterdeck.events.base import Event
from quarterdeck.events.card import TaskClaimed, TaskClaimEnded, TaskLinked, TaskMoved, TaskOpened
from quarterdeck.events.inbox import WakeEnded, WakeQueued, WakeTaken
from quarterdeck.kernel.board import MemberConfig, Status, Voice
from quarterdeck.kernel.errors import Problem

ANNA, BOT = Voice("anna", "anna", "human"), Voice("bot", "bot", "agent")
IDS = st.sampled_from("abcdef")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@bo", ("bo",)),
        ("Ask @Bo, @cy-2 and (@dee_3).", ("bo", "cy-2", "dee_3")),
        ("@bo @bo @BO", ("bo",)),
        ("mail me@bo.example or http://x/@bo or a.@bo", ()),
        ("`@bo` and ```\n@cy\n``` but @dee", ("dee",)),
        ("an open ` tick, @bo", ("bo",)),
        ("@bo- @cy_ @-dee @", ("bo", "cy")),
        ("@боб @猫 @bo猫", ()),
        ("@" + "x" * 65, ()),
        ("@@bo", ()),
    ],
)
def test_a_mention_is_a_word_of_its_own_outside_of_code(text: str, found: tuple[str, ...]) -> None:
    assert mentioned(text) == found


@given(st.text(alphabet="@`abz-_ .\n猫", max_size=300))
def test_whatever_is_mentioned_is_a_slug_that_stands_in_the_text(text: str) -> None:
    for slug in mentioned(text):
        assert f"@{slug}" in text.lower()
        assert not slug.endswith(("-", "_"))


@pytest.mark.parametrize("text", ["@a " * 50_000, "`" * 100_000, "``` " * 30_000, "@" * 100_000, "@" + "a-" * 50_000])
def test_a_hostile_text_is_read_to_its_end(text: str) -> None:
    assert len(mentioned(text)) <= MOST


def member(**config: object) -> Member:
    return Member("me", "agent", "Me", "me", MemberConfig(**config))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("chat_listen", "heard"),
    [("all", (True, True, True)), ("mentions", (False, True, True)), ("none", (False, False, False))],
)
def test_a_chat_is_heard_by_how_one_listens(chat_listen: str, heard: tuple[bool, ...]) -> None:
    me = member(chat_listen=chat_listen)
    assert heard == (
        listening.hears_chat(me, "anna", mentions=()),
        listening.hears_chat(me, "anna", mentions=("me",)),
        listening.hears_chat(me, "anna", mentions=(), direct=True),
    )
    assert not listening.hears_chat(me, "me", mentions=("me",), direct=True)


def test_from_all_to_none_each_way_of_listening_to_tasks_hears_less() -> None:
    cases = list(itertools.product((False, True), repeat=2))
    heard = [
        {(a, m) for a, m in cases if listening.hears_task(member(task_listen=way), "anna", assigned=a, mentioned=m)}
        for way in ("all", "mentions", "assigned", "none")
    ]
    assert [len(each) for each in heard] == [4, 3, 2, 0]
    assert all(less < more for more, less in itertools.pairwise(heard))


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_persons_word_is_never_held_and_agents_come_to_rest(hops: int, turns: int) -> None:
    assert listening.held(Said(ANNA, (), hops, turns)) is None
    assert (listening.held(Said(BOT, (), hops, turns)) is None) == (hops <= MOST_HOPS and turns < MOST_TURNS)


@given(st.lists(st.tuples(IDS, st.lists(IDS, max_size=3, unique=True)), max_size=20))
def test_dependencies_never_close_a_circle_and_nothing_else_is_refused(wishes: list[tuple[str, list[str]]]) -> None:
    plan = graph.Plan()

    def reaches(begin: str, end: str, needs: dict[str, tuple[str, ...]]) -> bool:
        seen, waiting = set(), list(needs.get(begin, ()))
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += needs.get(one, ())
        return end in seen

    for task, needs in wishes:
        way = graph.cycle(plan, task, needs)
        assert bool(way) == reaches(task, task, {**plan.needs, task: tuple(needs)})
        if way:
            assert (way[0], way[-1]) == (task, task)
            steps = {**plan.needs, task: tuple(needs)}
            assert all(after in steps[before] for before, after in itertools.pairwise(way))
        else:
            plan = graph.evolve(plan, TaskLinked(task, ANNA, tuple(needs)))


def opened(**more: object) -> Card:
    return rules.evolve(Card(), TaskOpened("t", "p", ANNA, "Title", **more))  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(sorted(MOVES)), max_size=12), st.booleans())
def test_a_task_only_ever_goes_where_its_status_leads(way: list[Status], blocked: bool) -> None:
    card = opened()
    for status in way:
        try:
            rules.check_move(card, ANNA, status, blocked=blocked)
        except Problem:
            assert status not in MOVES[card.status] or blocked
            continue
        assert status in MOVES[card.status]
        assert not (blocked and status in {"in_progress", "in_review", "done"})
        card = rules.evolve(card, TaskMoved("t", ANNA, status, card.status))
    assert all(set(ways) <= set(MOVES) for ways in MOVES.values())
    assert all(MOVES[ended] for ended in ENDED), "what has ended can be taken up again"


def test_a_claim_ends_by_itself_and_is_counted_only_while_it_holds() -> None:
    card, box = opened(assignees=("bot",)), Inbox()
    claimed = TaskClaimed("t", BOT, 100.0 + LEASE_S)
    card, box = rules.evolve(card, claimed), inbox.evolve(box, claimed)
    assert (card.has("bot", 100.0), inbox.in_hand(box, 100.0)) == (True, 1)
    assert (card.has("bot", 101.0 + LEASE_S), inbox.in_hand(box, 101.0 + LEASE_S)) == (False, 0)
    ended = TaskClaimEnded("t", "bot", "released")
    assert inbox.evolve(box, ended).claims == {}
    assert rules.evolve(card, ended).claimed_by is None


@given(st.integers(1, 4), st.lists(st.sampled_from("abc"), max_size=12), st.randoms(use_true_random=False))
def test_everything_that_waits_is_begun_once_in_order_and_never_too_much_at_a_time(
    most: int, chats: list[str], chance: object
) -> None:
    box = Inbox()
    for number, chat in enumerate(chats):
        box = inbox.evolve(box, WakeQueued(f"w{number:02}", "p", "mention", "x", "anna", chat))
    order: list[str] = []
    while not box.idle:
        following = inbox.next_up(box, most)
        step: Event
        if following is not None:
            order.append(following.wake)
            step = WakeTaken(following.wake, "r")
        else:
            step = WakeEnded(chance.choice(sorted(box.working)), "completed")  # type: ignore[attr-defined]
        box = inbox.evolve(box, step)
        assert len(box.working) <= most
        places = [each.chat for each in box.begun.values()]
        assert len(set(places)) == len(places)
    assert sorted(order) == [f"w{number:02}" for number in range(len(chats))]
    for chat in "abc":
        own = [wake for wake in order if chats[int(wake[1:])] == chat]
        assert own == sorted(own)
