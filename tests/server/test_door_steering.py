"""Stepping into a run over HTTP: a word with a receipt, changed and taken back until it is heeded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from door_client import Answer, Watch, ask, attach, chat
from door_serving import BOUND_S, Serving, Start

CALL = {"id": "c1", "name": "file_write", "arguments": {"path": "a.txt", "content": "a"}}
TURNS: list[dict[str, Any]] = [
    {"when": "shorter", "content": "Short."},
    {"when": "and then", "content": "Then."},
    {"when": "waits", "calls": [CALL]},
    {"when": "hangs", "content": ["one ", "two"], "hang": 2},
    {"content": "Hello."},
]


@pytest.fixture(scope="module")
def server(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Serving:
    return start(*TURNS, environ={"QUARTERDECK_WORKSPACE": str(tmp_path_factory.mktemp("workspace"))})


async def resting(server: Serving, message: str) -> Watch:
    """A run that waits for a person, so that nothing is heeded before somebody answers."""
    watch = await chat(server, message, loop="native")
    await watch.until("tool_approval_requested")
    await watch.rest()
    return watch


async def say(server: Serving, task: str, text: str, mode: str = "steer") -> Answer:
    return await ask(server, "POST", f"/v1/tasks/{task}/interventions", {"text": text, "mode": mode})


async def ended(server: Serving, task: str) -> Watch:
    watch = await attach(server, task)
    async with asyncio.timeout(BOUND_S):
        await watch.until("done")
    return watch


async def receipt(server: Serving, task: str, ident: str) -> dict[str, Any]:
    return dict((await ask(server, "GET", f"/v1/tasks/{task}/interventions/{ident}")).document)


async def test_a_word_can_be_changed_and_taken_back_until_it_is_heeded(server: Serving) -> None:
    watch = await resting(server, "waits")
    path = f"/v1/tasks/{watch.task}/interventions"
    kept, dropped = (await say(server, watch.task, "longer")), (await say(server, watch.task, "never mind"))
    assert (kept.status, kept.document["status"], kept.document["step"]) == (202, "accepted", None)
    changed = await ask(server, "PATCH", f"{path}/{kept.document['intervention_id']}", {"text": "shorter"})
    assert (changed.status, changed.document["text"]) == (200, "shorter")
    gone = await ask(server, "DELETE", f"{path}/{dropped.document['intervention_id']}")
    assert (gone.status, gone.document["status"]) == (200, "retracted")
    again = await ask(server, "DELETE", f"{path}/{dropped.document['intervention_id']}")
    assert again.status == 409
    [pending] = (await ask(server, "GET", f"/v1/approvals?task_id={watch.task}")).document
    await ask(server, "POST", f"/v1/approvals/{pending['approval_id']}/deny")
    seen = await ended(server, watch.task)
    heeded = await receipt(server, watch.task, kept.document["intervention_id"])
    assert (heeded["status"], heeded["step"]) == ("applied", 2)
    assert "".join(frame.data["delta"] for frame in seen.frames if frame.event == "content_delta") == "Short."
    late = await ask(server, "PATCH", f"{path}/{kept.document['intervention_id']}", {"text": "x"})
    assert late.status == 409
    assert [each["status"] for each in (await ask(server, "GET", path)).document] == ["applied", "retracted"]


async def test_an_interruption_is_heeded_at_once_and_what_is_queued_begins_the_next_run(server: Serving) -> None:
    watch = await chat(server, "hangs", loop="native")
    await watch.until("content_delta")
    queued = (await say(server, watch.task, "and then what?", "queue")).document
    now = (await say(server, watch.task, "shorter", "interrupt")).document
    async with asyncio.timeout(BOUND_S):
        done = await watch.until("done")
    assert done.data["status"] == "completed"
    said = "".join(frame.data["delta"] for frame in watch.frames if frame.event == "content_delta")
    assert said.endswith("Short.")
    assert (await receipt(server, watch.task, now["intervention_id"]))["status"] == "applied"
    then = await receipt(server, watch.task, queued["intervention_id"])
    assert then["status"] == "applied"
    following = await ended(server, then["next_task_id"])
    assert "".join(frame.data["delta"] for frame in following.frames if frame.event == "content_delta") == "Then."


async def test_the_same_word_sent_twice_is_said_once(server: Serving) -> None:
    watch = await resting(server, "waits")
    path, body = f"/v1/tasks/{watch.task}/interventions", {"text": "shorter", "mode": "steer"}
    both = [await ask(server, "POST", path, body, {"Idempotency-Key": "k1"}) for _ in range(2)]
    assert both[0].document == both[1].document
    assert len((await ask(server, "GET", path)).document) == 1
    other = await ask(server, "POST", path, {**body, "text": "longer"}, {"Idempotency-Key": "k1"})
    assert other.status in {409, 422}
    await ask(server, "POST", f"/v1/tasks/{watch.task}/stop")
    await ended(server, watch.task)
    late = await ask(server, "POST", path, body, {"Idempotency-Key": "k1"})
    assert late.document["intervention_id"] == both[0].document["intervention_id"]


async def test_what_cannot_be_said_is_told(server: Serving) -> None:
    watch = await chat(server, "Hello", loop="native")
    await watch.rest()
    assert (await say(server, watch.task, "too late")).code == "task_ended"
    assert (await say(server, "nobody", "x")).status == 404
    waiting = await resting(server, "waits")
    for body in ({"text": " "}, {"text": "x", "mode": "shout"}, {"text": "x" * 20_001}, {"text": "x", "more": 1}, {}):
        refused = await ask(server, "POST", f"/v1/tasks/{waiting.task}/interventions", body)
        assert refused.status == 422, body
    assert (await receipt_of_nobody(server, waiting.task)).status == 404
    said = (await say(server, waiting.task, "never heeded", "steer")).document
    await ask(server, "POST", f"/v1/tasks/{waiting.task}/stop")
    await ended(server, waiting.task)
    expired = await receipt(server, waiting.task, said["intervention_id"])
    assert (expired["status"], bool(expired["why"])) == ("expired", True)


async def receipt_of_nobody(server: Serving, task: str) -> Answer:
    return await ask(server, "GET", f"/v1/tasks/{task}/interventions/nobody")
