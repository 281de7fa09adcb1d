"""The tool that searches what is remembered: it tells a run what it may know, and nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from quarterdeck.adapters.system import SystemClock
from quarterdeck.adapters.tools.memory_search import MemorySearch
from quarterdeck.events.memory import MemoryStored
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.ids import ConversationId, RunId, TenantId, memory_stream
from quarterdeck.kernel.parts import ToolCall
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.ports import Deed, Site
from quarterdeck.views.recall import Recall
from quarterdeck.views.tables import TABLES, VIEWS

SITE = Site(LOCAL_TENANT, RunId("r1"), ConversationId("c1"), "/work")


@pytest.fixture
async def tool() -> AsyncIterator[MemorySearch]:
    log = Log(MemoryStore(), SystemClock(), TABLES, VIEWS)
    mine = (
        MemoryStored("m1", "zebra everywhere", scope="global"),
        MemoryStored("m2", "zebra at work", "fact", workspace="/work"),
        MemoryStored("m3", "zebra elsewhere", workspace="/other"),
        MemoryStored("m4", "zebra of this talk", scope="conversation", conversation="c1"),
        MemoryStored("m5", "zebra of a talk", scope="conversation", conversation="c2"),
        MemoryStored("m6", "zebra from a page", scope="global", tainted=True),
    )
    theirs = (MemoryStored("m7", "zebra of theirs", scope="global"),)
    await log.append(Entry(memory_stream(LOCAL_TENANT), mine), Entry(memory_stream(TenantId("elsewhere")), theirs))
    yield MemorySearch(Recall(log))
    await log.close()


def call(arguments: object) -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall("call", "memory_search", text)


async def used(tool: MemorySearch, query: str, site: Site = SITE) -> str:
    asked = call({"query": query})
    weighed = await tool.weigh(asked, site)
    return (await tool.use(Deed(asked, site, weighed, "key"), lambda _: None)).text


async def test_it_tells_what_this_run_may_know(tool: MemorySearch) -> None:
    told = [json.loads(line) for line in (await used(tool, "Zebras?")).splitlines()]
    assert sorted(each["id"] for each in told) == ["m1", "m2", "m4"]
    assert {each["memory_type"] for each in told} == {"fact", "note"}


async def test_another_site_may_know_other_things(tool: MemorySearch) -> None:
    elsewhere = Site(TenantId("elsewhere"), RunId("r"), ConversationId("c1"), "/work")
    assert json.loads(await used(tool, "zebra", elsewhere))["id"] == "m7"
    assert "Nothing" in await used(tool, "giraffe")


async def test_it_is_pure_low_and_asks_nobody(tool: MemorySearch) -> None:
    weighed = await tool.weigh(call({"query": " чай "}), SITE)
    assert (weighed.risk, weighed.effect, weighed.arguments) == ("low", "pure", '{"query": "чай"}')
    assert tool.spec.effect == "pure"
    assert await tool.probe(Deed(call({"query": "x"}), SITE, weighed, "key")) is None


@pytest.mark.parametrize(
    "arguments", ["", "{", "[]", "[" * 100_000, {}, {"query": ""}, {"query": " "}, {"query": 7}, {"query": "x", "k": 1}]
)
async def test_arguments_that_do_not_fit_are_refused(tool: MemorySearch, arguments: object) -> None:
    with pytest.raises(ToolFailed):
        await tool.weigh(call(arguments), SITE)
