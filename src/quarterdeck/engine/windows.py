"""How much of a conversation a model takes in. Pure; by the model's name, like its price."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from quarterdeck.engine.money import BYTES_PER_TOKEN
from quarterdeck.kernel.errors import Invalid

Windows: TypeAlias = Mapping[str, int]

# Tokens, under the model's own name or a beginning of it that ends in `*`: the longest that fits counts.
KNOWN: Windows = MappingProxyType(
    {
        "*": 128_000,
        "anthropic/*": 200_000,
        "openai/gpt-3.5*": 16_385,
        "openai/gpt-4": 8_192,
        "openai/gpt-4-0*": 8_192,
        "openai/gpt-4.1*": 1_000_000,
        "openai/gpt-5*": 272_000,
        "openai/o*": 200_000,
        "ollama/*": 4_096,  # what Ollama gives a model that was not told otherwise
        "scripted/*": 128_000,
    }
)
LEAST, MOST = 512, 100_000_000
# Bytes of history for a model too slight to use more.
SLIGHT = 3_000
# The share of a window that history may take: the rest is for who the model is, what tools tell, and the answer.
SHARE = 2


def read_windows(table: object) -> Windows:
    """As a setting gives them: `{"ollama/*": 32768}`."""
    if not isinstance(table, dict):
        raise _bad("it must be an object with a number of tokens for each model")
    for name, tokens in table.items():
        if isinstance(tokens, bool) or not isinstance(tokens, int) or not LEAST <= tokens <= MOST:
            raise _bad(f"the window of {name!r} must be a whole number of tokens from {LEAST} to {MOST:,}")
    return MappingProxyType({**KNOWN, **table})


def room(windows: Windows, model: str, *, slight: bool) -> int:
    """Bytes that the history may take in a prompt for this model."""
    if slight:
        return SLIGHT
    fitting = [name for name in windows if name == model or (name.endswith("*") and model.startswith(name[:-1]))]
    tokens = windows[max(fitting, key=len)] if fitting else KNOWN["*"]
    return tokens * BYTES_PER_TOKEN // SHARE


def _bad(why: str) -> Invalid:
    return Invalid(f"QUARTERDECK_WINDOWS cannot be used: {why}.", code="bad_setting")
