"""Files change only as was shown, only if they still are what was shown, and all at once."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from toolroom import files

from quarterdeck.kernel.errors import ToolFailed


async def test_a_write_asks_and_shows_the_difference(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    bench = files(tmp_path)
    deed = await bench.deed("file_write", path="a.txt", content="one\n2\nthree\n")
    weighed = deed.weighed
    assert (weighed.risk, weighed.action, weighed.effect) == ("medium", "file_write", "probeable")
    assert weighed.shown == "file_write a.txt\n--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\nthree\n", "weighing changes nothing"
    done = await bench.do(deed)
    assert (tmp_path / "a.txt").read_text() == "one\n2\nthree\n"
    assert done.text.startswith("a.txt now holds 12 bytes.\n--- a.txt")
    assert os.listdir(tmp_path) == ["a.txt"], "no draft is left"


async def test_a_new_file_is_made_with_the_folders_it_needs(tmp_path: Path) -> None:
    await files(tmp_path).use("file_write", path="x/y/z.txt", content="new")
    assert (tmp_path / "x/y/z.txt").read_text() == "new"
    deed = await files(tmp_path).deed("file_write", path="empty", content="")
    assert "new, empty file" in deed.weighed.shown
    await files(tmp_path).do(deed)
    assert (tmp_path / "empty").read_bytes() == b""


async def test_what_is_no_text_is_named_by_its_digest_and_what_it_becomes_is_shown_whole(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"\0\1\2")
    shown = (await files(tmp_path).weigh("file_write", path="blob", content="text")).shown
    digest = hashlib.sha256(b"\0\1\2").hexdigest()
    assert shown == f"file_write blob\nblob is not text now (3 bytes, sha256 {digest}); it becomes:\ntext"


async def test_an_edit_replaces_exactly_and_keeps_mode_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(b"#!/bin/sh\r\necho \xff one\r\n")
    path.chmod(0o754)
    done = await files(tmp_path).use("file_edit", path="run.sh", old="one", new="два")
    assert path.read_bytes() == b"#!/bin/sh\r\necho \xff " + "два".encode() + b"\r\n"
    assert path.stat().st_mode & 0o7777 == 0o754
    assert done.ok


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"old": "absent", "new": "x"}, "does not occur"),
        ({"old": "a", "new": "x"}, "occurs 3 times"),
        ({"old": "a", "new": "x", "count": 2}, "occurs 3 times"),
        ({"old": "", "new": "x"}, "'old' must be at least 1"),
    ],
)
async def test_an_edit_that_does_not_match_exactly_is_refused(
    tmp_path: Path, asked: dict[str, object], said: str
) -> None:
    (tmp_path / "f").write_text("a a a b")
    assert said in await files(tmp_path).fails("file_edit", path="f", **asked)
    assert (tmp_path / "f").read_text() == "a a a b"


async def test_an_edit_with_the_right_count_replaces_each(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a a a b")
    await files(tmp_path).use("file_edit", path="f", old="a", new="x", count=3)
    assert (tmp_path / "f").read_text() == "x x x b"


async def test_an_edit_of_what_is_not_there_says_so(tmp_path: Path) -> None:
    assert "is not there; file_write makes" in await files(tmp_path).fails("file_edit", path="f", old="a", new="b")


@pytest.mark.parametrize("change", ["content", "same size", "removed", "appeared", "link", "hard link", "folder"])
async def test_a_file_that_changed_since_it_was_asked_about_is_left_alone(tmp_path: Path, change: str) -> None:
    path = tmp_path / "f"
    if change != "appeared":
        path.write_text("before")
    bench = files(tmp_path)
    deed = await bench.deed("file_write", path="f", content="after")
    if change == "content":
        path.write_text("somebody else's")
    elif change == "same size":
        path.write_text("BEFORE")
    elif change == "removed":
        path.unlink()
    elif change == "appeared":
        path.write_text("new")
    elif change == "link":
        path.rename(tmp_path / "real")
        path.symlink_to("real")
    elif change == "hard link":
        os.link(path, tmp_path / "second")
    else:
        path.unlink()
        path.mkdir()
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(ToolFailed, match=r"changed since it was asked about|hard links|is a folder"):
        await bench.do(deed)
    assert (path.read_bytes() if path.is_file() else None) == before


async def test_an_unchanged_file_is_written_although_it_was_touched(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("before")
    bench = files(tmp_path)
    deed = await bench.deed("file_write", path="f", content="after")
    (tmp_path / "f").touch()
    await bench.do(deed)
    assert (tmp_path / "f").read_text() == "after"


@pytest.mark.parametrize(
    "path",
    [".git/hooks/pre-commit", ".git", ".GIT/config", "sub/.git/config", ".quarterdeck/policy", "x/../.git/config"],
)
async def test_protected_folders_are_not_written(tmp_path: Path, path: str) -> None:
    (tmp_path / "x").mkdir()
    assert "protected folder" in await files(tmp_path).fails("file_write", path=path, content="x")
    (tmp_path / "hidden").symlink_to(".git")
    (tmp_path / ".git").mkdir(exist_ok=True)
    assert "protected folder" in await files(tmp_path).fails("file_write", path="hidden/config", content="x")
    await files(tmp_path).use("file_write", path=".gitignore", content="x")


async def test_a_file_with_two_names_is_not_written(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "outside").write_text("outside")
    os.link(tmp_path / "outside", workspace / "inside")
    assert "hard links" in await files(workspace).fails("file_write", path="inside", content="x")
    assert (tmp_path / "outside").read_text() == "outside"


async def test_a_write_outside_asks_louder_and_is_done_when_allowed(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "link").symlink_to("../target")
    bench = files(workspace)
    deed = await bench.deed("file_write", path="link", content="x")
    assert (deed.weighed.risk, deed.weighed.action) == ("high", "file_outside_workspace")
    assert str(tmp_path / "target") in deed.weighed.shown
    await bench.do(deed)
    assert (tmp_path / "target").read_text() == "x"


async def test_a_folder_swapped_for_a_link_is_not_written_through(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "sub").mkdir(parents=True)
    outside.mkdir()
    bench = files(workspace)
    deed = await bench.deed("file_write", path="sub/f", content="x")
    (workspace / "sub").rmdir()
    (workspace / "sub").symlink_to(outside)
    with pytest.raises(ToolFailed, match="changed since"):
        await bench.do(deed)
    assert os.listdir(outside) == []


@pytest.mark.parametrize("existing", [True, False])
async def test_a_probe_tells_whether_it_was_written(tmp_path: Path, existing: bool) -> None:
    if existing:
        (tmp_path / "f").write_text("before")
    bench = files(tmp_path)
    deed = await bench.deed("file_write", path="f", content="after")
    assert await bench.box.probe(deed) is None
    done = await bench.do(deed)
    probed = await bench.box.probe(deed)
    assert probed is not None
    assert probed.digest == done.digest
    (tmp_path / "f").write_text("something else since")
    assert await bench.box.probe(deed) is None


@pytest.mark.parametrize("tool", ["file_write", "file_edit"])
async def test_what_is_allowed_is_what_is_written_whatever_the_call_says_later(tmp_path: Path, tool: str) -> None:
    (tmp_path / "f").write_text("before")
    bench = files(tmp_path)
    asked = {"content": "after"} if tool == "file_write" else {"old": "before", "new": "after"}
    deed = await bench.deed(tool, path="f", **asked)
    forged = replace(deed, call=replace(deed.call, arguments='{"path": "f", "content": "forged"}'))
    await bench.do(forged)
    assert (tmp_path / "f").read_text() == "after"
    assert (await bench.box.probe(deed)) is not None


@pytest.mark.proof
def test_a_writer_that_is_killed_leaves_the_old_or_the_new_and_the_probe_knows_which(
    tmp_path: Path, rounds: int
) -> None:
    script = tmp_path / "writer.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import asyncio, sys
            sys.path.insert(0, {str(Path(__file__).parent)!r})
            from pathlib import Path
            from toolroom import files
            async def main():
                place = Path(sys.argv[1])
                for number in range(10**6):
                    print("go", flush=True)
                    await files(place).use("file_write", path="f", content=f"{{number % 10}}" * 100_000)
            asyncio.run(main())
            """
        )
    )
    place = tmp_path / "workspace"
    place.mkdir()
    for nth in range(4 * rounds):
        with subprocess.Popen([sys.executable, str(script), str(place)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(2 + nth % 7):
                writer.stdout.readline()
            writer.kill()
        content = (place / "f").read_text()
        assert len(content) == 100_000
        assert len(set(content)) == 1


async def test_what_a_crash_left_is_cleared_away_when_it_is_tried_again(tmp_path: Path) -> None:
    bench = files(tmp_path)
    deed = await bench.deed("file_write", path="f", content="x")
    await bench.do(deed)
    names = []
    real = os.rename

    def crash(*args: object, **more: object) -> None:
        names.extend(os.listdir(tmp_path))
        raise KeyboardInterrupt

    again = await bench.deed("file_write", path="f", content="y")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "rename", crash)
        patched.setattr(os, "unlink", lambda *args, **more: None)
        with pytest.raises(KeyboardInterrupt):
            bench.box._tools["file_write"]._write(again, _asked(again))  # type: ignore[attr-defined]
    assert os.rename is real
    assert len(os.listdir(tmp_path)) == 2, "the draft is left, as after a crash"
    await bench.do(again)
    assert os.listdir(tmp_path) == ["f"]


def _asked(deed: object) -> object:
    from quarterdeck.adapters.tools.arguments import read
    from quarterdeck.adapters.tools.writing import WriteFile

    return read(WriteFile, deed.weighed.arguments)  # type: ignore[attr-defined]


@pytest.mark.parametrize("existing", [True, False])
async def test_a_file_that_changes_while_the_draft_is_written_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bool
) -> None:
    """Somebody writes at the very last moment that can still be seen."""
    path = tmp_path / "f"
    if existing:
        path.write_text("before")
    bench = files(tmp_path)
    deed = await bench.deed("file_write", path="f", content="after")
    fsync = os.fsync

    def somebody_writes(fd: int) -> None:
        fsync(fd)
        path.write_text("somebody else's")

    monkeypatch.setattr(os, "fsync", somebody_writes)
    with pytest.raises(ToolFailed, match="changed while it was written"):
        await bench.do(deed)
    monkeypatch.undo()
    assert path.read_text() == "somebody else's"
    assert os.listdir(tmp_path) == ["f"]
