"""What only whole processes show: that they end, quickly and well, and that nobody else gets in."""

import asyncio
import subprocess
import sys

import pytest
from listening import BOUND_S, hear

from quarterdeck.adapters.models import local
from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.openai_chat import OpenAIChat
from quarterdeck.testing.upstream import FAULTS, Answer, Upstream

installed = pytest.mark.skipif(local.available() is not None, reason=f"no embedded model: {local.available()}")

TALKS_AND_LEAVES = """
import asyncio, os, socket, sys
from pathlib import Path
import psutil
from quarterdeck.adapters.models.local import LocalModel
from quarterdeck.kernel.parts import Message
from quarterdeck.ports import ModelRequest

async def main():
    model = LocalModel()
    await model.preload()
    events = model.stream(ModelRequest((Message("user", "Tell a very long story."),), max_output_tokens=100000))
    await anext(events)
    assert not psutil.Process().net_connections("inet"), "it listens"
    assert "llm" not in sys.modules
    {leave}

asyncio.run(main())
"""


@installed
@pytest.mark.parametrize("leave", ["await events.aclose(); await model.aclose()", "await model.aclose()", "pass"])
def test_a_program_with_the_embedded_model_ends_in_the_middle_of_a_reply(leave: str) -> None:
    code = TALKS_AND_LEAVES.replace("{leave}", leave)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=BOUND_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_loop_that_never_heard_of_closing_leaves_no_socket_behind() -> None:
    """Warnings about sockets are errors here."""
    http = Http()

    async def once() -> None:
        async with Upstream(FAULTS["rst"], Answer()) as upstream:
            model = OpenAIChat(model="m", base_url=upstream.base_url, http=http)
            assert (await hear(model)).failure
            assert (await hear(model)).ended

    for _ in range(3):
        asyncio.run(once())


async def test_a_client_that_was_closed_opens_again() -> None:
    async with Upstream() as upstream:
        model = OpenAIChat(model="m", base_url=upstream.base_url, http=Http())
        for _ in range(2):
            assert (await hear(model)).ended
            await model.aclose()
        await model.aclose()
        assert upstream.connections == 2


async def test_the_provider_with_faults_runs_as_a_process(http: Http) -> None:
    command = [sys.executable, "-m", "quarterdeck.testing.upstream"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(BOUND_S):
            base_url = (await process.stdout.readline()).decode().strip()
        assert (await hear(OpenAIChat(model="told", base_url=base_url, http=http))).ended
        failed = await hear(OpenAIChat(model="status-429", base_url=base_url, http=http))
        assert failed.failure is not None
        assert failed.failure.retry_after == 7
    finally:
        process.terminate()
        await process.wait()
