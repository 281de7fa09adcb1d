"""Members, projects and what is said: who may, who is woken, and that nobody speaks for somebody else."""

from __future__ import annotations

import asyncio

import pytest

from boardroom import OWNER, Boardroom, id_of
from quarterdeck.actions.board import members, projects, speech
from quarterdeck.actions.board.members import NewMember, add_member
from quarterdeck.actions.board.speech import Words
from quarterdeck.actions.users import add_user
from quarterdeck.engine.access import RIGHTS
from quarterdeck.engine.board.listening import MOST_HOPS, MOST_TURNS
from quarterdeck.events.inbox import WakeQueued
from quarterdeck.events.project import MemberJoined, MessagePosted
from quarterdeck.kernel.board import MemberConfig
from quarterdeck.kernel.errors import Conflict, Invalid, NotAllowed, NotFound, Problem
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.scope import LOCAL_TENANT, Scope
from quarterdeck.ports import Query
from quarterdeck.views.access import TOKENS, authenticate
from quarterdeck.views.board import CHAT_MESSAGES, MEMBERS
from quarterdeck.views.board_book import BoardBook


async def test_an_agent_is_known_by_the_token_it_is_given_once(board: Boardroom) -> None:
    added = await add_member(board.desk, OWNER, NewMember("agent", "Bo", "bo", MemberConfig()), key="k", body=b"x")
    assert added.token is not None
    scope = await authenticate(board.log, added.token, board.clock.now())
    assert scope is not None
    assert (scope.actor, scope.rights) == (f"agent:{added.id}", RIGHTS["agent"])
    again = await add_member(board.desk, OWNER, NewMember("agent", "Bo", "bo", MemberConfig()), key="k", body=b"x")
    assert (again.id, again.token) == (added.id, None)


async def test_of_many_who_want_a_slug_at_once_one_gets_it(board: Boardroom) -> None:
    wanted = [add_member(board.desk, OWNER, NewMember("agent", f"N{n}", "gull", MemberConfig())) for n in range(20)]
    came = await asyncio.gather(*wanted, return_exceptions=True)
    refused = [each for each in came if isinstance(each, Conflict)]
    assert (len(refused), {each.code for each in refused}) == (19, {"slug_taken"})


async def test_a_slug_is_free_again_when_its_member_is_removed(board: Boardroom) -> None:
    first = await board.agent("gull")
    project = await board.project("dock", "gull")
    await members.remove_member(board.desk, OWNER, board.book, id_of(first), [])
    assert not await board.book.is_in(project.id, id_of(first))
    second = await board.agent("gull")
    assert id_of(second) != id_of(first)
    with pytest.raises(NotAllowed) as refused:
        await board.say(first, project.chat, "still here")
    assert refused.value.code == "member_removed"


async def test_a_new_token_ends_the_one_before(board: Boardroom) -> None:
    added = await add_member(board.desk, OWNER, NewMember("agent", "Bo", "bo", MemberConfig()))
    where = {"tenant": LOCAL_TENANT, "actor": f"agent:{added.id}"}
    known = [line["id"] for line in await board.log.find(Query(TOKENS, where, "id"))]
    fresh = await members.rotate_token(board.desk, OWNER, board.book, added.id, known)
    assert added.token is not None
    assert await authenticate(board.log, added.token, board.clock.now()) is None
    assert await authenticate(board.log, fresh, board.clock.now()) is not None


async def test_two_changes_of_a_member_at_once_both_count(board: Boardroom) -> None:
    bo = await board.agent("bo")

    async def change(name: str, value: object) -> None:
        await members.change_member(board.desk, OWNER, board.book, id_of(bo), None, {name: value})

    await asyncio.gather(change("prompt", "Be brief."), change("model", "gpt"), change("max_concurrent_tasks", 7))
    known = await board.book.member(id_of(bo))
    assert known is not None
    assert (known.config.prompt, known.config.model, known.config.max_concurrent_tasks) == ("Be brief.", "gpt", 7)


async def test_a_person_who_writes_becomes_a_member_once(board: Boardroom) -> None:
    project = await board.project()
    await asyncio.gather(*(board.say(OWNER, project.chat, f"hello {n}") for n in range(8)))
    people = await board.log.find(Query(MEMBERS, {"tenant": LOCAL_TENANT, "type": "human"}, "id"))
    assert [(line["slug"], line["account"]) for line in people] == [("owner", "person:owner")]


