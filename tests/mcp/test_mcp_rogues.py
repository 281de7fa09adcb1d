"""Servers that misbehave over their pipes: a run is told in words, other servers go on, and nothing is left behind."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import uvloop
from mcp_stage import HERE, box_of, deed_of, is_alive, open_box_of, pid_in, program, tool_of, traced, until, use

from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.settings import SURROUNDINGS


def rogue(*modes: str, trace: Path | None = None, **options: Any) -> ServerConfig:
    env = {"PEER_TRACE": str(trace)} if trace else {}
    return program("mcp_rogue.py", *modes, env=env | options.pop("env", {}), **options)


@pytest.mark.parametrize("modes", [(), ("legacy",), ("garbage",), ("ids",), ("complains",), ("legacy", "mute")])
async def test_a_call_is_answered_in_spite_of_noise(modes: tuple[str, ...]) -> None:
    async with box_of(rogue(*modes, connect_s=4)) as box:
        done = await use(box, "poke")
        assert (done.text, done.ok) == ("poked", True)
        (report,) = await box.describe()
        assert report.version == ("2024-11-05" if "legacy" in modes else "2026-07-28")


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("dies", r"it ended, and its last words were: out of poke; whether the call was carried out is not known"),
        ("endless", r"it wrote a line of more than 4 MiB"),
        ("chatter", r"it wrote 16 MiB that answer nothing"),
        ("shapeless", r"in a form that is not MCP"),
        ("stranger", r"in a form that is not MCP"),
        ("hangs", r"took more than 1 s and was cancelled"),
    ],
)
async def test_a_call_that_comes_to_nothing_says_why(mode: str, words: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with box_of(rogue(mode, trace=trace, timeout_s=1 if mode == "hangs" else 30)) as box:
        with pytest.raises(ToolFailed, match=words):
            await use(box, "poke")
        if mode in ("dies", "endless", "chatter"):
            await until(lambda: not is_alive(pid_in(trace)))
        if mode == "hangs":
            await until(lambda: any("notifications/cancelled" in line for line in traced(trace)))


async def test_a_server_that_died_is_started_again_for_the_next_call(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with box_of(rogue(trace=trace)) as box:
        assert (await use(box, "poke")).ok
        sitter = psutil.Process(pid_in(trace)).ppid()
        os.kill(pid_in(trace), signal.SIGKILL)
        await until(lambda: not psutil.pid_exists(sitter))
        trace.unlink()
        assert (await use(box, "poke")).ok
        assert is_alive(pid_in(trace))


async def test_a_server_that_dies_at_every_call_is_given_a_rest(tmp_path: Path) -> None:
    async with box_of(rogue("dies")) as box:
        tool = await tool_of(box, "poke")
        deed = await deed_of(tool)
        said = []
        for _ in range(6):
            with pytest.raises(ToolFailed) as failed:
                await tool.use(deed, lambda text: None)
            said.append(str(failed.value))
        assert "tried again in a while" in said[-1]
        assert "out of poke" in said[-1]


async def test_a_huge_output_is_cut_visibly() -> None:
    async with box_of(rogue("huge")) as box:
        done = await use(box, "poke")
        assert len(done.text) < 31_000
        assert "characters cut" in done.text
        assert "\x1b" not in done.text
        assert done.digest is not None


async def test_a_secret_of_the_server_is_hidden_in_what_it_says() -> None:
    async with box_of(rogue("secret", env={"TOKEN": "hunter2hunter2"})) as box:
        assert (await use(box, "poke")).text == "[hidden]"


async def test_a_server_knows_of_our_environment_only_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-house")
    async with box_of(rogue("environment", env={"GIVEN": "1"})) as box:
        names = set((await use(box, "poke")).text.split())
        assert {"PATH", "GIVEN"} <= names
        assert names <= {*SURROUNDINGS, "GIVEN", "LC_CTYPE"}


async def test_a_tool_that_changed_since_it_was_weighed_is_not_called(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with box_of(rogue("changes", trace=trace), fresh_s=0) as box:
        tool = await tool_of(box, "poke")
        deed = await deed_of(tool)
        Path(f"{trace}.changed").touch()
        with pytest.raises(ToolFailed, match="has changed what this tool is since the call was weighed"):
            await tool.use(deed, lambda text: None)
        assert not any("tools/call" in line for line in traced(trace))
        assert (await use(box, "poke")).ok, "weighed anew, it may be called"


async def test_the_servers_own_word_that_a_tool_only_reads_lowers_nothing() -> None:
    async with box_of(rogue()) as box:
        weighed = (await deed_of(await tool_of(box, "poke"))).weighed
        assert (weighed.risk, weighed.effect) == ("medium", "irreversible")


async def test_odd_tools_are_left_out_or_made_fit_and_the_others_stay() -> None:
    async with box_of(rogue("odd")) as box:
        tools = {tool.definition.tool: tool.definition for tool in await box.tools()}
        assert set(tools) == {"fine", "dotted.name", "x" * 100}
        names = [tool.name for tool in tools.values()]
        assert all(len(name) <= 64 and name.replace("-", "").replace("_", "").isalnum() for name in names)
        assert tools["dotted.name"].name.startswith("mcp__peer__dotted_name_")
        said = tools["dotted.name"].description
        assert len(said) < 2100
        assert said.startswith("(MCP server peer) a[31mredtxt long")
        (report,) = await box.describe()
        left_out = [name for name, _ in report.left_out]
        assert len(left_out) == 10
        assert left_out.count("twin") == 2
        assert {"veiled", "huge", "deep", "flat", "new line", "one without a name"} <= set(left_out)


async def test_all_pages_of_a_list_are_read() -> None:
    async with box_of(rogue("pages")) as box:
        assert [tool.definition.tool for tool in await box.tools()] == ["page0", "page1", "page2"]


@pytest.mark.parametrize(
    ("modes", "words"),
    [
        (("ends",), r"it ended, and its last words were: no database: token=\[hidden\]"),
        (("circle",), "its list of tools does not end"),
        (("future",), "speaks only versions of the protocol that we do not: 2099-01-01"),
        (("legacy", "ancient"), "'1999-01-01'"),
        (("silent",), r"does not answer within 1 s"),
    ],
)
async def test_a_server_in_trouble_is_left_out_and_the_doctor_says_why(modes: tuple[str, ...], words: str) -> None:
    trouble = rogue(*modes, name="bad", env={"TOKEN": "hunter2hunter2"}, connect_s=1 if "silent" in modes else 10)
    async with box_of(trouble, rogue(name="good")) as box:
        assert [tool.spec.name for tool in await box.tools()] == ["mcp__good__poke"]
        bad, good = await box.describe()
        assert good.trouble is None
        assert bad.tools == ()
        assert bad.trouble is not None
        with pytest.raises(AssertionError, match=words):
            raise AssertionError(bad.trouble)


async def test_a_program_that_is_not_there_is_named() -> None:
    async with box_of(ServerConfig("bad", command=("no-such-program",))) as box:
        (report,) = await box.describe()
        assert report.trouble == "there is no program 'no-such-program' to start it with"


@pytest.mark.parametrize("modes", [("fertile",), ("fertile", "stubborn")])
async def test_closing_ends_the_server_and_all_it_started(modes: tuple[str, ...], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with box_of(rogue(*modes, trace=trace)) as box:
        assert (await use(box, "poke")).ok
        child = int(next(line for line in traced(trace) if line.startswith("child ")).split()[1])
        assert is_alive(pid_in(trace))
        assert is_alive(child)
    await until(lambda: not is_alive(pid_in(trace)) and not is_alive(child))


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_loop_that_shuts_down_ends_its_servers(
    new_loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path
) -> None:
    trace = tmp_path / "trace"

    async def once() -> None:
        assert (await use(open_box_of(rogue(trace=trace)), "poke")).ok

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(once())
        assert is_alive(pid_in(trace))
    assert not is_alive(pid_in(trace))


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_loop_that_is_only_closed_loses_its_servers_at_the_next_use(
    new_loop: Callable[[], asyncio.AbstractEventLoop], tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    loop = new_loop()
    box = open_box_of(rogue(trace=trace))
    loop.run_until_complete(use(box, "poke"))
    first = pid_in(trace)
    loop.close()
    assert is_alive(first)
    trace.unlink()

    async def again() -> None:
        assert (await use(box, "poke")).ok
        await until(lambda: not is_alive(first))
        await box.aclose()

    asyncio.run(again())
    assert not is_alive(pid_in(trace))


def test_each_loop_has_a_server_of_its_own_and_closing_ends_them_all(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    box = open_box_of(rogue("count", trace=trace))

    def in_another_thread(called: threading.Event, over: threading.Event) -> None:
        async def there() -> None:
            assert (await use(box, "poke")).text == "poked 1"
            called.set()
            await asyncio.to_thread(over.wait, 30)

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(there())

    async def here() -> None:
        called, over = threading.Event(), threading.Event()
        assert (await use(box, "poke")).text == "poked 1"
        other = threading.Thread(target=in_another_thread, args=(called, over))
        other.start()
        try:
            assert await asyncio.to_thread(called.wait, 30)
            pids = [int(line.split()[1]) for line in traced(trace) if line.startswith("pid ")]
            assert len(pids) == 2
            await box.aclose()
            await until(lambda: not any(map(is_alive, pids)))
        finally:
            over.set()
            await asyncio.to_thread(other.join)

    asyncio.run(here())


async def test_servers_die_with_the_process_that_asked_for_them(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    script = (
        "import asyncio, os, signal, sys\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "from mcp_stage import box_of, program, use\n"
        "async def main():\n"
        f"    server = program('mcp_rogue.py', 'fertile', 'stubborn', env={{'PEER_TRACE': {str(trace)!r}}})\n"
        "    async with box_of(server) as box:\n"
        "        await use(box, 'poke')\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=30).returncode == -signal.SIGKILL
    child = int(next(line for line in traced(trace) if line.startswith("child ")).split()[1])
    await until(lambda: not is_alive(pid_in(trace)) and not is_alive(child))
