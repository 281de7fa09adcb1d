"""What a run asks of people, over HTTP and with real tools: what waits, what is answered, and what then happens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from door_client import Answer, Watch, ask, attach, chat, stop
from door_serving import BOUND_S, Serving, Start, script

WAIT_FOR_GO = "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second"
TWICE = "echo more >> log.txt"


def calls(when: str, *wanted: tuple[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A turn that makes these calls, and one that answers."""
    made = [{"id": f"c{n}", "name": name, "arguments": arguments} for n, (name, arguments) in enumerate(wanted, 1)]
    return [{"when": when, "calls": made}, {"when": when, "content": "Done."}]


def write(path: str, content: str = "new\n") -> tuple[str, dict[str, Any]]:
    return "file_write", {"path": path, "content": content}


def shell(command: str) -> tuple[str, dict[str, Any]]:
    return "shell_exec_safe", {"command": command}


def directive(command: str, risk: str) -> dict[str, Any]:
    action = {"tool": "shell_exec_safe", "args": {"command": command}, "reason": "to know"}
    return {"kind": "action_directive", "intent": "look", "risk_level": risk, "actions": [action], "then": "answer"}


RULED = [{"when": "ruled", "json": directive("uname -a", "medium")}, {"when": "ruled", "content": "Done."}]
TURNS = [
    *calls("write one", write("one.txt")),
    *calls("stream it", shell(WAIT_FOR_GO)),
    *calls("write two", write("a.txt"), write("b.txt"), ("list_dir", {"path": "."})),
    *calls("edit me", write("mine.txt", "the model's\n")),
    *calls("misuse it", write("harmless.txt")),
    *calls("change it", write("changed.txt")),
    {"when": "again and again", "calls": [{"id": "c1", "name": shell(TWICE)[0], "arguments": shell(TWICE)[1]}]},
    {"when": "again and again", "calls": [{"id": "c2", "name": shell(TWICE)[0], "arguments": shell(TWICE)[1]}]},
    {"when": "again and again", "content": "Done."},
    *calls("which colour", ("ask_user", {"question": "Which colour?", "options": ["red", "blue"]})),
    *calls("call off", write("never.txt")),
    *calls("forbidden", shell("rm -rf /")),
    *calls("outside", ("file_read", {"path": "/etc/hostname"})),
    *calls("elsewhere", ("file_read", {"path": "/etc/hostname"})),
    *calls("somewhere", ("file_read", {"path": "/etc/hostname"})),
    *calls("cross it", write("crossed.txt")),
    *RULED,
    *RULED,
    *RULED,
    {"when": "written rule", "json": directive("uname -r", "medium")},
    {"when": "written rule", "content": "Done."},
    {"content": "Hello."},
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def server(start: Start, workspace: Path) -> Serving:
    return start(*TURNS, environ={"QUARTERDECK_WORKSPACE": str(workspace)})


async def resting(server: Serving, message: str, loop: str = "native") -> Watch:
    """A run that was watched until it waits for somebody; there its answer ends."""
    watch = await chat(server, message, loop=loop)
    await watch.rest()
    assert (watch.frames[-1].event, watch.frames[-1].data) == ("end", {"waiting": True}), watch.raw.decode()[-3000:]
    return watch


def asked(watch: Watch) -> list[dict[str, Any]]:
    return [frame.data for frame in watch.frames if frame.event == "tool_approval_requested"]


async def allow(server: Serving, approval: str, how: str = "allow_once", body: object = None) -> Answer:
    return await ask(server, "POST", f"/v1/approvals/{approval}/{how}", body)


async def goes_on(server: Serving, task: str, approval: str) -> Watch:
    watch = await Watch.open(server, "POST", f"/v1/tasks/{task}/continue/stream", {"approval_id": approval})
    assert watch.status == 200, await watch.connection.remainder()
    return watch


async def ended(server: Serving, task: str) -> list[dict[str, Any]]:
    """All that happened in a run, once it is over."""
    watch = await attach(server, task)
    async with asyncio.timeout(BOUND_S):
        await watch.until("done")
    watch.close()
    return list((await ask(server, "GET", f"/v1/tasks/{task}/events")).document)


async def unasked(server: Serving, message: str, loop: str = "native") -> list[dict[str, Any]]:
    """All that happened in a run that nobody was to be asked about."""
    watch = await chat(server, message, loop=loop)
    await watch.next()
    return await ended(server, watch.task)


def task_of(events: list[dict[str, Any]]) -> str:
    return str(events[0]["payload"]["task_id"])


def of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in events if event["event_type"] == kind]


