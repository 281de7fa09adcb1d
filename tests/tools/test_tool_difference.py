"""A difference shows all that differs: whoever applies it gets the new text."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.adapters.tools.difference import MOST_COMPARED, difference

LINES = st.lists(st.sampled_from(["a", "b", "c", "", " x", "\u2028", "\r"]), max_size=30)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


def applied(before: str, diff: str) -> str:
    """A patch by hand: strict about the context, the counts and the ends of lines."""
    old = before.split("\n")
    lines = [line + "\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    patch = diff.split("\n")[2:-1]
    out: list[str] = []
    at = number = 0
    while number < len(patch):
        header = patch[number].split()
        begin, count = map(int, header[1][1:].split(","))
        start = begin - 1 if count else begin
        out += lines[at:start]
        at, number = start, number + 1
        while number < len(patch) and not patch[number].startswith("@@"):
            mark, line = patch[number][0], patch[number][1:] + "\n"
            if number + 1 < len(patch) and patch[number + 1].startswith("\\"):
                line, number = line[:-1], number + 1
            number += 1
            if mark in " -":
                assert lines[at] == line
                at += 1
            if mark in " +":
                out.append(line)
    return "".join(out + lines[at:])


@given(TEXTS, TEXTS)
def test_applied_it_gives_the_new_text(before: str, after: str) -> None:
    diff = difference("f", before, after)
    assert (diff == "") == (before == after)
    if diff:
        assert applied(before, diff) == after


@pytest.mark.parametrize("size", [10, MOST_COMPARED * 3])
def test_a_change_of_everything_is_shown_whole(size: int) -> None:
    before, after = "a\n" * size, "".join(f"b{number}\n" for number in range(size))
    diff = difference("f", before, after)
    assert diff.count("\n-a") == size
    assert diff.count("\n+b") == size
    assert applied(before, diff) == after


def test_far_down_a_long_file_the_lines_are_numbered_right() -> None:
    before = "".join(f"{number}\n" for number in range(1, 5001))
    diff = difference("f", before, before.replace("\n4000\n", "\nx\n"))
    assert diff == ("--- f\n+++ f\n@@ -3997,7 +3997,7 @@\n 3997\n 3998\n 3999\n-4000\n+x\n 4001\n 4002\n 4003\n")


def test_a_missing_newline_at_the_end_is_seen() -> None:
    assert difference("f", "a", "a\n") == "--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch program here")
def test_the_patch_program_understands_it(tmp_path: Path) -> None:
    before, after = "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n10"
    (tmp_path / "f").write_text(before)
    subprocess.run(["patch", "f"], input=difference("f", before, after), text=True, cwd=tmp_path, check=True)
    assert (tmp_path / "f").read_text() == after
