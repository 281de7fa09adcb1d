"""What the tests of adapters share: a client, and patience short enough to wait for."""

from collections.abc import AsyncIterator

import pytest

from quarterdeck.adapters.models.http import Http
from quarterdeck.adapters.models.watch import Patience


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    client = Http()
    yield client
    await client.aclose()


@pytest.fixture
def impatient() -> Patience:
    return Patience(first_byte_s=0.1, silence_s=0.1, meaning_s=0.2)


@pytest.fixture
def patience() -> Patience:
    return Patience()
