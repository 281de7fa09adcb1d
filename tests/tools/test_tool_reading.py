"""Looking at files gives bounded text, cut visibly, however large or strange what is looked at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from toolroom import files

from quarterdeck.adapters.tools import search
from quarterdeck.adapters.tools.bounded import MOST_TEXT, cut, decoded


async def test_a_large_file_is_read_in_parts_that_join_without_a_seam(tmp_path: Path) -> None:
    text = "".join(f"line {number}: строка 行\n" for number in range(9000))
    (tmp_path / "big.txt").write_text(text)
    size, offset, parts = len(text.encode()), 0, []
    while True:
        said = (await files(tmp_path).use("file_read", path="big.txt", offset=offset)).text
        if "more bytes; go on with offset" not in said:
            parts.append(said)
            break
        part, _, note = said.rpartition("\n… ")
        parts.append(part)
        offset = int(note.rpartition(" ")[2])
        assert note == f"{size - offset:,} more bytes; go on with offset {offset}"
    assert "".join(parts) == text
    assert len(parts) > 3


async def test_a_part_that_begins_or_ends_within_a_character_is_text_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "three").write_text("行行行")
    said = (await files(tmp_path).use("file_read", path="three", offset=1, limit=6)).text
    assert said == "行\n… 4 more bytes; go on with offset 5" or said.startswith("行")
    assert "\ufffd" not in said


async def test_beyond_the_end_there_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "short").write_text("abc")
    assert (
        await files(tmp_path).use("file_read", path="short", offset=9)
    ).text == "short has 3 bytes; there is nothing at 9."
    (tmp_path / "empty").touch()
    assert (await files(tmp_path).use("file_read", path="empty")).text == ""


@pytest.mark.parametrize("content", [b"\x7fELF\x02\0\0", b"\xff\xfe\xfa text", b"a\0b"])
async def test_what_is_no_text_is_said_and_not_dumped(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "blob").write_bytes(content)
    said = (await files(tmp_path).use("file_read", path="blob")).text
    assert said.startswith(f"blob is not text: {len(content)} bytes")
    assert "\0" not in said


async def test_a_file_of_ten_tebibytes_of_nothing_is_read_at_once_and_bounded(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10 << 40)
    said = (await files(tmp_path).use("file_read", path="sparse")).text
    assert said.startswith("sparse is not text: 10,995,116,277,760 bytes")
    assert "larger than" in await files(tmp_path).fails("file_edit", path="sparse", old="a", new="b")


async def test_a_pipe_is_refused_without_waiting_for_its_other_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is a pipe" in await files(tmp_path).fails("file_read", path="pipe")
    assert "pipe (a pipe)" in (await files(tmp_path).use("list_dir")).text
    assert (await files(tmp_path).use("search_files", pattern="x")).text == "Nothing was found."


async def test_a_folder_is_listed_with_what_each_thing_is(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("12345")
    (tmp_path / "a").mkdir()
    (tmp_path / "c").symlink_to("/etc/passwd")
    assert (await files(tmp_path).use("list_dir")).text == "a/\nb.txt (5 bytes)\nc (a link)"
    assert (await files(tmp_path).use("list_dir", path="a")).text == "a is empty."
    assert "no folder" in await files(tmp_path).fails("list_dir", path="b.txt")


async def test_a_folder_of_ten_thousand_names_is_cut_visibly(tmp_path: Path) -> None:
    for number in range(10_000):
        (tmp_path / f"{number:05}").touch()
    lines = (await files(tmp_path).use("list_dir")).text.split("\n")
    assert lines[0] == "00000 (0 bytes)"
    assert lines[-1] == "… 8,000 more entries"
    assert len(lines) == 2001


async def test_long_names_are_cut_visibly_too(tmp_path: Path) -> None:
    for number in range(1000):
        (tmp_path / f"{number:04}{'n' * 200}").touch()
    said = (await files(tmp_path).use("list_dir")).text
    assert len(said.encode()) < MOST_TEXT + 100
    assert said.rpartition("\n")[2].startswith("… ")


async def test_a_name_that_is_no_text_is_listed_as_far_as_it_can_be(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad-\xff")).write_text("needle")
    assert (await files(tmp_path).use("list_dir")).text == "bad-? (6 bytes)"
    assert (await files(tmp_path).use("search_files", pattern="needle")).text == "bad-?:1: needle"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("needle")
    (tmp_path / "a.py").write_text("one\nneedle two\n")
    (tmp_path / "src" / "b.md").write_text("Needle\nno\nNEEDLE")
    (tmp_path / "src" / "deep" / "c.py").write_text("needle.*[x")
    (tmp_path / "blob").write_bytes(b"needle\0")
    (tmp_path / "link").symlink_to("/etc")
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"pattern": "needle"}, "a.py:2: needle two\nsrc/deep/c.py:1: needle.*[x"),
        ({"pattern": "needle.*[x"}, "src/deep/c.py:1: needle.*[x"),
        (
            {"pattern": "NEEDLE", "ignore_case": True, "names": "src/*"},
            "src/b.md:1: Needle\nsrc/b.md:3: NEEDLE\nsrc/deep/c.py:1: needle.*[x",
        ),
        ({"pattern": "needle", "names": "*.py"}, "a.py:2: needle two\nsrc/deep/c.py:1: needle.*[x"),
        ({"pattern": "needle", "path": "src"}, "src/deep/c.py:1: needle.*[x"),
        ({"pattern": "needle", "path": "a.py"}, "a.py:2: needle two"),
        ({"pattern": "one\nneedle"}, "a.py:1: one"),
        ({"pattern": "", "names": "*.py"}, "a.py\nsrc/deep/c.py"),
        ({"pattern": "root:"}, "Nothing was found."),
    ],
)
async def test_a_literal_text_is_found_where_it_is(tree: Path, asked: dict[str, object], found: str) -> None:
    said = (await files(tree).use("search_files", **asked)).text
    if asked.get("path") == "src":
        found = found.replace("src/deep", "src/deep")
    assert said == found


async def test_a_search_for_nothing_at_all_is_refused(tree: Path) -> None:
    assert "'pattern' is empty" in await files(tree).fails("search_files", pattern="")


async def test_a_search_stops_at_its_bounds_and_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "many").write_text("needle\n" * 1000 + "needle" + "x" * 500)
    lines = (await files(tree).use("search_files", pattern="needle", path="many")).text.split("\n")
    assert lines[-1] == "… there may be more: stopped after 200"
    assert len(lines) == 201
    monkeypatch.setattr(search, "PATIENCE_S", 0.0)
    assert (await files(tree).use("search_files", pattern="needle")).text.startswith(
        "… there may be more: stopped after"
    )
    monkeypatch.undo()
    (tree / "large").write_bytes(b"needle" + b" " * (5 << 20))
    assert "(1 files larger than" in (await files(tree).use("search_files", pattern="needle", path=".")).text
    (tree / "line").write_text("needle" + "x" * 500)
    said = (await files(tree).use("search_files", pattern="needle", path="line")).text
    assert said.endswith("x … 206 more characters")


def test_a_pattern_of_names_that_would_take_for_ever_elsewhere_ends(tmp_path: Path) -> None:
    """In a process of its own, so that a failure is a failure and not a hang."""
    (tmp_path / ("a" * 200)).write_text("x")
    script = (
        "from quarterdeck.adapters.tools.search import SearchFiles, search\n"
        "from quarterdeck.adapters.tools.beneath import Place\n"
        f"print(search(Place({str(tmp_path)!r}, '.', True), SearchFiles('x', names='*a' * 49 + 'b')))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout == "Nothing was found.\n"


async def test_searching_outside_asks(tree: Path) -> None:
    weighed = await files(tree).weigh("search_files", pattern="x", path="..")
    assert (weighed.risk, weighed.action) == ("medium", "file_outside_workspace")
    weighed = await files(tree).weigh("search_files", pattern="x", path="link")
    assert (weighed.risk, weighed.action) == ("medium", "file_outside_workspace")


def test_a_cut_is_seen_and_never_within_a_character() -> None:
    assert cut("abc", 3) == "abc"
    assert cut("abcd", 3) == "abc\n… 1 more bytes"
    assert cut("行行", 4) == "行\n… 3 more bytes"
    assert decoded("行".encode()[1:] + b"x" + "行".encode()[:2]) == "x"
    assert decoded(b"\xe8") == ""
    assert decoded(b"x\xe8x") is None
