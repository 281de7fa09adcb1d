"""The small model of meanings: near is near, and recall finds what was meant but not said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from quarterdeck.adapters.recall.minilm import MiniLM, available
from quarterdeck.adapters.recall.wordpiece import WordPiece
from quarterdeck.adapters.system import SystemClock
from quarterdeck.events.memory import MemoryEdited, MemoryForgotten, MemoryStored
from quarterdeck.kernel.ids import memory_stream
from quarterdeck.kernel.scope import LOCAL_TENANT
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.log.memory import MemoryStore
from quarterdeck.views.recall import Recall
from quarterdeck.views.tables import TABLES, VIEWS

STREAM = memory_stream(LOCAL_TENANT)
KNOWN = ("The user drinks coffee every morning", "Deploys run on Fridays", "The user is allergic to peanuts")
needs_weights = pytest.mark.skipif(available() is not None, reason=f"recall by meaning: {available()}")


@pytest.fixture
async def log() -> AsyncIterator[Log]:
    log = Log(MemoryStore(), SystemClock(), TABLES, VIEWS)
    stored = (MemoryStored(f"m{n}", text, scope="global") for n, text in enumerate(KNOWN))
    await log.append(Entry(STREAM, tuple(stored)))
    yield log
    await log.close()


def test_words_become_their_longest_pieces() -> None:
    known = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##want", "##ed", "cafe", "!", "猫"])
    assert known.numbers("UNwanted Café!", 99) == [2, 4, 5, 6, 7, 8, 3]
    assert known.numbers("猫猫 zzz", 99) == [2, 9, 9, 1, 3]
    assert known.numbers("un " * 50, 5) == [2, 4, 4, 4, 3]
    assert known.numbers("", 5) == [2, 3]


@needs_weights
async def test_what_means_the_same_is_near_and_a_batch_says_what_each_alone_says() -> None:
    model = MiniLM()
    asked = "can I eat this nut bar?"
    vectors = await model.vectors([asked, *KNOWN])
    near = model.near(vectors[0], vectors[1:])
    assert max(near) == near[2] > 0.3
    assert model.near(vectors[0], vectors[:1])[0] == pytest.approx(1.0, abs=1e-5)
    for text, vector in zip((asked, *KNOWN), vectors, strict=True):
        [alone] = await model.vectors([text])
        assert model.near(vector, [alone])[0] == pytest.approx(1.0, abs=1e-4)
    assert model.near(vectors[0], []) == []


@needs_weights
async def test_what_was_meant_is_found_until_it_is_changed_or_forgotten(log: Log) -> None:
    recall = Recall(log, MiniLM())

    async def found(query: str) -> list[str]:
        return [each.id for each in await recall.candidates(LOCAL_TENANT, query)]

    assert (await found("can I eat this nut bar?"))[0] == "m2"
    await log.append(Entry(STREAM, (MemoryEdited("m2", "The office closes at six"),)))
    assert "m2" not in await found("can I eat this nut bar?")
    await log.append(Entry(STREAM, (MemoryForgotten("m2"),)))
    assert "m2" not in await found("when does the office close")
    [book] = recall._books.values()
    assert set(book._vectors) == {"m0", "m1"}


class Broken:
    async def vectors(self, texts: Sequence[str]) -> list[bytes]:
        raise MemoryError

    def near(self, vector: bytes, others: Sequence[bytes]) -> list[float]:
        raise MemoryError


async def test_a_model_that_breaks_leaves_the_words(log: Log) -> None:
    found = await Recall(log, Broken()).candidates(LOCAL_TENANT, "when do deploys run")
    assert [each.id for each in found] == ["m1"]
