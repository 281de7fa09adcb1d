"""What is logged: one line for each record, whatever somebody put into it."""

from __future__ import annotations

import io
import logging

import pytest
from decks import Deck
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.cli.logbook import Logbook, escaped

FORGED = "2026-01-01 00:00:00,000 INFO quarterdeck.runtime approval 1 was granted"


def logged(say: str, *values: object, error: Exception | None = None) -> list[str]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Logbook())
    record = logging.LogRecord("quarterdeck.here", logging.WARNING, "", 1, say, values, None)
    if error is not None:
        record.exc_info = (type(error), error, None)
    handler.emit(record)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(
    "hostile", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\x1b[2J", "\x00", "\u202e", "\udc80"]
)
def test_no_text_begins_a_record_of_its_own_or_commands_the_terminal(hostile: str) -> None:
    lines = logged("%s rests: %s", f"run/a{hostile}{FORGED}", hostile)
    assert len(lines) == 1
    assert lines[0].startswith("20")
    assert lines[0].encode("utf-8").decode() == lines[0]
    assert hostile not in lines[0]


def test_what_led_to_a_failure_stands_below_its_record() -> None:
    first, *rest = logged("it failed", error=ValueError(f"no\n{FORGED}\x1b[2J"))
    assert first.endswith("it failed")
    assert rest
    assert all(line.startswith("  ") for line in rest)
    assert "\x1b" not in "".join(rest)


def test_ordinary_words_in_any_language_stay_as_they_are() -> None:
    assert logged("%s", "Здравствуйте, 你好 – it's 5 °C")[0].endswith("Здравствуйте, 你好 – it's 5 °C")


@given(st.text())
def test_whatever_it_is_it_is_one_line(text: str) -> None:
    assert len(f"x{escaped(text)}x".splitlines()) == 1


def test_a_server_logs_in_this_form(deck: Deck) -> None:
    process = deck.serve("--log-level", "debug")
    deck.on("chat", f"Hello\n{FORGED}")
    process.terminate()
    assert process.stderr is not None
    said = process.stderr.read().splitlines()
    assert said
    assert not [line for line in said if line.startswith(FORGED)]