async def test_what_is_risky_waits_and_is_done_once_it_was_allowed(server: Serving, workspace: Path) -> None:
    watch = await resting(server, "write one")
    [request] = asked(watch)
    assert (request["status"], request["tool"], request["risk_level"]) == (
        "waiting_for_approval",
        "file_write",
        "medium",
    )
    assert "+new" in request["shown"]
    pending = (await ask(server, "GET", "/v1/approvals/pending")).document
    assert request["approval_id"] in {line["approval_id"] for line in pending}
    early = await ask(
        server, "POST", f"/v1/tasks/{watch.task}/continue/stream", {"approval_id": request["approval_id"]}
    )
    assert (early.status, early.code) == (409, "approval_pending")
    assert not (workspace / "one.txt").exists()
    answer = await allow(server, request["approval_id"])
    assert (answer.status, answer.document["decided_by"]) == (200, "person:owner")
    rest = await goes_on(server, watch.task, request["approval_id"])
    assert (await rest.until("done")).data["status"] == "completed"
    assert (workspace / "one.txt").read_text() == "new\n"
    twice = await allow(server, request["approval_id"])
    assert (twice.status, twice.code, twice.document["state"]) == (409, "approval_decided", "consumed")


async def test_output_of_a_command_is_seen_while_it_still_runs(server: Serving, workspace: Path) -> None:
    watch = await resting(server, "stream it")
    [request] = asked(watch)
    await allow(server, request["approval_id"])
    rest = await goes_on(server, watch.task, request["approval_id"])
    said = ""
    while "first" not in said:
        said += (await rest.until("tool_call_output")).data["delta"]
    assert "second" not in said, "it waits for what nobody has done yet"
    (workspace / "go").touch()
    done = await rest.until("tool_call_finished")
    assert (done.data["ok"], done.data["result"]) == (True, "first\nsecond\n")
    await rest.until("done")


async def test_while_several_are_asked_about_whatever_needs_nobody_goes_on(server: Serving, workspace: Path) -> None:
    watch = await resting(server, "write two")
    first, second = asked(watch)
    finished = [frame.data["tool"] for frame in watch.frames if frame.event == "tool_call_finished"]
    assert finished == ["list_dir"]
    await allow(server, second["approval_id"])
    rest = await goes_on(server, watch.task, second["approval_id"])
    await rest.rest()
    assert rest.frames[-1].data == {"waiting": True}
    assert ((workspace / "b.txt").exists(), (workspace / "a.txt").exists()) == (True, False)
    still = (await ask(server, "GET", f"/v1/approvals?task_id={watch.task}&status=pending")).document
    assert [line["approval_id"] for line in still] == [first["approval_id"]]
    await ask(server, "POST", f"/v1/approvals/{first['approval_id']}/deny", {"words": "One is enough."})
    events = await ended(server, watch.task)
    assert "One is enough." in of(events, "tool_call_finished")[-1]["result"]
    assert not (workspace / "a.txt").exists()


async def test_a_person_may_allow_something_else_than_was_asked(server: Serving, workspace: Path) -> None:
    watch = await resting(server, "edit me")
    [request] = asked(watch)
    wrong = await allow(server, request["approval_id"], body={"arguments": ["no object"]})
    assert wrong.status == 422
    mine = {"path": "mine.txt", "content": "a person's\n"}
    await allow(server, request["approval_id"], body={"arguments": mine})
    started = of(await ended(server, watch.task), "tool_call_started")
    assert [each["args"] for each in started] == [mine]
    assert (workspace / "mine.txt").read_text() == "a person's\n"


async def test_edited_arguments_are_judged_as_any_others(server: Serving, workspace: Path) -> None:
    watch = await resting(server, "misuse it")
    [request] = asked(watch)
    await allow(
        server, request["approval_id"], body={"arguments": {"path": ".git/hooks/post-checkout", "content": "x"}}
    )
    [finished] = of(await ended(server, watch.task), "tool_call_finished")
    assert not finished["ok"]
    assert not (workspace / ".git").exists()


