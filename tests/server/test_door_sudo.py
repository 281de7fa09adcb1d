"""The sudo lane over HTTP: allowed once, then a password, which is found nowhere afterwards, whatever sudo does."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest
from door_client import Answer, Watch, ask, attach, chat
from door_serving import BOUND_S, Start

PASSWORD = "pl4nted-Öl/7f3a+secret"
COMMAND = "sudo cat"
HEAD = """#!/bin/sh
prompt='' quiet=''
while [ "$1" != -- ]; do
    case "$1" in -p) prompt=$2; shift ;; -n) quiet=1 ;; esac
    shift
done
shift
"""
WAITS = """
touch "$0.running"
while [ ! -e "$0.go" ]; do sleep 0.02; done
"""
ASKS = f"""
[ -n "$quiet" ] && {{ echo 'sudo: a password is required' >&2; exit 1; }}
printf '%s' "$prompt" >&2
IFS= read -r answer
{WAITS}
[ "$answer" = '{PASSWORD}' ] || {{ echo "Sorry, $answer is wrong." >&2; exit 1; }}
echo "a careless program says $answer"
"$@"
"""
DOES_NOT_ASK = f"""
{WAITS}
"$@"
"""
REFUSES = f"""
printf '%s' "$prompt" >&2
IFS= read -r answer
{WAITS}
echo "somebody is not in the sudoers file. This incident ($answer) will be reported." >&2
exit 1
"""
KINDS = {"asks": ASKS, "does not ask": DOES_NOT_ASK, "refuses": REFUSES}


class Room:
    """A server whose sudo is a stand-in."""

    def __init__(self, start: Start, folder: Path, body: str) -> None:
        self.sudo = folder / "stand-in"
        self.sudo.write_text(HEAD + body)
        self.sudo.chmod(0o755)
        self.data = folder / "data"
        self.data.mkdir()
        workspace = folder / "workspace"
        workspace.mkdir()
        call = {"id": "c1", "name": "shell_exec_safe", "arguments": {"command": COMMAND}}
        turns: list[dict[str, Any]] = [{"calls": [call]}, {"content": "Done."}]
        constants = {"adapters.tools.shell_exec_safe.SUDO": str(self.sudo)}
        environ = {"QUARTERDECK_WORKSPACE": str(workspace)}
        self.server = start(*turns, folder=self.data, environ=environ, constants=constants)
        self.answers: list[bytes] = []

    async def ask(self, method: str, path: str, body: object = None) -> Answer:
        answer = await ask(self.server, method, path, body)
        self.answers.append(answer.body)
        return answer

    async def allowed(self) -> tuple[str, str]:
        """A run whose command was allowed and that waits for the password: its id, and the approval's."""
        watch = await chat(self.server, "Who is root?", loop="native")
        request = (await watch.until("tool_approval_requested")).data
        assert (request["action_type"], request["shown"]) == ("privileged", "sudo /usr/bin/cat")
        await watch.rest()
        approval = request["approval_id"]
        early = await self.ask("POST", f"/v1/tasks/{watch.task}/password/stream", self.password(approval))
        assert (early.status, early.code) == (409, "password_not_wanted")
        assert (await self.ask("POST", f"/v1/approvals/{approval}/allow_run")).code == "only_once"
        assert (await self.ask("POST", f"/v1/approvals/{approval}/allow_always")).code == "no_rule_possible"
        await self.ask("POST", f"/v1/approvals/{approval}/allow_once")
        await self.waits(watch.task, 1)
        return watch.task, approval

    async def waits(self, task: str, times: int) -> None:
        """Until it has asked for the password so many times and rests."""
        watch = await attach(self.server, task)
        async with asyncio.timeout(BOUND_S):
            for _ in range(times):
                frame = await watch.until("tool_password_requested")
            while (status := await watch.until("runtime_status")).data["stage"] != "waiting_for_password":
                pass
        assert (frame.data["status"], status.data["stage"]) == ("waiting_for_password", "waiting_for_password")
        watch.close()

    def password(self, approval: str, password: str = PASSWORD) -> dict[str, str]:
        return {"approval_id": approval, "password": password}

    async def given(self, task: str, approval: str, password: str = PASSWORD) -> Watch:
        path = f"/v1/tasks/{task}/password/stream"
        watch = await Watch.open(self.server, "POST", path, self.password(approval, password))
        assert watch.status == 200, await watch.connection.remainder()
        return watch

    async def running(self) -> None:
        async with asyncio.timeout(BOUND_S):
            while not Path(f"{self.sudo}.running").exists():
                await ask(self.server, "GET", "/healthz")

    def let_go(self) -> None:
        Path(f"{self.sudo}.go").touch()


