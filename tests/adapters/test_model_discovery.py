"""Which model is found, and what people are told about it."""

import asyncio
import json
from pathlib import Path

import pytest
from listening import asking, hear

from quarterdeck.adapters.models import local
from quarterdeck.adapters.models.discovery import ModelSettings, find
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.local import LocalModel
from quarterdeck.adapters.models.probes import Place
from quarterdeck.ports import Traits
from quarterdeck.testing.scripted import ScriptedModel
from quarterdeck.testing.upstream import Upstream

NOWHERE = "http://127.0.0.1:1/v1"
installed = pytest.mark.skipif(local.available() is not None, reason=f"no embedded model: {local.available()}")


async def test_an_explicit_choice_is_not_questioned(http: Http) -> None:
    """Nothing is probed: there is nobody to ask."""
    found = await find(ModelSettings(choice="openai/bench", openai_base=NOWHERE), http=http)
    assert found.model is not None
    assert found.model.name == "openai/bench"
    assert "QUARTERDECK_MODEL" in found.source


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        ("anthropic/claude-x", "anthropic/claude-x"),
        ("openai/gpt-x", "openai/gpt-x"),
        ("OpenAI/org/model:tag", "openai/org/model:tag"),
        ("ollama/qwen3:8b", "ollama/qwen3:8b"),
    ],
)
async def test_a_choice_names_provider_and_model(choice: str, name: str, http: Http) -> None:
    found = await find(ModelSettings(choice=choice, openai_key="k", anthropic_key="k"), http=http)
    assert found.model is not None
    assert found.model.name == name


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("openai/gpt-x", "OPENAI_API_KEY is not set"),
        ("anthropic/claude-x", "ANTHROPIC_API_KEY is not set"),
        ("gpt-x", "provider/model"),
        ("nobody/x", "no provider we know"),
        ("scripted//no/such/file.json", "cannot be used"),
        ("scripted/x", "cannot be used"),
    ],
)
async def test_a_choice_that_cannot_be_used_says_why(choice: str, said: str, http: Http) -> None:
    """And nothing else is taken in its place."""
    found = await find(ModelSettings(choice=choice), http=http, scripted=ScriptedModel.load)
    assert found.model is None
    assert said in found.source
    assert found.advice


async def test_a_script_may_be_chosen(tmp_path: Path, http: Http) -> None:
    script = tmp_path / "talk.json"
    script.write_text(json.dumps({"turns": [{"content": "Hello."}]}))
    found = await find(ModelSettings(choice=f"scripted/{script}"), http=http, scripted=ScriptedModel.load)
    assert found.model is not None
    assert (await hear(found.model)).text == "Hello."


async def test_keys_come_before_what_runs_here(http: Http) -> None:
    async with Upstream() as upstream:
        here = (Place("ollama", upstream.base_url),)
        both = ModelSettings(openai_key="k", anthropic_key="k")
        first, second, third = [
            (await find(settings, http=http, loopback=here)).model
            for settings in (both, ModelSettings(anthropic_key="k"), ModelSettings())
        ]
        assert first is not None
        assert first.name == "openai/gpt-4.1-mini"
        assert second is not None
        assert second.name.startswith("anthropic/")
        assert third is not None
        assert third.name == "ollama/told"
        assert (await hear(third)).ended


async def test_a_server_of_ones_own_is_asked_for_its_first_model(http: Http) -> None:
    async with Upstream(models=("text-embedding-3", "qwen-chat", "other")) as upstream:
        found = await find(ModelSettings(openai_base=upstream.base_url), http=http)
        assert found.model is not None
        assert found.model.name == "openai/qwen-chat"


async def test_a_server_of_ones_own_that_lists_nothing_is_a_clear_error(http: Http) -> None:
    found = await find(ModelSettings(openai_base=NOWHERE, openai_key="k-secret"), http=http)
    assert found.model is None
    assert "127.0.0.1:1" in found.source
    assert "k-secret" not in repr(found)


async def test_of_several_on_this_machine_the_first_in_order_that_lists_a_model_is_taken(http: Http) -> None:
    async with Upstream(models=()) as empty, Upstream(models=("a",)) as one, Upstream(models=("b",)) as two:
        places = (
            Place("ollama", NOWHERE),
            Place("lmstudio", empty.base_url),
            Place("llamacpp", one.base_url),
            Place("vllm", two.base_url),
        )
        found = await find(ModelSettings(), http=http, loopback=places)
        assert found.model is not None
        assert found.model.name == "llamacpp/a"
        assert found.model.traits == Traits(schema=True)


@pytest.mark.parametrize("said", ["<html>", "[]", '{"object":"list","data":[{"id":7},null]}', '{"data":[{"id":"x"}]}'])
async def test_a_stranger_on_a_usual_port_is_no_model(said: str, http: Http) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(said)}\r\n\r\n{said}".encode())
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        stranger = (Place("vllm", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"),)
        found = await find(ModelSettings(), http=http, loopback=stranger, embedded=False)
        assert found.model is None
        assert "OPENAI_API_KEY" in found.advice


@installed
async def test_without_anything_the_embedded_model_answers_and_advises(http: Http) -> None:
    found = await find(ModelSettings(), http=http, loopback=())
    assert isinstance(found.model, LocalModel)
    assert found.model.traits.slight
    assert "OPENAI_API_KEY" in found.advice
    chosen = await find(ModelSettings(choice="local/smollm2"), http=http)
    assert chosen.model is not None
    assert chosen.model.name == "local/smollm2"
    assert (await hear(chosen.model, asking(max_output_tokens=2))).ended
    await chosen.model.aclose()


async def test_settings_do_not_show_keys() -> None:
    assert "k-secret" not in repr(ModelSettings(openai_key="k-secret", anthropic_key="k-secret"))
