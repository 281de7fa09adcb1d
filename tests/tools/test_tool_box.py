"""One toolbox: tools are found by name, others are added by handing them in."""

from __future__ import annotations

import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
from toolroom import Bench, SmallRedactor, at, small_judge

from quarterdeck.adapters.tools.arguments import Says
from quarterdeck.adapters.tools.ask_user import AskUser
from quarterdeck.adapters.tools.everyday import everyday_tools
from quarterdeck.adapters.tools.sandbox import Sandbox
from quarterdeck.adapters.tools.tool import Function
from quarterdeck.adapters.tools.toolbox import LocalToolbox
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.ports import Deed


@dataclass(frozen=True, slots=True)
class Words:
    words: Annotated[tuple[str, ...], Says("some words")]
    apart: Annotated[str, Says("what stands between them")] = " "


async def join(asked: Words, deed: Deed) -> str:
    return asked.apart.join(asked.words)


JOIN = Function("join_words", "Join words.", Words, join, effect="pure", risk="low", action="text")


def test_two_tools_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="join_words"):
        LocalToolbox([JOIN, JOIN])


async def test_a_function_is_a_tool(tmp_path: Path) -> None:
    bench = Bench(LocalToolbox([JOIN]), at(tmp_path))
    [spec] = await bench.box.specs(bench.site)
    assert (spec.name, spec.effect, spec.parameters["required"]) == ("join_words", "pure", ["words"])
    weighed = await bench.weigh("join_words", words=["a", "b"])
    assert (weighed.risk, weighed.action, weighed.arguments) == ("low", "text", '{"words":["a","b"]}')
    assert (await bench.use("join_words", words=["a", "b"], apart="-")).text == "a-b"
    assert "'words' is missing" in await bench.fails("join_words")
    assert await bench.box.probe(await bench.deed("join_words", words=[])) is None


async def test_a_tool_that_is_not_there_is_answered_with_the_nearest(tmp_path: Path) -> None:
    everything = everyday_tools(small_judge, lambda judged: None, SmallRedactor, sandbox=Sandbox(None))
    bench = Bench(LocalToolbox([*everything, JOIN]), at(tmp_path))
    assert [spec.name for spec in await bench.box.specs(bench.site)] == [
        *("file_read", "list_dir", "search_files", "file_write", "file_edit"),
        *("shell_exec_safe", "web_fetch", "ask_user", "join_words"),
    ]
    assert await bench.fails("read_file") == "There is no tool 'read_file'; did you mean 'file_read'?"
    assert await bench.fails("zzz", x=1) == (
        "There is no tool 'zzz'; there are file_read, list_dir, search_files, file_write, file_edit, "
        "shell_exec_safe, web_fetch, ask_user, join_words."
    )
    assert "there are none" in await Bench(LocalToolbox([]), at(tmp_path)).fails("x")


async def test_a_question_is_weighed_and_answered_by_somebody_else(tmp_path: Path) -> None:
    bench = Bench(LocalToolbox([AskUser()]), at(tmp_path))
    weighed = await bench.weigh("ask_user", question="Which?", options=["this", "that"])
    assert (weighed.action, weighed.risk, weighed.shown) == ("question", "medium", "Which?\n- this\n- that")
    with pytest.raises(ToolFailed, match="not answered"):
        await bench.use("ask_user", question="Which?")


async def test_the_example_of_the_documentation_is_a_tool(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "tools.md").read_text()
    [code] = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    made = types.ModuleType("made")
    sys.modules["made"] = made
    try:
        exec(compile(code, "docs/tools.md", "exec"), made.__dict__)
        bench = Bench(LocalToolbox([made.COUNT]), at(tmp_path))
        weighed = await bench.weigh("count_words", text="a bc def")
        assert (weighed.risk, weighed.effect) == ("low", "pure")
        assert (await bench.use("count_words", text="a bc def", least=2)).text == "2"
        assert "text" in await bench.fails("count_words", least=2)
    finally:
        del sys.modules["made"]