def forms(secret: str) -> list[bytes]:
    raw = secret.encode()
    written = (raw, raw.hex().encode(), base64.b64encode(raw)[:-4], quote(secret, safe="").encode())
    return [*written, raw[::-1], secret.encode("utf-16-le"), secret.encode("unicode_escape")]


def processes() -> Iterator[bytes]:
    """What anybody on this machine may read of what runs: arguments and environments."""
    for process in psutil.process_iter():
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):  # it has ended
                yield Path(f"/proc/{process.pid}/{name}").read_bytes()


def found(secret: str, texts: Iterator[bytes]) -> list[bytes]:
    return [form for text in texts for form in forms(secret) if form in text]


def written(room: Room) -> Iterator[bytes]:
    """Every byte that is left: the database and its journal, what was logged and what was answered."""
    yield from (path.read_bytes() for path in room.data.rglob("*") if path.is_file())
    yield "".join(room.server.log).encode()
    yield from room.answers


@pytest.mark.parametrize("kind", KINDS)
async def test_a_password_is_found_nowhere_afterwards(start: Start, tmp_path: Path, kind: str) -> None:
    room = Room(start, tmp_path, KINDS[kind])
    task, approval = await room.allowed()
    watch = await room.given(task, approval)
    await room.running()
    assert found(PASSWORD, processes()) == []
    room.let_go()
    await watch.rest()
    room.answers.append(bytes(watch.raw))
    [finished] = [frame.data for frame in watch.frames if frame.event == "tool_call_finished"]
    assert finished["ok"] is (kind != "refuses")
    if kind == "asks":
        assert finished["result"].strip() == "a careless program says [redacted]"
    if kind == "does not ask":
        assert finished["result"] == "(it said nothing)", "the command itself has nothing to read"
    again = await room.ask("POST", f"/v1/tasks/{task}/password/stream", room.password(approval))
    assert (again.status, again.code) == (409, "password_not_wanted")
    pages = ("events", "interventions", "")
    for path in (*(f"/v1/tasks/{task}/{page}".rstrip("/") for page in pages), "/v1/audit/commands", "/v1/approvals"):
        assert (await room.ask("GET", path)).status == 200
    await room.ask("GET", "/v1/audit/commands/export")
    room.server.stop()
    assert found(PASSWORD, written(room)) == []
    assert found(COMMAND, written(room)) != [], "the search itself finds what is there"


async def test_a_wrong_password_is_said_and_is_not_tried_again(start: Start, tmp_path: Path) -> None:
    room = Room(start, tmp_path, ASKS)
    room.let_go()
    task, approval = await room.allowed()
    watch = await room.given(task, approval, "another-one-3c1")
    await watch.rest()
    [finished] = [frame.data for frame in watch.frames if frame.event == "tool_call_finished"]
    assert not finished["ok"]
    assert watch.frames[-1].data == {}, "the run goes on without it"
    room.server.stop()
    assert found("another-one-3c1", written(room)) == []


async def test_a_password_that_was_lost_with_its_server_is_asked_for_again(start: Start, tmp_path: Path) -> None:
    """kill -9 while the command waits for it, and while the command runs: it must be typed again, by somebody."""
    room = Room(start, tmp_path, ASKS)
    task, approval = await room.allowed()
    room.server.kill()
    room.server.start()
    watch = await room.given(task, approval)
    await room.running()
    room.server.kill()
    room.let_go()
    room.server.start()
    async with asyncio.timeout(BOUND_S):
        while not (pending := (await room.ask("GET", "/v1/approvals/pending")).document):
            pass
    assert (pending[0]["asked"], pending[0]["waiting_for_password"]) == ("outcome", False)
    anew = pending[0]["approval_id"]
    await room.ask("POST", f"/v1/approvals/{anew}/outcome", {"outcome": "again"})
    await room.waits(task, 2)
    watch = await room.given(task, anew)
    frame = await watch.until("tool_call_finished")
    assert frame.data["ok"]
    watch.close()
    room.server.stop()
    assert found(PASSWORD, written(room)) == []


async def test_what_is_no_password_is_refused_without_being_told_back(start: Start, tmp_path: Path) -> None:
    room = Room(start, tmp_path, ASKS)
    task, approval = await room.allowed()
    for password in (
        "",
        "two\nlines-refused-4c71",
        "nul\0-refused-4c71",
        "long-refused-4c71" * 200,
        ["list-refused-4c71"],
        None,
    ):
        body = {"approval_id": approval, "password": password}
        answer = await room.ask("POST", f"/v1/tasks/{task}/password/stream", body)
        assert answer.status in {400, 422}
        assert b"refused-4c71" not in answer.body
    room.let_go()
    watch = await room.given(task, approval)
    await watch.until("done")
    room.server.stop()
    assert found("refused-4c71", written(room)) == []
