"""Messages over HTTP: stored, answered as they come, watched again, stopped, steered, answered anew."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from door_client import Answer, Frame, Watch, ask
from door_serving import Serving, Start
from talking import PLACE, office, text_of

HELLO = "Hello there,\nfriend of 猫 and \u2028\r\nid: 7."


def types(frames: list[Frame]) -> list[str]:
    assert all(frame.data["type"] == frame.event for frame in frames)
    return [frame.event for frame in frames]


async def test_a_message_is_stored_and_answered_with_itself(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    said = (await here.post(f"{PLACE}/{ident}/messages", {"content": "First"})).document
    assert said == {**said, "role": "user", "content": "First", "conversation_id": ident, "status": "completed"}
    await here.post(f"{PLACE}/{ident}/messages", {"content": "Second"})
    assert [line["content"] for line in await here.messages(ident)] == ["First", "Second"]
    assert (await here.get(f"{PLACE}/{ident}/messages/{said['id']}")).document == said


async def test_the_answer_comes_token_by_token_and_both_sides_are_stored(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    watch = await here.say(ident, "Hello")
    assert watch.headers["content-type"] == "text/event-stream; charset=utf-8"
    frames = await watch.rest()
    assert types(frames)[0] == "message_start"
    assert types(frames)[-1] == "message_end"
    assert text_of(frames) == HELLO
    start, end = frames[0].data, frames[-1].data
    assert start == {
        "type": "message_start",
        "message_id": end["message_id"],
        "conversation_id": ident,
        "employee_id": here.employee,
    }
    assert (end["status"], end["code"]) == ("completed", None)
    assert end["token_count"] > 0
    assert set(end["usage"]) == {"input_tokens", "output_tokens", "reasoning_tokens"}
    asked, answer = await here.messages(ident)
    assert (asked["role"], asked["content"], asked["task_id"]) == ("user", "Hello", end["message_id"])
    assert (answer["role"], answer["content"], answer["id"]) == ("assistant", HELLO, end["message_id"])
    assert (await here.get(f"{PLACE}/{ident}")).document["title"] == "Hello"


async def test_messages_are_paged_from_either_end(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    for number in range(7):
        await here.post(f"{PLACE}/{ident}/messages", {"content": f"n{number}"})
    for limit in (1, 3, 7, 50):
        for order, expected in (("asc", range(7)), ("desc", range(6, -1, -1))):
            found, path = [], f"{PLACE}/{ident}/messages?limit={limit}&order={order}"
            while path:
                answer = await here.get(path)
                found += [line["content"] for line in answer.document]
                link = answer.headers.get("link", "")
                path = link[1 : link.index(">")] if link else ""
            assert found == [f"n{number}" for number in expected]


async def test_an_answer_is_watched_again_from_any_event_without_a_hole_or_a_double(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    whole = await here.answered(ident, "think about it")
    asked, answer = await here.messages(ident)
    for message in (asked["id"], answer["id"]):
        path = f"{PLACE}/{ident}/messages/{message}/stream"
        for seen in range(0, len(whole) - 1, 3):
            frame = whole[seen]
            by_header = await Watch.open(server, "GET", path, headers={"Last-Event-ID": str(frame.id)})
            assert [f.raw for f in await by_header.rest()] == [f.raw for f in whole[seen + 1 :]]
        by_query = await Watch.open(server, "GET", f"{path}?after={whole[4].seq}")
        assert [f.raw for f in await by_query.rest()] == [f.raw for f in whole[5:]]
        assert (await here.get(f"{path}?after={whole[-1].id}")).status == 204
        ahead = await Watch.open(server, "GET", f"{path}?after=100000")
        (reset, *_) = await ahead.rest()
        assert (reset.event, reset.data["type"], reset.data["why"]) == ("stream.reset", "stream.reset", "ahead")


async def test_two_doors_tell_one_run_each_in_its_own_words(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    watch = await here.say(ident, "paced")
    run = (await watch.until("message_start")).data["message_id"]
    other, again = (
        await Watch.open(server, "GET", f"/v1/tasks/{run}/stream"),
        await Watch.open(server, "GET", f"{PLACE}/{ident}/messages/{run}/stream"),
    )
    runtime, *platform = await asyncio.gather(other.rest(), again.rest(), watch.rest())
    assert {text_of(frames) for frames in platform} == {"".join(f"t{n} " for n in range(60))}
    told = "".join(frame.data["delta"] for frame in runtime if frame.event == "content_delta")
    assert told == text_of(platform[0])
    assert {frame.seq for frame in platform[0] if frame.id} == {frame.seq for frame in runtime if frame.id}


async def test_a_run_of_an_employee_is_seen_and_stopped_at_the_runtime_door(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    watch = await here.say(ident, "hang on")
    run = (await watch.until("message_start")).data["message_id"]
    await watch.until("token")
    assert (await here.get(f"{PLACE}/{ident}")).document["answering"] == [run]
    task = (await here.get(f"/v1/tasks/{run}")).document
    assert (task["tenant_id"], task["conversation_id"], task["status"]) == (here.tenant, ident, "running")
    assert run in [line["task_id"] for line in (await here.get("/v1/tasks")).document]
    assert ident in [line["id"] for line in (await here.get("/v1/conversations?limit=500")).document]
    assert (await here.post(f"/v1/tasks/{run}/stop")).status == 202
    end = (await watch.rest())[-1]
    assert (end.event, end.data["status"]) == ("message_end", "stopped")
    assert (await here.messages(ident))[-1]["content"] == "one two three"


async def test_an_answer_is_stopped_and_steered_by_its_message(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    watch = await here.say(ident, "hang on")
    message = (await watch.until("message_start")).data["message_id"]
    await watch.until("token")
    path = f"{PLACE}/{ident}/messages/{message}"
    receipt = await here.post(f"{path}/interventions", {"text": "hello instead", "mode": "interrupt"})
    assert (receipt.status, receipt.document["status"]) == (202, "accepted")
    await watch.rest()
    assert (await here.messages(ident))[-1]["content"].endswith(HELLO)
    watch = await here.say(ident, "hang on")
    message = (await watch.until("message_start")).data["message_id"]
    assert (await here.post(f"{PLACE}/{ident}/messages/{message}/stop", {"reason": "enough"})).status == 202
    assert (await watch.rest())[-1].data["status"] == "stopped"
    assert (await here.post(f"{PLACE}/{ident}/messages/{message}/stop")).code == "task_ended"


async def test_the_last_answer_is_given_anew_and_the_old_one_is_superseded(start: Start) -> None:
    server = start(
        {"when": "tea", "content": ["first"]}, {"when": "tea", "content": ["second"]}, {"content": ["later"]}
    )
    here = await office(server)
    ident = await here.open()
    await here.answered(ident, "tea")
    asked, first = await here.messages(ident)
    path = f"{PLACE}/{ident}/messages"
    again = await Watch.open(server, "POST", f"{path}/{first['id']}/regenerate", headers={"Idempotency-Key": "again"})
    frames = await again.rest()
    assert text_of(frames) == "second"
    told = [(line["content"], line["status"]) for line in await here.messages(ident)]
    assert told == [("tea", "completed"), ("first", "superseded"), ("second", "completed")]
    same = await Watch.open(server, "POST", f"{path}/{first['id']}/regenerate", headers={"Idempotency-Key": "again"})
    assert [frame.raw for frame in await same.rest()] == [frame.raw for frame in frames]
    assert (await here.post(f"{path}/{first['id']}/regenerate")).code == "not_the_last_message"
    await here.answered(ident, "more")
    assert (await here.post(f"{path}/{asked['id']}/regenerate")).code == "not_the_last_message"


async def test_a_message_that_was_only_stored_is_answered_when_asked_for(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    said = (await here.post(f"{PLACE}/{ident}/messages", {"content": "Hello"})).document
    unanswered = await here.get(f"{PLACE}/{ident}/messages/{said['id']}/stream")
    assert (unanswered.status, unanswered.code) == (409, "not_answered")
    watch = await Watch.open(server, "POST", f"{PLACE}/{ident}/messages/{said['id']}/regenerate")
    assert text_of(await watch.rest()) == HELLO
    assert [line["role"] for line in await here.messages(ident)] == ["user", "assistant"]


async def test_a_message_that_is_being_answered_is_not_answered_twice(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    watch = await here.say(ident, "hang on")
    message = (await watch.until("message_start")).data["message_id"]
    (asked,) = await here.messages(ident)
    refused = await here.post(f"{PLACE}/{ident}/messages/{asked['id']}/regenerate")
    assert (refused.status, refused.code) == (409, "still_running")
    await here.post(f"{PLACE}/{ident}/messages/{message}/stop")
    await watch.rest()


async def test_the_same_key_says_it_once(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    watches = await asyncio.gather(*(here.say(ident, "Hello", **{"Idempotency-Key": "say-once"}) for _ in range(4)))
    told = await asyncio.gather(*(watch.rest() for watch in watches))
    assert len({b"".join(frame.raw for frame in frames) for frames in told}) == 1
    assert len(await here.messages(ident)) == 2
    stored: list[Answer] = await asyncio.gather(
        *(
            here.post(f"{PLACE}/{ident}/messages", {"content": "once"}, **{"Idempotency-Key": "store-once"})
            for _ in range(4)
        )
    )
    assert len({answer.body for answer in stored}) == 1
    assert len(await here.messages(ident)) == 3


async def test_a_provider_in_trouble_is_told_in_a_sentence_and_the_conversation_goes_on(server: Serving) -> None:
    here = await office(server)
    ident = await here.open()
    frames = await here.answered(ident, "fail, please")
    error, end = frames[-2:]
    assert (error.event, error.data["code"], error.data["detail"]) == ("error", "provider_rejected", "No.")
    assert (end.event, end.data["status"], end.data["detail"]) == ("message_end", "failed", "No.")
    assert (await here.messages(ident))[-1]["status"] == "failed"
    assert text_of(await here.answered(ident, "Hello")) == HELLO


async def test_what_an_employee_asks_for_waits_in_sight_and_is_allowed_at_the_runtime_door(start: Start) -> None:
    call = {"id": "c1", "name": "file_write", "arguments": {"path": "tea.txt", "content": "green"}}
    server = start({"when": "tea", "calls": [call]}, {"when": "tea", "content": ["It is there."]})
    here = await office(server, config={"tools": ["file_write"]})
    ident = await here.open()
    watch = await here.say(ident, "write down the tea")
    asked = await watch.until("tool_approval_requested")
    assert (asked.data["type"], asked.data["tool"]) == ("tool_approval_requested", "file_write")
    (pending,) = (await here.get("/v1/approvals/pending")).document
    assert pending["approval_id"] == asked.data["approval_id"]
    allowed = await here.post(f"/v1/approvals/{pending['approval_id']}/allow_once")
    assert (allowed.status, allowed.document["status"]) == (200, "approved")
    frames = await watch.rest()
    assert "tool_call_finished" in types(frames)
    assert text_of(frames) == "It is there."
    assert frames[-1].event == "message_end"


@pytest.mark.parametrize("body", [{}, {"content": " "}, {"content": 1}, {"content": "x", "stream": True}])
async def test_what_makes_no_sense_is_refused(server: Serving, body: Any) -> None:
    here = await office(server)
    ident = await here.open()
    for path in ("messages", "messages/stream"):
        answer = await here.post(f"{PLACE}/{ident}/{path}", body)
        assert answer.status in {400, 422}, json.dumps(body)
    assert await here.messages(ident) == []


async def test_a_tenant_without_a_provider_is_told_what_to_do_and_goes_on_when_it_has_one(server: Serving) -> None:
    here = await office(server, config={"server_default": "never"})
    ident = await here.open()
    error, end = (await here.answered(ident, "Hello"))[-2:]
    assert (error.event, error.data["code"]) == ("error", "no_model")
    assert f"PUT /api/v1/tenants/{here.tenant}/config" in error.data["detail"]
    assert (end.event, end.data["status"]) == ("message_end", "failed")
    lent = await ask(server, "PUT", f"/api/v1/tenants/{here.tenant}/config", {"server_default": "when_unset"})
    assert lent.status == 200
    (asked, failed) = await here.messages(ident)
    watch = await Watch.open(server, "POST", f"{PLACE}/{ident}/messages/{failed['id']}/regenerate")
    assert text_of(await watch.rest()) == HELLO
    assert asked["status"] == "completed"


async def test_an_answer_goes_on_when_the_server_was_killed_in_the_middle(start: Start) -> None:
    server = start({"content": [f"t{n} " for n in range(300)], "pace": 0.01})
    here = await office(server)
    ident = await here.open()
    watch = await here.say(ident, "Count.")
    message = (await watch.until("message_start")).data["message_id"]
    seen = await watch.until("token")
    server.kill()
    server.start()
    path = f"{PLACE}/{ident}/messages/{message}/stream"
    again = await Watch.open(server, "GET", path, headers={"Last-Event-ID": str(seen.id)})
    frames = await again.rest()
    assert frames[0].seq == (seen.seq or 0) + 1
    assert (frames[-1].event, frames[-1].data["status"]) == ("message_end", "completed")
    assert (await here.messages(ident))[-1]["content"] == "".join(f"t{n} " for n in range(300))
