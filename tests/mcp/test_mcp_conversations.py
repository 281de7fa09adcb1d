"""With the reference implementation as the server: whatever the way and the era, its tools are ours."""

import asyncio
from pathlib import Path

import pytest
from mcp_stage import again, box_of, deed_of, program, tool_of, traced, until, use

from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.adapters.mcp.tools import McpTools
from quarterdeck.adapters.mcp.troubles import InputNeeded
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.ports import Deed, Weighed


async def test_the_era_is_found_out_and_said(box: McpTools, era: str) -> None:
    (report,) = await box.describe()
    assert report.trouble is None
    assert report.era == era
    assert "mcp__peer__echo" in report.tools
    assert report.left_out == ()


async def test_a_tool_is_listed_with_its_name_and_what_it_takes(box: McpTools) -> None:
    spec = (await tool_of(box, "echo")).spec
    assert spec.name == "mcp__peer__echo"
    assert spec.description == "(MCP server peer) Say it again."
    assert spec.parameters["properties"]["text"]["type"] == "string"
    assert spec.effect == "irreversible"


async def test_a_call_gives_back_what_the_tool_said(box: McpTools) -> None:
    done = await use(box, "echo", text="Привет, 世界")
    assert (done.text, done.ok) == ("Привет, 世界", True)


async def test_structured_content_is_said_once(box: McpTools) -> None:
    done = await use(box, "add", a=1, b=2)
    assert done.text.count("total") == 1
    assert "3" in done.text


async def test_what_is_no_text_is_described_in_words(box: McpTools) -> None:
    done = await use(box, "picture")
    assert "[an image, image/png, about 300 bytes; it is not shown]" in done.text
    assert "[a link to notes: file:///notes.txt]" in done.text
    assert "AAAA" not in done.text


async def test_a_tool_that_fails_says_so_and_is_not_ok(box: McpTools) -> None:
    done = await use(box, "fail")
    assert not done.ok
    assert "Error executing tool fail" in done.text


async def test_arguments_that_do_not_fit_come_back_to_the_model(box: McpTools) -> None:
    with pytest.raises(ToolFailed, match="missing: b"):
        await deed_of(await tool_of(box, "add"), a=1)
    done = await use(box, "add", a=1, b="two")
    assert not done.ok


async def test_several_calls_at_once_each_get_their_own_answer(box: McpTools) -> None:
    found = await asyncio.gather(*(use(box, "echo", text=f"number {n}") for n in range(20)))
    assert [done.text for done in found] == [f"number {n}" for n in range(20)]


async def test_cancelling_a_call_reaches_the_server(box: McpTools, way: str, trace: Path) -> None:
    call = asyncio.create_task(use(box, "forever"))
    await until(lambda: "began" in traced(trace))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    if way != "json-auto":  # there the reference implementation does not notice that nobody waits any more
        await until(lambda: "cancelled" in traced(trace))
    assert (await use(box, "echo", text="still here")).text == "still here"


async def test_a_call_that_takes_too_long_is_cancelled(server: ServerConfig, way: str, trace: Path) -> None:
    async with box_of(again(server, timeout_s=0.5)) as box:
        with pytest.raises(ToolFailed, match=r"took more than 0\.5 s and was cancelled; what it did is not known"):
            await use(box, "forever")
        if way != "json-auto":
            await until(lambda: "cancelled" in traced(trace))


async def test_progress_is_heard_as_it_comes(box: McpTools, way: str) -> None:
    heard: list[str] = []
    assert (await use(box, "count", heard.append)).text == "counted"
    spoken = [] if way.startswith("json") else ["step 0\n", "step 1\n", "step 2\n"]
    assert heard == spoken  # plain JSON has no way to tell


async def test_a_question_to_a_person_is_carried_out_or_declined(box: McpTools, era: str, way: str) -> None:
    tool = await tool_of(box, "colour")
    deed = await deed_of(tool)
    if era == "legacy":
        if way == "json-legacy":  # plain JSON has no way to ask
            with pytest.raises(ToolFailed, match="Cannot send"):
                await tool.use(deed, lambda text: None)
            return
        done = await tool.use(deed, lambda text: None)
        assert done.text.startswith("decline")
        assert "Which colour?" in done.text
        return
    with pytest.raises(InputNeeded, match=r"server peer did not go on.*Which colour\?") as asked:
        await tool.use(deed, lambda text: None)
    assert asked.value.question == "Which colour?"
    assert list(asked.value.schema["properties"]) == ["colour"]
    response = {"action": "accept", "content": {"colour": "blue"}}
    done = await tool.resume(deed, asked.value.resume, response, lambda text: None)
    assert done.text == "accept blue painting the fence"


async def test_a_tool_that_appears_is_found_when_the_server_says_so(server: ServerConfig, way: str) -> None:
    # Over HTTP in the legacy era the reference implementation does not promise to tell.
    promised = way not in ("http-legacy", "json-legacy")
    async with box_of(server, fresh_s=3600 if promised else 0) as box:
        name = f"grown-{way}"
        await use(box, "grow", name=name)
        async with asyncio.timeout(20):
            while name not in {tool.definition.tool for tool in await box.tools()}:
                await asyncio.sleep(0.01)


async def test_a_permission_is_bound_to_the_server_the_tool_and_the_arguments(box: McpTools) -> None:
    tool = await tool_of(box, "echo")
    deed = await deed_of(tool, text="a")
    weighed = deed.weighed
    assert (weighed.risk, weighed.action, weighed.effect) == ("medium", "mcp", "irreversible")
    assert weighed.arguments == '{"text":"a"}'
    assert weighed.rule is not None
    assert weighed.rule != (await deed_of(tool, text="b")).weighed.rule
    assert tool.definition.digest in weighed.rule
    for key in ("server", "config", "tool", "schema"):
        bound = {**weighed.bound, key: "another"}
        other = Weighed(weighed.risk, weighed.action, weighed.effect, weighed.arguments, "", bound=bound)
        with pytest.raises(ToolFailed, match="ask for it anew"):
            await tool.use(Deed(deed.call, deed.site, other, "key"), lambda text: None)
    assert (await tool.use(deed, lambda text: None)).text == "a"


async def test_only_the_operator_lowers_a_risk_or_calls_a_tool_pure() -> None:
    server = program("mcp_peer.py", "stdio", allow=frozenset({"echo"}), pure=frozenset({"add", "gone"}))
    async with box_of(server) as box:
        assert (await deed_of(await tool_of(box, "echo"), text="")).weighed.risk == "low"
        adding = (await deed_of(await tool_of(box, "add"), a=1, b=2)).weighed
        assert (adding.risk, adding.effect) == ("medium", "pure")
        (report,) = await box.describe()
        assert report.left_out == (("gone", "mcp.json names it, but the server has no such tool"),)
