"""The password of sudo goes to its standard input and is found nowhere else, whatever sudo does with it."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
from toolroom import Bench, SmallRedactor, at, small_judge

from quarterdeck.adapters.tools.shell_exec_safe import ShellExecSafe
from quarterdeck.adapters.tools.toolbox import LocalToolbox
from quarterdeck.kernel.errors import ToolFailed

SHELL = "shell_exec_safe"
PASSWORD = "planted-7f3a-secret"
HEAD = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done > "$0.argv"
env > "$0.env"
prompt='' quiet=''
while [ "$1" != -- ]; do
    case "$1" in -p) prompt=$2; shift ;; -n) quiet=1 ;; esac
    shift
done
shift
"""
ASKS = f"""
[ -n "$quiet" ] && {{ echo 'sudo: a password is required' >&2; exit 1; }}
printf '%s' "$prompt" >&2
IFS= read -r answer
if [ "$answer" != '{PASSWORD}' ]; then
    printf '\\nSorry, try again.\\n%s' "$prompt" >&2
    printf '\\nsudo: no password was provided\\nsudo: 1 incorrect password attempt\\n' >&2
    exit 1
fi
"$@"
"""
DOES_NOT_ASK = 'exec "$@"\n'
REFUSES = """
printf '%s' "$prompt" >&2
IFS= read -r answer
echo "somebody is not in the sudoers file. This incident ($answer) will be reported." >&2
exit 1
"""


def stand_in(folder: Path, body: str) -> str:
    path = folder / "sudo"
    path.write_text(HEAD + body)
    path.chmod(0o755)
    return str(path)


def bench_with(tmp_path: Path, body: str, **more: Any) -> Bench:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    sudo = stand_in(tmp_path, body)
    return Bench(LocalToolbox([ShellExecSafe(small_judge, SmallRedactor, sudo=sudo, **more)]), at(workspace))


def recorded(tmp_path: Path) -> str:
    """All that the stand-in saw of itself: its arguments and its environment."""
    return (tmp_path / "sudo.argv").read_text() + (tmp_path / "sudo.env").read_text()


async def test_it_asks_shows_the_absolute_program_and_always_wants_a_password(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, ASKS)
    weighed = await bench.weigh(SHELL, command="sudo id -u 'a b'")
    assert (weighed.risk, weighed.action, weighed.effect) == ("high", "privileged", "irreversible")
    assert weighed.shown == "sudo /usr/bin/id -u 'a b'"
    assert (weighed.rule, weighed.password, weighed.command) == (None, True, "sudo id -u 'a b'")
    assert weighed.bound["lane"] == "sudo"
    assert not (tmp_path / "sudo.argv").exists(), "weighing runs nothing"


async def test_the_right_password_runs_the_command(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, ASKS)
    done = await bench.use(SHELL, command="sudo echo done 'a  b' $(x)", password=PASSWORD)
    assert (done.ok, done.exit_status, done.text) == (True, 0, "done a  b $(x)")
    argv = (tmp_path / "sudo.argv").read_text().splitlines()
    prompt = argv[3]
    assert argv == [
        *("-k", "-S", "-p", prompt, "--", "/bin/sh", "-c", 'exec "$@" < /dev/null', "sh"),
        *("/usr/bin/echo", "done", "a  b", "$(x)"),
    ]
    assert len(prompt) >= 32
    assert prompt not in done.text + "".join(bench.said)
    await bench.use(SHELL, command="sudo echo done", password=PASSWORD)
    assert (tmp_path / "sudo.argv").read_text().splitlines()[3] != prompt, "each prompt is new"


async def test_its_environment_is_ours_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "x")
    await bench_with(tmp_path, ASKS).use(SHELL, command="sudo true", password=PASSWORD)
    names = {line.partition("=")[0] for line in (tmp_path / "sudo.env").read_text().splitlines()}
    assert names - {"PWD", "_", "SHLVL", "OLDPWD"} == {"PATH", "HOME", "LANG", "TERM", "TMPDIR"}


