"""What every model promises, asked of each: the scripted one, both dialects over a real socket, the embedded one."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

import pytest
from listening import BOUND_S, asking, hear

from quarterdeck.adapters.models import local
from quarterdeck.adapters.models.anthropic import AnthropicMessages
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.openai_chat import OpenAIChat
from quarterdeck.ports import Burst, Ended, Model
from quarterdeck.testing.scripted import ScriptedModel, Turn
from quarterdeck.testing.upstream import Answer, Upstream
from quarterdeck.testing.wire import Told, anthropic_stream, openai_stream

REASON = local.available()
TOLD = Told(texts=("One", " two", " three"), reasoning=("Hm", "…"))
SCHEMA = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@asynccontextmanager
async def scripted() -> AsyncIterator[Model]:
    yield ScriptedModel([Turn(content=TOLD.texts, reasoning=TOLD.reasoning)])


@asynccontextmanager
async def openai() -> AsyncIterator[Model]:
    async with Upstream(Answer(openai_stream(TOLD), packet=40)) as upstream:
        model = OpenAIChat(model="told", base_url=upstream.base_url, api_key="k", http=Http())
        yield model
        await model.aclose()


@asynccontextmanager
async def anthropic() -> AsyncIterator[Model]:
    async with Upstream(Answer(anthropic_stream(TOLD), packet=40)) as upstream:
        model = AnthropicMessages(model="told", base_url=upstream.url, api_key="k", http=Http())
        yield model
        await model.aclose()


@asynccontextmanager
async def embedded() -> AsyncIterator[Model]:
    model = local.LocalModel()
    yield model
    await model.aclose()


MODELS = [
    scripted,
    openai,
    anthropic,
    pytest.param(embedded, marks=pytest.mark.skipif(REASON is not None, reason=f"no embedded model: {REASON}")),
]
Open = Callable[[], "asynccontextmanager[Model]"]
every_model = pytest.mark.parametrize("opened", MODELS)


@every_model
async def test_a_reply_is_bursts_and_then_exactly_one_end(opened: Open) -> None:
    async with opened() as model:
        heard = await hear(model, asking("Count to three.", max_output_tokens=12))
        assert heard.failure is None
        assert heard.text
        assert heard.ended is not None
        assert heard.ended.finish in ("stop", "length")


@every_model
async def test_it_has_a_name_and_says_what_it_can(opened: Open) -> None:
    async with opened() as model:
        assert model.name.count("/") >= 1
        assert isinstance(model.traits.tools, bool)


@every_model
async def test_calls_may_overlap(opened: Open) -> None:
    async with opened() as model:
        asked = [hear(model, asking(f"Say {n}.", max_output_tokens=6)) for n in range(6)]
        assert all(heard.ended for heard in await asyncio.gather(*asked))


@every_model
async def test_closing_the_iterator_ends_it_at_once_and_the_model_goes_on(opened: Open) -> None:
    async with opened() as model:
        async with asyncio.timeout(BOUND_S), aclosing(model.stream(asking("Tell a long story."))) as events:
            assert isinstance(await anext(events), Burst)
        assert (await hear(model, asking(max_output_tokens=4))).ended


@every_model
async def test_a_cancelled_listener_leaves_nothing_behind(opened: Open) -> None:
    async with opened() as model:
        listener = asyncio.create_task(hear(model, asking("Tell a long story.", max_output_tokens=400)))
        await asyncio.sleep(0)
        listener.cancel()
        await asyncio.wait([listener], timeout=BOUND_S)
        assert listener.done()
        assert (await hear(model, asking(max_output_tokens=4))).ended


@every_model
async def test_an_iterator_that_was_never_started_costs_nothing(opened: Open) -> None:
    async with opened() as model:
        await model.stream(asking()).aclose()


@every_model
def test_consecutive_event_loops_may_use_the_same_model(opened: Open) -> None:
    async def serve() -> None:
        async with opened() as model:
            models.append(model)
            await hear(model, asking(max_output_tokens=4))
            await rest.wait()

    async def listen(model: Model) -> bool:
        return (await hear(model, asking(max_output_tokens=4))).ended is not None

    models: list[Model] = []
    rest = asyncio.Event()
    with asyncio.Runner() as house:  # where the upstream lives
        serving = house.get_loop().create_task(serve())
        house.run(_until(lambda: bool(models)))
        for _ in range(2):
            asked = asyncio.to_thread(asyncio.run, listen(models[0]))
            assert house.run(asked)
        rest.set()
        house.run(_joined(serving))


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND_S):
        while not holds():
            await asyncio.sleep(0.001)


async def _joined(task: "asyncio.Task[None]") -> None:
    await task


@pytest.mark.skipif(REASON is not None, reason=f"no embedded model: {REASON}")
async def test_the_embedded_model_fills_in_a_form() -> None:
    async with embedded() as model:
        heard = await hear(model, asking("Bob is 5 years old. Give his age as JSON.", schema=SCHEMA))
        assert heard.text.lstrip().startswith("{")
        assert '"age"' in heard.text


@pytest.mark.skipif(REASON is not None, reason=f"no embedded model: {REASON}")
async def test_the_embedded_model_stops_when_nobody_listens() -> None:
    model = local.LocalModel()
    events = model.stream(asking("Tell a very long story.", max_output_tokens=2000))
    async with asyncio.timeout(BOUND_S):
        await anext(events)
        await events.aclose()
        # One thread more than there are slots: if any still talked, this would wait for 2000 tokens.
        assert all(
            heard.ended for heard in await asyncio.gather(*(hear(model, asking(max_output_tokens=2)) for _ in range(5)))
        )
    await model.aclose()


@pytest.mark.skipif(REASON is not None, reason=f"no embedded model: {REASON}")
async def test_the_embedded_model_says_when_a_conversation_is_too_long() -> None:
    async with embedded() as model:
        heard = await hear(model, asking("word " * 9000))
        assert heard.failure is not None
        assert (heard.failure.code, heard.failure.retryable) == ("provider_rejected", False)
        assert (await hear(model, asking(max_output_tokens=2))).ended


async def test_a_whole_reply_says_what_was_told() -> None:
    for opened in (scripted, openai, anthropic):
        async with opened() as model:
            heard = await hear(model)
            assert (heard.content, heard.reasoning) == (list(TOLD.texts), list(TOLD.reasoning))
            assert heard.kinds == sorted(heard.kinds, reverse=True), "reasoning came first"
            assert heard.ended is not None
            assert isinstance(heard.ended, Ended)