async def test_a_person_who_was_removed_and_writes_again_is_another_member(board: Boardroom) -> None:
    project = await board.project()
    first = await board.book.by_account("person:owner")
    assert first is not None
    await members.remove_member(board.desk, OWNER, board.book, first.id, [])
    await asyncio.gather(*(board.say(OWNER, project.chat, f"back {n}") for n in range(4)))
    second = await board.book.by_account("person:owner")
    assert second is not None
    assert (second.slug, second.id == first.id) == ("owner", False)


async def test_a_person_is_called_what_their_account_is_called(board: Boardroom) -> None:
    project = await board.project()
    ident = await add_user(board.desk, OWNER, "Анна Ли", "member")
    anna = Scope(LOCAL_TENANT, f"person:{ident}", RIGHTS["member"])
    line = await board.say(anna, project.chat, "Здравствуйте")
    known = await board.book.member(line["author"])
    assert known is not None
    assert (known.name, known.account) == ("Анна Ли", anna.actor)


async def test_a_message_says_who_spoke_and_whom_it_names(board: Boardroom) -> None:
    bo = await board.agent("bo")
    await board.agent("stranger")
    project = await board.project("dock", "bo")
    line = await board.say(OWNER, project.chat, "@bo and @stranger and @nobody, and me@bo.example, and `@bo`")
    assert line["mentions"] == f'["{id_of(bo)}"]'
    assert line["author_slug"] == "owner"
    told = await board.told(project.id)
    assert [type(event) for event in told[-1:]] == [MessagePosted]
    assert sum(isinstance(event, MemberJoined) for event in told) == 2


async def test_an_agent_cannot_be_where_it_is_not(board: Boardroom) -> None:
    stranger = await board.agent("stranger")
    project = await board.project("dock")
    for act in (
        board.say(stranger, project.chat, "hello"),
        speech.chat_triggers(stranger, board.book, project.chat, "hello"),
        projects.open_direct(board.desk, stranger, board.book, project.id, ["owner"]),
        board.task(project.id, scope=stranger),
    ):
        with pytest.raises(NotFound):
            await act
    for wish in (
        projects.join_project(board.desk, stranger, board.book, project.id, "stranger"),
        projects.open_project(board.desk, stranger, board.book, projects.NewProject("Mine", "mine")),
        add_member(board.desk, stranger, NewMember("agent", "Twin", "twin", MemberConfig())),
        members.change_member(board.desk, stranger, board.book, id_of(stranger), None, {"prompt": "Obey."}),
    ):
        with pytest.raises(NotAllowed) as refused:
            await wish
        assert refused.value.code == "people_only"


async def test_what_is_another_tenants_is_not_there(board: Boardroom) -> None:
    bo = await board.agent("bo")
    project = await board.project("dock", "bo")
    said = await board.say(OWNER, project.chat, "ours")
    elsewhere = Scope(TenantId("elsewhere"), "person:eve", frozenset({"*"}))
    book = BoardBook(board.log, elsewhere.tenant)
    for act in (
        speech.post_message(board.desk, elsewhere, book, project.chat, Words("hello")),
        projects.change_project(board.desk, elsewhere, book, project.id, name="Theirs"),
        projects.open_thread(board.desk, elsewhere, book, projects.NewThread(project.id, said["id"])),
        members.remove_member(board.desk, elsewhere, book, id_of(bo), []),
    ):
        with pytest.raises(NotFound):
            await act
    twin = await add_member(board.desk, elsewhere, NewMember("agent", "Bo", "bo", MemberConfig()))
    assert twin.id != id_of(bo)


async def test_a_direct_chat_is_for_those_it_is_between(board: Boardroom) -> None:
    bo, cy = await board.agent("bo"), await board.agent("cy")
    project = await board.project("dock", "bo", "cy")
    chat = await projects.open_direct(board.desk, OWNER, board.book, project.id, ["bo"])
    said = await board.say(bo, chat, "between us")
    with pytest.raises(NotFound):
        await board.say(cy, chat, "and me")
    thread = await projects.open_thread(board.desk, bo, board.book, projects.NewThread(project.id, said["id"]))
    with pytest.raises(NotFound):
        await board.say(cy, thread, "and me")
    with pytest.raises(Invalid):
        await board.say(bo, project.chat, "wrong chat", reply_to=said["id"])


async def test_the_same_key_says_it_once_and_wakes_once(board: Boardroom) -> None:
    bo = await board.agent("bo", runtime="built_in")
    project = await board.project("dock", "bo")
    for _ in range(3):
        await speech.post_message(board.desk, OWNER, board.book, project.chat, Words("@bo hi"), key="k", body=b"b")
    where = {"tenant": LOCAL_TENANT, "chat": project.chat}
    assert len(await board.log.find(Query(CHAT_MESSAGES, where, "place"))) == 1
    [wake] = await board.wakes(member=id_of(bo))
    assert (wake["status"], wake["reason"], wake["chat"]) == ("queued", "mention", project.chat)


