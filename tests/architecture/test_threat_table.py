"""The table of threats names tests that are there, for every case a refusal and a control."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "threats.md"
CASES = {f"A{number:02}" for number in (*range(1, 21), 27, *range(29, 53), 55, 56, 57, 58, 59, 61, 62)}


def rows() -> dict[str, tuple[set[str], set[str]]]:
    """Of each case, what refuses and what must still work."""
    found = {}
    for line in PAGE.read_text().splitlines():
        if re.match(r"\| A\d+ ", line):
            case, _, refused, works = (part.strip() for part in re.split(r"(?<!\\)\|", line)[1:5])
            found[case] = (set(re.findall(r"`(test_\w+)`", refused)), set(re.findall(r"`(test_\w+)`", works)))
    return found


def test_every_case_has_a_refusal_and_a_control_of_its_own() -> None:
    table = rows()
    assert set(table) == CASES
    assert not [case for case, (refused, works) in table.items() if not refused or not works or refused & works]


def test_every_test_that_is_named_is_there() -> None:
    written = "\n".join(path.read_text() for path in TESTS.rglob("test_*.py"))
    there = set(re.findall(r"def (test_\w+)\(", written))
    named = {name for both in rows().values() for tests in both for name in tests}
    assert named - there == set()