async def test_a_wrong_password_is_said_clearly(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, ASKS)
    done = await bench.use(SHELL, command="sudo touch effect", password="wrong-password-1")
    assert not done.ok
    assert done.text == "sudo did not accept the password; nothing was run."
    assert not Path(bench.site.workspace, "effect").exists()
    assert "wrong-password-1" not in recorded(tmp_path) + "".join(bench.said)


async def test_a_sudo_that_does_not_ask_cannot_hand_the_password_on(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, DOES_NOT_ASK)
    done = await bench.use(SHELL, command="sudo cat", password=PASSWORD)
    assert (done.ok, done.text) == (True, "(it said nothing)")
    done = await bench.use(
        SHELL, command="sudo sh -c 'cat; cat /dev/stdin; cat /proc/self/fd/0; env'", password=PASSWORD
    )
    assert PASSWORD not in done.text


async def test_a_sudo_that_refuses_says_why_without_the_password(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, REFUSES)
    done = await bench.use(SHELL, command="sudo touch effect", password=PASSWORD)
    assert not done.ok
    assert done.text == (
        "somebody is not in the sudoers file. This incident ([redacted]) will be reported.\n[exit status 1]"
    )
    assert not Path(bench.site.workspace, "effect").exists()


async def test_the_password_is_in_no_process_list_and_no_environment_while_it_runs(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, ASKS)
    look = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ > dump 2> /dev/null; echo looked; env"
    done = await bench.use(SHELL, command=f"sudo sh -c '{look}'", password=PASSWORD)
    assert done.text.startswith("looked")
    dump = Path(bench.site.workspace, "dump").read_bytes()
    assert b"QD-" in dump, "the look saw sudo itself"
    for place in (dump.decode("utf-8", "replace"), recorded(tmp_path), done.text, "".join(bench.said), repr(done)):
        assert PASSWORD not in place


async def test_the_password_is_taken_out_of_what_is_said(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, ASKS)
    done = await bench.use(SHELL, command=f"sudo echo it is {PASSWORD} indeed", password=PASSWORD)
    assert done.text == "it is [redacted] indeed" == "".join(bench.said)