async def test_a_file_that_changes_between_the_approval_and_the_run_voids_it_and_says_so(
    server: Serving, workspace: Path
) -> None:
    watch = await resting(server, "change it")
    [request] = asked(watch)
    (workspace / "changed.txt").write_text("somebody else's\n")
    await allow(server, request["approval_id"])
    rest = await goes_on(server, watch.task, request["approval_id"])
    await rest.rest()
    voided = [frame.data for frame in rest.frames if frame.event == "approval_decided"][-1]
    assert (voided["decision"], "has changed" in voided["words"]) == ("voided", True)
    [anew] = asked(rest)
    assert "-somebody else's" in anew["shown"]
    assert anew["approval_id"] != request["approval_id"]
    late = await allow(server, request["approval_id"])
    assert (late.status, late.code) == (410, "approval_gone")
    assert (workspace / "changed.txt").read_text() == "somebody else's\n"
    await allow(server, anew["approval_id"])
    await ended(server, watch.task)
    assert (workspace / "changed.txt").read_text() == "new\n"


async def test_what_is_allowed_for_the_run_is_asked_about_once_and_the_audit_knows_by_whom(
    server: Serving, workspace: Path
) -> None:
    watch = await resting(server, "again and again")
    [request] = asked(watch)
    never = await allow(server, request["approval_id"], "allow_always")
    assert (never.status, never.code) == (422, "no_rule_possible")
    await allow(server, request["approval_id"], "allow_run")
    events = await ended(server, watch.task)
    assert len(of(events, "tool_approval_requested")) == 1
    assert (workspace / "log.txt").read_text() == "more\nmore\n"
    audit = (await ask(server, "GET", f"/v1/audit/commands?task_id={watch.task}")).document
    told = [line["payload"] for line in audit]
    assert {(each["decided_by"], each["approved"], each["approval_id"]) for each in told} == {
        ("person", True, request["approval_id"])
    }
    assert {each["workspace"] for each in told} == {str(workspace)}


async def test_a_rule_is_made_listed_followed_and_revoked(server: Serving) -> None:
    watch = await resting(server, "ruled", loop="roles")
    [request] = asked(watch)
    assert request["always"] is True
    await allow(server, request["approval_id"], "allow_always")
    await ended(server, watch.task)
    rules = (await ask(server, "GET", "/v1/rules")).document
    assert [(rule["tool"], rule["shown"]) for rule in rules] == [("shell_exec_safe", "uname -a")]
    events = await unasked(server, "ruled", loop="roles")
    assert (of(events, "tool_approval_requested"), of(events, "tool_call_finished")[0]["ok"]) == ([], True)
    [line] = (await ask(server, "GET", f"/v1/audit/commands?task_id={task_of(events)}")).document
    assert (line["payload"]["decided_by"], line["payload"]["approved"]) == ("rule", True)
    assert (await ask(server, "DELETE", f"/v1/rules/{rules[0]['id']}")).status == 204
    assert (await ask(server, "DELETE", f"/v1/rules/{rules[0]['id']}")).status == 404
    assert len(asked(await resting(server, "ruled", loop="roles"))) == 1


async def test_a_rule_can_be_written_before_anybody_asks(server: Serving) -> None:
    body = {"rule": "shell_exec_safe uname -r"}
    made = await ask(server, "POST", "/v1/rules", body)
    assert (made.status, made.document["shown"], made.document["tool"]) == (201, "uname -r", "shell_exec_safe")
    assert (await ask(server, "POST", "/v1/rules", body)).document == made.document
    assert made.document in (await ask(server, "GET", "/v1/rules")).document
    events = await unasked(server, "written rule", loop="roles")
    assert (of(events, "tool_approval_requested"), of(events, "tool_call_finished")[0]["ok"]) == ([], True)
    for rule, code in (
        ("shell_exec_safe sh -c ls", "rule_too_wide"),
        ("shell_exec_safe *", "rule_not_exact"),
        ("web_fetch example.org", "rule_not_exact"),
        ("file_write notes.txt", "rule_for_nothing"),
    ):
        refused = await ask(server, "POST", "/v1/rules", {"rule": rule})
        assert (refused.status, refused.code) == (422, code)
    assert (await ask(server, "DELETE", f"/v1/rules/{made.document['id']}")).status == 204
    assert (await ask(server, "POST", "/v1/rules", body)).document["id"] != made.document["id"]


async def test_a_question_is_answered_in_words(server: Serving) -> None:
    watch = await resting(server, "which colour")
    [request] = asked(watch)
    assert (request["status"], request["asked"]) == ("waiting_for_answer", "answer")
    assert "Which colour?" in request["shown"]
    assert (await allow(server, request["approval_id"])).code == "words_missing"
    await allow(server, request["approval_id"], body={"words": "blue"})
    [finished] = of(await ended(server, watch.task), "tool_call_finished")
    assert finished["result"] == "blue"