async def test_only_agents_that_we_drive_and_that_are_meant_are_woken(board: Boardroom) -> None:
    agents = {
        "outside": await board.agent("outside"),
        "mentions": await board.agent("mentions", runtime="built_in"),
        "everything": await board.agent("everything", runtime="built_in", chat_listen="all"),
        "deaf": await board.agent("deaf", runtime="built_in", chat_listen="none"),
        "away": await board.agent("away", runtime="built_in", chat_listen="all"),
    }
    project = await board.project("dock", "outside", "mentions", "everything", "deaf")
    content = "hello @outside @mentions @deaf"
    found, held = await speech.chat_triggers(OWNER, board.book, project.chat, content)
    told = {each.member.slug: each.wakes for each in found}
    assert (told, held) == ({"outside": "mention", "mentions": "mention", "everything": "message"}, None)
    await board.say(OWNER, project.chat, content)
    woken = {wake["member"]: wake["reason"] for wake in await board.wakes()}
    assert woken == {id_of(agents["mentions"]): "mention", id_of(agents["everything"]): "message"}
    [queued] = [event for event in await board.inbox(agents["mentions"]) if isinstance(event, WakeQueued)]
    assert (queued.text, queued.by) == (content, "owner")


async def test_agents_that_only_talk_to_each_other_are_held_until_a_person_speaks(board: Boardroom) -> None:
    bo = await board.agent("bo", runtime="built_in")
    await board.agent("cy", runtime="built_in")
    project = await board.project("dock", "bo", "cy")
    lines = [await board.say(bo, project.chat, "@cy again") for _ in range(MOST_TURNS + 3)]
    assert [line["held"] for line in lines] == [None] * MOST_TURNS + ["turns"] * 3
    assert len(await board.wakes()) == MOST_TURNS
    found, held = await speech.chat_triggers(bo, board.book, project.chat, "@cy")
    assert (held, [each.wakes for each in found if each.member.slug == "cy"]) == ("turns", [None])
    await board.say(OWNER, project.chat, "go on")
    assert (await board.say(bo, project.chat, "@cy again"))["held"] is None


async def test_a_chain_of_answers_among_agents_is_cut(board: Boardroom) -> None:
    bo, cy = await board.agent("bo", runtime="built_in"), await board.agent("cy", runtime="built_in")
    project = await board.project("dock", "bo", "cy")
    line = await board.say(OWNER, project.chat, "@bo begin")
    chain = []
    for turn in range(MOST_HOPS + 2):
        who, whom = (bo, "cy") if turn % 2 == 0 else (cy, "bo")
        line = await board.say(who, project.chat, f"@{whom} your turn", reply_to=line["id"])
        chain.append((line["hops"], line["held"]))
    assert chain == [(n, None if n <= MOST_HOPS else "hops") for n in range(1, MOST_HOPS + 3)]


async def test_nobody_wakes_themselves(board: Boardroom) -> None:
    bo = await board.agent("bo", runtime="built_in", chat_listen="all")
    project = await board.project("dock", "bo")
    await board.say(bo, project.chat, "I, @bo, was here")
    assert await board.wakes() == []


@pytest.mark.parametrize("name", ["", "  ", "a\u202eb", "x" * 201, "a\x00b", "\u200b"])
async def test_a_name_that_deceives_is_refused(board: Boardroom, name: str) -> None:
    with pytest.raises(Invalid):
        await add_member(board.desk, OWNER, NewMember("agent", name, "bo", MemberConfig()))
    with pytest.raises(Invalid):
        await board.project(name, "x") if name else await projects.open_project(
            board.desk, OWNER, board.book, projects.NewProject(name)
        )


async def test_hostile_texts_are_kept_as_they_are(board: Boardroom) -> None:
    project = await board.project()
    for text in ("<script>alert(1)</script>", "'; DROP TABLE member; --", "{{7*7}}\r\ndata: x", "\u202e" + "猫" * 9):
        assert (await board.say(OWNER, project.chat, text))["content"] == text


async def test_an_archived_project_is_read_and_not_written(board: Boardroom) -> None:
    project = await board.project()
    await projects.change_project(board.desk, OWNER, board.book, project.id, archived=True)
    for act in (board.say(OWNER, project.chat, "late"), board.task(project.id)):
        with pytest.raises(Problem) as refused:
            await act
        assert refused.value.code == "project_archived"
