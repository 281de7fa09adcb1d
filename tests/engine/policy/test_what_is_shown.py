"""What a person is shown before saying yes hides nothing and cannot lie."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quarterdeck.engine.policy.shown import suspicious, visible

ESCAPE = re.compile(r"\\u\{([0-9a-f]+)(?:\*([0-9]+))?\}")
TRICKS = st.text(
    st.sampled_from("\\u{}20*57ab \n\t\r\u200b\u202e\u0430\u0301e\U000e0041\ud800\u3164\u00a0") | st.characters(),
    max_size=30,
)


def read_back(shown: str) -> str:
    return ESCAPE.sub(lambda found: chr(int(found[1], 16)) * int(found[2] or 1), shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls -la", "ls -la"),
        ("a\nb\tc\r", r"a\u{a}b\u{9}c\u{d}"),
        ("\x1b[2Kls", r"\u{1b}[2Kls"),
        ("a\u202eb\u200bc", r"a\u{202e}b\u{200b}c"),
        ("x\U000e0041", r"x\u{e0041}"),
        ("a\u00a0b\u3000c\u2003d", r"a\u{a0}b\u{3000}c\u{2003}d"),
        ("a" + " " * 37 + "; b", r"a\u{20*37}; b"),
        ("a   b", "a   b"),
        (" a ", r"\u{20}a\u{20}"),
        ("a \nb", r"a\u{20}\u{a}b"),
        ("\u200b" * 10_000, r"\u{200b*10000}"),
        ("\n\n", r"\u{a}\u{a}"),
        (r"\n \\ \u", r"\n \\ \u"),
        (r"\u{41}", r"\u{5c}u{41}"),
        (r"\\u{41}", r"\\u{5c}u{41}"),
        ("привет мир 世界 é", "привет мир 世界 é"),
        ("e\u0301", r"e\u{301}"),
        ("ls；id", r"ls\u{ff1b}id"),
        ("𝐥𝐬", r"\u{1d425}\u{1d42c}"),
        ("a\u3164b\uffa0", r"a\u{3164}b\u{ffa0}"),
        ("\u1100\u1161 가", r"\u{1100}\u{1161} 가"),
        ("\ud800", r"\u{d800}"),
        ("", ""),
    ],
)
def test_everything_is_seen_as_what_it_is(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(TRICKS)
@example("\\" * 3 + "u{41}")
def test_what_is_shown_is_letters_and_plain_ascii_and_can_be_read_back(text: str) -> None:
    shown = visible(text)
    assert all(c.isprintable() if c.isascii() else unicodedata.category(c).startswith("L") for c in shown)
    assert read_back(shown) == text


@given(TRICKS, TRICKS)
def test_no_two_texts_look_the_same(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)
    assert unicodedata.normalize("NFKC", visible(one)) == visible(one) or not visible(one).isascii()


@given(st.text(st.characters(exclude_categories=["Lo"], codec="utf-8")))
def test_what_is_shown_stays_the_same_however_a_screen_composes_it(text: str) -> None:
    assert unicodedata.normalize("NFC", visible(text)) == visible(text)


def test_nothing_is_cut_however_long_it_is() -> None:
    text = "".join(f"{number} " for number in range(200_000)).strip()
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x" * 4097, "is longer than 4 KiB"),
        ("ls \x1b[2K", "control characters"),
        ("ls\rid", "control characters"),
        ("a\u202eb", "turn the direction"),
        ("a\u200bb", "invisible characters (1)"),
        ("a\U000e0041\u3164", "invisible characters (2)"),
        ("a\u00a0b", "invisible"),
        ("a" + " " * 40 + "b", "long runs of spaces"),
        ("p\u0430ypal", "look alike: p\u0430ypal"),
        ("cat \u0441\u043e\u0440", "look alike"),
        ("curl \u03bfk.example", "look alike"),
    ],
)
def test_what_could_deceive_is_named(text: str, reason: str) -> None:
    found = suspicious(text)
    assert [reason in sentence for sentence in found].count(True) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ls -la",
        "a\n\tb",
        "x" * 4096,
        "git commit -m 'привет, мир'",
        "echo 你好，世界",
        "café naïve",
        "echo Нет",
        "Python中文",
    ],
)
def test_ordinary_text_in_any_language_is_not_suspected(text: str) -> None:
    assert suspicious(text) == ()


@given(TRICKS)
def test_looking_for_tricks_never_fails(text: str) -> None:
    assert all(sentence.startswith(("is ", "contains ")) for sentence in suspicious(text))