async def test_no_error_carries_the_password(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bench = bench_with(tmp_path, 'sleep 1000 & echo $$ $! > "$0.pids"; wait\n')
    deed = await bench.deed(SHELL, command="sudo true", password=PASSWORD, timeout_s=1)
    assert PASSWORD not in repr(deed)
    done = await bench.do(deed)
    assert not done.ok
    assert "longer than 1 seconds" in done.text
    assert wait_until_gone([int(pid) for pid in (tmp_path / "sudo.pids").read_text().split()])
    missing = Bench(LocalToolbox([ShellExecSafe(small_judge, SmallRedactor, sudo="/nonexistent")]), bench.site)
    done = await missing.use(SHELL, command="sudo true", password=PASSWORD)
    assert not done.ok
    assert "/nonexistent could not be started" in done.text
    for bad in (f"{PASSWORD}\nrm", f"{PASSWORD}\0", "\ud800" + PASSWORD, ""):
        with pytest.raises(ToolFailed) as failed:
            await bench.use(SHELL, command="sudo true", password=bad)
        assert PASSWORD not in "".join(traceback.format_exception(failed.value))
        assert failed.value.__cause__ is None
    assert PASSWORD not in caplog.text


async def test_without_a_password_nothing_is_run(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, DOES_NOT_ASK)
    assert "needs a password" in await bench.fails(SHELL, command="sudo touch effect")
    assert not (tmp_path / "sudo.argv").exists()


@pytest.mark.parametrize(
    "host", [socket.gethostname(), socket.gethostname().upper(), socket.gethostname().split(".")[0]]
)
async def test_on_a_host_that_needs_none_no_password_is_asked_for(tmp_path: Path, host: str) -> None:
    bench = bench_with(tmp_path, DOES_NOT_ASK, no_password_hosts=("elsewhere", host))
    assert not (await bench.weigh(SHELL, command="sudo echo hi")).password
    done = await bench.use(SHELL, command="sudo echo hi", password=PASSWORD)
    assert done.text == "hi"
    assert (tmp_path / "sudo.argv").read_text().splitlines()[:2] == ["-k", "-n"]
    assert (await bench_with_other(tmp_path).weigh(SHELL, command="sudo echo hi")).password


def bench_with_other(tmp_path: Path) -> Bench:
    shell = ShellExecSafe(small_judge, SmallRedactor, sudo=str(tmp_path / "sudo"), no_password_hosts=("elsewhere",))
    return Bench(LocalToolbox([shell]), at(tmp_path))


async def test_on_a_host_that_needs_none_a_sudo_that_asks_fails_at_once(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, ASKS, no_password_hosts=(socket.gethostname(),))
    done = await bench.use(SHELL, command="sudo touch effect")
    assert (done.ok, done.text) == (False, "sudo did not accept the password; nothing was run.")


@pytest.mark.parametrize("word", ["./x", "/tmp/x", "sub/x", "/bin/../tmp/x"])
async def test_no_program_outside_the_folders_of_the_system_becomes_root(tmp_path: Path, word: str) -> None:
    bench = bench_with(tmp_path, DOES_NOT_ASK)
    assert "no program in the folders of the system" in await bench.fails(SHELL, command=f"sudo {word}")


async def test_a_script_that_changed_since_is_not_run_as_root(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, DOES_NOT_ASK)
    script = Path(bench.site.workspace, "x.sh")
    script.write_text("echo one")
    deed = await bench.deed(SHELL, command="sudo sh x.sh", password=PASSWORD)
    script.write_text("echo two")
    with pytest.raises(ToolFailed, match=r"script x\.sh changed"):
        await bench.do(deed)


async def test_cancelling_ends_sudo_and_what_it_started(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, '"$@"\nexit $?\n')
    pids = Path(bench.site.workspace, "pids")
    command = "sudo sh -c 'sleep 7654321 & echo $$ $! > pids.new; mv pids.new pids; wait'"
    running = asyncio.create_task(bench.use(SHELL, command=command, password=PASSWORD))
    async with asyncio.timeout(20):
        while not pids.exists():
            assert not running.done()
            await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert wait_until_gone([int(pid) for pid in pids.read_text().split()])


async def test_it_is_the_old_names_subprocess_that_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, dict[str, Any]]] = []

    class Completed:
        returncode = 0
        stdout = "updated\n"
        stderr = ""

    def run(command: Any, **more: Any) -> Completed:
        calls.append((command, more))
        return Completed()

    monkeypatch.setattr("duck_core.tools.shell_exec_safe.subprocess.run", run)
    bench = Bench(LocalToolbox([ShellExecSafe(small_judge, SmallRedactor)]), at(tmp_path))
    (tmp_path / "f").write_text("text")
    await bench.weigh(SHELL, command="cat f")
    await bench.use(SHELL, command="uname -a")
    done = await bench.use(SHELL, command="sudo apt update", password="secret")
    assert (done.ok, done.text) == (True, "updated")
    assert len(calls) == 1, "nothing else goes that way"
    assert calls[0][1]["input"] == "secret\n"
    assert calls[0][0][0] == "/usr/bin/sudo"
    assert "secret" not in " ".join(calls[0][0])
    assert "secret" not in str(calls[0][1]["env"])
    assert subprocess.run is run


def wait_until_gone(pids: list[int], bound_s: float = 20) -> bool:
    until = time.monotonic() + bound_s
    while time.monotonic() < until:
        if not any(_lives(pid) for pid in pids):
            return True
        threading.Event().wait(0.02)
    return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