async def test_a_stop_calls_off_what_is_asked(server: Serving, workspace: Path) -> None:
    watch = await resting(server, "call off")
    [request] = asked(watch)
    await stop(server, watch.task)
    await ended(server, watch.task)
    late = await allow(server, request["approval_id"])
    assert (late.status, late.code) == (410, "approval_gone")
    assert not (workspace / "never.txt").exists()


async def test_what_is_forbidden_is_refused_without_asking(server: Serving) -> None:
    events = await unasked(server, "forbidden")
    assert of(events, "tool_approval_requested") == []
    [finished] = of(events, "tool_call_finished")
    assert not finished["ok"]
    assert "never done here" in finished["result"]
    [line] = (await ask(server, "GET", f"/v1/audit/commands?task_id={task_of(events)}")).document
    assert (line["payload"]["ok"], line["payload"]["risk_level"]) == (False, "forbidden")


async def test_reading_outside_the_workspace_asks(server: Serving) -> None:
    [request] = asked(await resting(server, "outside"))
    assert (request["action_type"], request["risk_level"]) == ("file_outside_workspace", "medium")


async def test_of_fifty_answers_at_once_one_counts(server: Serving, workspace: Path) -> None:
    watch = await resting(server, "cross it")
    [request] = asked(watch)
    answers = await asyncio.gather(*(allow(server, request["approval_id"]) for _ in range(50)))
    assert sorted(answer.status for answer in answers) == [200, *[409] * 49]
    events = await ended(server, watch.task)
    assert len(of(events, "tool_call_started")) == 1
    assert (workspace / "crossed.txt").exists()


async def test_an_approval_of_another_run_is_none_of_this_one(server: Serving) -> None:
    one, other = await resting(server, "elsewhere"), await resting(server, "somewhere")
    [request] = asked(one)
    await ask(server, "POST", f"/v1/approvals/{request['approval_id']}/deny")
    strange = await ask(
        server, "POST", f"/v1/tasks/{other.task}/continue/stream", {"approval_id": request["approval_id"]}
    )
    assert (strange.status, strange.code) == (404, "approval_not_found")


async def test_what_nobody_answers_in_time_expires_and_the_run_goes_on(start: Start, tmp_path: Path) -> None:
    turns = calls("late", write("late.txt"))
    server = start(*turns, environ={"QUARTERDECK_WORKSPACE": str(tmp_path), "QUARTERDECK_APPROVAL_S": "0.2"})
    events = await unasked(server, "late")
    assert [each["decision"] for each in of(events, "approval_decided")] == ["expired"]
    assert "nobody answered in time" in of(events, "tool_call_finished")[0]["result"]
    late = await allow(server, of(events, "tool_approval_requested")[0]["approval_id"])
    assert (late.status, late.code) == (410, "approval_gone")
    assert not (tmp_path / "late.txt").exists()


@pytest.mark.parametrize(("said", "lines"), [("happened", 1), ("again", 2), ("give_up", 1)])
async def test_what_became_of_a_command_that_a_crash_cut_off_is_for_a_person_to_say(
    start: Start, tmp_path: Path, said: str, lines: int
) -> None:
    command = "echo done >> effect; [ -e go ] || sleep 1000"
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    server = start(*calls("cut off", shell(command)), environ={"QUARTERDECK_WORKSPACE": str(workspace)})
    watch = await resting(server, "cut off")
    [request] = asked(watch)
    await allow(server, request["approval_id"])
    async with asyncio.timeout(BOUND_S):
        while not (workspace / "effect").exists():
            await ask(server, "GET", "/healthz")
    server.kill()
    (workspace / "go").touch()
    script(server.folder, {"content": "Done."})
    server.start()
    async with asyncio.timeout(BOUND_S):
        while not (pending := (await ask(server, "GET", "/v1/approvals/pending")).document):
            pass
    [line] = pending
    assert (line["asked"], line["args"]["command"]) == ("outcome", command)
    assert "may have happened" in line["why"]
    assert (await allow(server, line["approval_id"])).code == "wrong_answer"
    await ask(server, "POST", f"/v1/approvals/{line['approval_id']}/outcome", {"outcome": said})
    await ended(server, watch.task)
    assert (workspace / "effect").read_text() == "done\n" * lines
    audit = (await ask(server, "GET", "/v1/audit/commands/verify")).document
    assert (audit["ok"], audit["count"]) == (True, 1), json.dumps(audit)
