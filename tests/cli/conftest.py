"""A folder, a script and a command to run, for each test its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from decks import Deck

TURNS = (
    {"when": "think", "reasoning": ["Let me ", "see."], "content": ["An ", "answer."]},
    {"when": "slow", "content": [f"w{n} " for n in range(400)], "pace": 0.02},
    {"when": "hang", "content": ["Begun ", "here"], "hang": 2},
    *(
        turn
        for name in ("cut in a pipe", "cut at a terminal")
        for turn in (
            {"when": name, "content": ["half a ", "sentence"], "cut": 2},
            {"when": name, "content": ["A whole ", "sentence."]},
        )
    ),
    {"when": "fail", "fail": {"code": "provider_rejected", "detail": "The model says no.", "retryable": False}},
    {"when": "hostile", "content": ["\x1b]0;title\x07", "\u202egnihton"]},
    {"content": ["Hello ", "there, ", "猫."]},
)


@pytest.fixture
def deck(tmp_path: Path) -> Iterator[Deck]:
    deck = Deck(tmp_path)
    deck.script(*TURNS)
    yield deck
    deck.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deck]:
    """One server for all tests of a module that want no more of it than to be there."""
    deck = Deck(tmp_path_factory.mktemp("served"))
    deck.script(*TURNS)
    deck.serve()
    yield deck
    deck.close()
