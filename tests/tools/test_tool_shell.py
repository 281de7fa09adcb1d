"""Commands run in their lane, are heard as they speak, and leave nothing running, however they end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
import uvloop
from toolroom import Bench, SmallRedactor, at, confined, small_judge, works_here

from quarterdeck.adapters.tools import process
from quarterdeck.adapters.tools.programs import FOLDERS, program, scripts
from quarterdeck.adapters.tools.sandbox import Sandbox
from quarterdeck.adapters.tools.shell_exec_safe import ShellExecSafe
from quarterdeck.adapters.tools.toolbox import LocalToolbox
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.ports import Done

SHELL = "shell_exec_safe"
NONE = Sandbox(None)


def shell(workspace: Path, sandbox: Sandbox | None = None, **more: object) -> Bench:
    return Bench(LocalToolbox([ShellExecSafe(small_judge, SmallRedactor, sandbox=sandbox, **more)]), at(workspace))


@pytest.fixture(params=["sandbox", "plain"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """With bubblewrap and without: what holds for both."""
    if request.param == "sandbox" and not works_here():
        pytest.skip("bubblewrap is absent or cannot confine here")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return shell(workspace, None if request.param == "sandbox" else NONE)


def there(bench: Bench, name: str = "") -> Path:
    return Path(bench.site.workspace, name)


# What a command is weighed as


async def test_a_known_query_runs_as_it_is(tmp_path: Path) -> None:
    bench = shell(tmp_path)
    weighed = await bench.weigh(SHELL, command="uname -a")
    assert (weighed.risk, weighed.action, weighed.effect) == ("low", "system_info", "pure")
    assert (weighed.command, weighed.shown, weighed.password) == ("uname -a", "uname -a", False)
    done = await bench.use(SHELL, command="uname -a")
    assert done.ok
    assert done.text.startswith("Linux")
    assert "".join(bench.said) == done.text
    assert done.digest == sha256(done.text.encode()).hexdigest()


async def test_what_is_forbidden_is_refused_whoever_asks(tmp_path: Path) -> None:
    bench = shell(tmp_path)
    weighed = await bench.weigh(SHELL, command="rm -rf /")
    assert weighed.risk == "forbidden"
    assert "It destroys the machine" in await bench.fails(SHELL, command="rm -rf /")
    forged = replace(await bench.deed(SHELL, command="rm -rf /"), weighed=replace(weighed, risk="low"))
    with pytest.raises(ToolFailed, match="refused"):
        await bench.do(forged)


async def test_without_a_sandbox_nothing_that_was_meant_for_it_runs_unasked(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    for sandbox in (NONE, Sandbox("/nonexistent/bwrap"), Sandbox("/bin/true")):
        bench = shell(tmp_path, sandbox)
        for command in ("cat f", "echo x | cat"):
            weighed = await bench.weigh(SHELL, command=command)
            assert weighed.risk == "medium"
            assert weighed.why.endswith("There is no sandbox here to hold it.")
            assert weighed.bound["lane"] == "plain"
            assert weighed.rule is None
        assert (await bench.use(SHELL, command="cat f")).text == "text"


@confined()
async def test_with_a_sandbox_a_reading_command_just_runs(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("text")
    bench = shell(tmp_path)
    weighed = await bench.weigh(SHELL, command="cat f")
    assert (weighed.risk, weighed.action, weighed.effect) == ("low", "file_read", "pure")
    assert weighed.bound["lane"] == "read-only"
    assert (await bench.use(SHELL, command="cat f")).text == "text"


async def test_a_reading_command_whose_path_leads_out_by_a_link_asks(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "secret").write_text("the secret")
    (workspace / "link").symlink_to("../secret")
    bench = shell(workspace)
    deed = await bench.deed(SHELL, command="cat link")
    assert (deed.weighed.risk, deed.weighed.action) == ("medium", "file_outside_workspace")
    assert str(tmp_path / "secret") in deed.weighed.why
    assert (await bench.do(deed)).text == "the secret"
    (workspace / "link").unlink()
    (workspace / "link").symlink_to("/etc/hostname")
    with pytest.raises(ToolFailed, match="changed since this was asked about"):
        await bench.do(deed)


@confined()
async def test_a_link_planted_after_the_weighing_shows_nothing_that_is_outside(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "secret").write_text("the secret")
    (workspace / "f").write_text("fine")
    bench = shell(workspace)
    deed = await bench.deed(SHELL, command="cat f")
    assert deed.weighed.risk == "low"
    (workspace / "f").unlink()
    (workspace / "f").symlink_to("../secret")
    with pytest.raises(ToolFailed, match="changed since"):
        await bench.do(deed)


async def test_the_rule_is_what_the_policy_says_may_be_remembered(tmp_path: Path) -> None:
    bench = shell(tmp_path, remember=lambda judged: " ".join(judged.argv))
    assert (await bench.weigh(SHELL, command="uname -a")).rule == "uname -a"
    assert (await bench.weigh(SHELL, command="sudo id")).rule is None
    assert (await shell(tmp_path, NONE, remember=lambda judged: "x").weigh(SHELL, command="make")).rule is None


# What it hangs on


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("sh x.sh", {"x.sh"}),
        ("./x.sh a b", {"x.sh"}),
        ("sub/../x.sh", {"x.sh"}),
        ("ABSOLUTE/x.sh", {"x.sh"}),
        ("python3 -u x.py --flag", {"x.py"}),
        ("make", {"Makefile"}),
        ("make -f other.mk all", {"Makefile", "other.mk"}),
        ("A=1 env B=2 nice -n 5 sh x.sh", {"x.sh"}),
        ("true && (sh x.sh; ./sub/y)", {"x.sh", "sub/y"}),
        ("cd sub && ./y", {"sub/y"}),
        ("sh -c './x.sh; python3 x.py'", {"x.sh", "x.py"}),
        (". ./x.sh", {"x.sh"}),
        ("true\nsh x.sh", {"x.sh"}),
        ("sh 'x.sh", {"x.sh"}),
        ("sudo sh x.sh", {"x.sh"}),
        ("cat x.sh", set()),
        ("sh link", set()),
        ("sh missing.sh", set()),
    ],
)
def test_the_scripts_that_a_command_names_are_found(tmp_path: Path, command: str, names: set[str]) -> None:
    (tmp_path / "w" / "sub").mkdir(parents=True)
    for name in ("x.sh", "x.py", "Makefile", "other.mk", "sub/y"):
        (tmp_path / "w" / name).write_text(f"# {name}")
    (tmp_path / "outside.sh").write_text("x")
    (tmp_path / "w" / "link").symlink_to("../outside.sh")
    if command == "sh 'x.sh":
        command = "sh x.sh 'open"
    found = scripts(command.replace("ABSOLUTE", str(tmp_path / "w")), str(tmp_path / "w"))
    assert {name.removeprefix("script ") for name in found} == names


async def test_a_script_that_changed_since_is_not_run_and_it_says_so(bench: Bench) -> None:
    there(bench, "x.sh").write_text("echo one")
    deed = await bench.deed(SHELL, command="sh x.sh")
    assert (await bench.do(deed)).text == "one\n"
    there(bench, "x.sh").write_text("echo two > effect")
    with pytest.raises(ToolFailed, match=r"^The script x.sh changed since this was asked about, so nothing was run"):
        await bench.do(deed)
    assert not there(bench, "effect").exists()


async def test_a_workspace_that_was_swapped_since_is_not_run_in(bench: Bench) -> None:
    deed = await bench.deed(SHELL, command="echo x > effect")
    there(bench).rename(f"{bench.site.workspace}.old")
    there(bench).mkdir()
    with pytest.raises(ToolFailed, match="folder identity changed"):
        await bench.do(deed)
    assert not there(bench, "effect").exists()
    await bench.use(SHELL, command="echo x > effect")
    assert there(bench, "effect").read_text() == "x\n"


async def test_a_sandbox_that_is_gone_since_voids_what_was_allowed_with_it(tmp_path: Path) -> None:
    asked, later = shell(tmp_path, NONE), shell(tmp_path, NONE)
    deed = await asked.deed(SHELL, command="echo x > effect")
    confined_then = replace(deed, weighed=replace(deed.weighed, bound={**deed.weighed.bound, "lane": "confined"}))
    with pytest.raises(ToolFailed, match="lane changed"):
        await later.do(confined_then)
    assert not (tmp_path / "effect").exists()


# What it is given


async def test_its_environment_is_ours_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_SECRET", "x")
    monkeypatch.setenv("LD_PRELOAD", "")
    said = (await bench.use(SHELL, command="env")).text
    names = {line.partition("=")[0] for line in said.splitlines()} - {"PWD", "SHLVL", "_", "OLDPWD"}
    assert names == {"PATH", "HOME", "LANG", "TERM", "TMPDIR"}


async def test_it_has_nothing_to_read_and_no_terminal(bench: Bench) -> None:
    assert (await bench.use(SHELL, command="wc -c; test -t 0 || echo no terminal")).text == "0\nno terminal\n"


def test_a_program_is_the_systems_own_or_none(tmp_path: Path) -> None:
    assert program("sh") in {f"{folder}/sh" for folder in FOLDERS}
    assert program("/bin/sh") == "/bin/sh"
    planted = tmp_path / "uname"
    planted.write_text("#!/bin/sh\necho planted")
    planted.chmod(0o755)
    for word in (str(planted), "./uname", "../bin/sh", "nonesuch-program", "/bin/../bin/sh", ""):
        assert program(word) is None


async def test_a_program_that_is_not_there_says_so_as_a_shell_would(tmp_path: Path) -> None:
    def judge(command: str) -> object:
        return replace(small_judge("uname -a"), argv=("nonesuch-program",))

    bench = Bench(LocalToolbox([ShellExecSafe(judge, SmallRedactor)]), at(tmp_path))  # type: ignore[arg-type]
    done = await bench.use(SHELL, command="nonesuch-program")
    assert (done.ok, done.exit_status) == (False, 127)
    assert "cannot be executed" in done.text


# What it says


async def test_its_exit_status_and_its_errors_are_told(bench: Bench) -> None:
    done = await bench.use(SHELL, command="echo out; echo err >&2; exit 3")
    assert (done.ok, done.exit_status) == (False, 3)
    assert done.text == "out\nerr\n[exit status 3]"
    assert (await bench.use(SHELL, command="true")).text == "(it said nothing)"


async def test_what_it_says_is_heard_as_it_comes(bench: Bench) -> None:
    """It waits for an answer that comes only when its first words were heard."""
    heard = asyncio.Event()
    deed = await bench.deed(SHELL, command="echo first; while test ! -e go; do sleep 0.01; done; echo second")

    def say(text: str) -> None:
        bench.said.append(text)
        heard.set()

    running = asyncio.create_task(bench.box.use(deed, say))
    async with asyncio.timeout(20):
        await heard.wait()
        assert bench.said == ["first\n"]
        there(bench, "go").touch()
        done = await running
    assert done.text == "first\nsecond\n" == "".join(bench.said)


async def test_text_and_secrets_in_pieces_are_put_together(tmp_path: Path) -> None:
    """Characters and secrets that come in two halves."""
    redacting: Callable[[tuple[str, ...]], SmallRedactor] = lambda _: SmallRedactor(("hunter2",))  # noqa: E731
    bench = Bench(LocalToolbox([ShellExecSafe(small_judge, redacting, sandbox=NONE)]), at(tmp_path))
    halves = r"printf '\320'; sleep 0.05; printf '\264 hun'; sleep 0.05; printf 'ter2 \377 end'"
    done = await bench.use(SHELL, command=halves)
    assert done.text == "д [redacted] \ufffd end" == "".join(bench.said)


async def test_much_output_keeps_its_beginning_and_its_end(bench: Bench) -> None:
    done = await bench.use(SHELL, command="seq 1 200000; echo the end")
    whole = "".join(f"{number}\n" for number in range(1, 200001)) + "the end\n"
    assert len(done.text) < 64 << 10
    assert done.text.startswith("1\n2\n3\n")
    assert done.text.endswith("200000\nthe end\n")
    head, _, tail = done.text.partition("\n… ")
    count, _, tail = tail.partition(" more characters …\n")
    assert len(head) + int(count.replace(",", "")) + len(tail) == len(whole)
    assert done.digest == sha256(whole.encode()).hexdigest()
    assert "".join(bench.said) == done.text


async def test_endless_output_is_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MOST_OUTPUT", 4 << 20)
    done = await bench.use(SHELL, command="yes")
    assert not done.ok
    assert done.text.endswith("[ended: it said more than 4,194,304 bytes]")


# How it ends


async def test_a_command_that_takes_too_long_is_ended_with_all_it_started(bench: Bench) -> None:
    done = await bench.use(SHELL, command=f"{spawn_and_tell()}; sleep 1000", timeout_s=1)
    assert not done.ok
    assert done.exit_status is None
    assert "[ended: it took longer than 1 seconds]" in done.text
    assert_gone(bench)


async def test_what_it_left_running_is_ended_with_it(bench: Bench) -> None:
    done = await bench.use(SHELL, command=spawn_and_tell())
    assert done.ok
    assert_gone(bench)


async def test_a_command_that_hides_in_a_session_of_its_own_is_ended_too(bench: Bench) -> None:
    await bench.use(SHELL, command="setsid -f sh -c 'setsid -f sleep 1234567'; sleep 0.1; setsid sleep 1234567 &")
    assert_gone(bench)


async def test_cancelling_ends_it_and_all_it_started_before_it_returns(bench: Bench) -> None:
    deed = await bench.deed(SHELL, command=f"{spawn_and_tell()}; echo ready; sleep 1000")
    ready = asyncio.Event()
    running = asyncio.create_task(bench.box.use(deed, lambda text: ready.set()))
    async with asyncio.timeout(20):
        await ready.wait()
        assert wait_until(lambda: count_of_sleepers(bench) > 0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert_gone(bench)


async def test_a_command_that_closes_its_output_is_waited_for(bench: Bench) -> None:
    done = await bench.use(SHELL, command="exec >&- 2>&-; sleep 0.3; touch effect")
    assert done.ok
    assert there(bench, "effect").exists()


@pytest.mark.parametrize("loops", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_any_event_loop_in_any_thread_will_do(bench: Bench, loops: Callable[[], asyncio.AbstractEventLoop]) -> None:
    done: list[Done] = []

    def live() -> None:
        with asyncio.Runner(loop_factory=loops) as runner:
            done.extend(runner.run(several()))

    async def several() -> list[Done]:
        return await asyncio.gather(*(bench.use(SHELL, command=f"echo {number}; exit {number}") for number in range(8)))

    threads = [threading.Thread(target=live) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(each.exit_status or 0 for each in done) == sorted(list(range(8)) * 3)


@pytest.mark.parametrize("loops", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_is_closed_in_the_middle_ends_the_command(
    bench: Bench, loops: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    loop = loops()
    ready = loop.create_future()
    command = f"{spawn_and_tell()}; echo ready; sleep 1000"
    deed = loop.run_until_complete(bench.deed(SHELL, command=command))
    task = loop.create_task(bench.box.use(deed, lambda text: ready.done() or ready.set_result(None)))
    loop.run_until_complete(ready)
    assert wait_until(lambda: count_of_sleepers(bench) > 0)
    loop.close()
    assert wait_until(lambda: count_of_sleepers(bench) == 0)
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_when_the_server_is_killed_its_commands_die_too(bench: Bench) -> None:
    sandbox = "None" if bench.box._tools[SHELL]._sandbox.works() else "Sandbox(None)"  # type: ignore[attr-defined]
    script = textwrap.dedent(
        f"""
        import asyncio, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from pathlib import Path
        from test_tool_shell import SHELL, shell
        from quarterdeck.adapters.tools.sandbox import Sandbox
        bench = shell(Path({bench.site.workspace!r}), {sandbox})
        async def main():
            deed = await bench.deed(SHELL, command={spawn_and_tell() + "; echo ready; sleep 1000"!r})
            await bench.box.use(deed, lambda text: print(text, flush=True))
        asyncio.run(main())
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        assert wait_until(lambda: count_of_sleepers(bench) > 0)
        server.send_signal(signal.SIGKILL)
    assert wait_until(lambda: count_of_sleepers(bench) == 0)


async def test_a_keeper_that_is_killed_takes_the_command_with_it(bench: Bench) -> None:
    deed = await bench.deed(SHELL, command="echo ready; exec sleep 1234567")
    ready = asyncio.Event()
    running = asyncio.create_task(bench.box.use(deed, lambda text: ready.set()))
    async with asyncio.timeout(20):
        await ready.wait()
        [keeper] = processes_of(bench, "keeper.py")
        os.kill(keeper, signal.SIGKILL)
        done = await running
    assert not done.ok
    assert wait_until(lambda: not processes_of(bench, "1234567"))


def spawn_and_tell() -> str:
    """Two children that would live on: one in the background, one that forgot its parent."""
    return "sleep 1234567 & (sleep 1234567 &)"


def processes_of(bench: Bench, word: str) -> list[int]:
    """Processes with this word among their arguments that we, or our children, started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            state = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
            place = os.readlink(entry / "cwd")
        except OSError:
            continue
        mine = bench.site.workspace in (place, *words) or place.endswith(Path(bench.site.workspace).name)
        if state != "Z" and mine and any(each.endswith(word) for each in words):
            found.append(int(entry.name))
    return found


def count_of_sleepers(bench: Bench) -> int:
    return len(processes_of(bench, "1234567"))


def assert_gone(bench: Bench) -> None:
    assert count_of_sleepers(bench) == 0


def wait_until(true: Callable[[], bool], bound_s: float = 20) -> bool:
    until = time.monotonic() + bound_s
    while time.monotonic() < until:
        if true():
            return True
        threading.Event().wait(0.02)
    return False
