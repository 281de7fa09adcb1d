"""Paths lead nowhere but beneath the workspace, whatever was planted there and whoever swaps what meanwhile."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from toolroom import files

from quarterdeck.adapters.tools import beneath
from quarterdeck.adapters.tools.beneath import Place, locate, opened, read_whole
from quarterdeck.kernel.errors import ToolFailed

SECRET = "the secret outside"


@pytest.fixture(params=["openat2", "walk"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of opening beneath a folder: the kernel's, and ours where the kernel has none."""
    if request.param == "walk":
        monkeypatch.setattr(beneath, "_known", [False])
    elif not beneath._kernel_can():
        pytest.skip("this kernel has no openat2")
    return str(request.param)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "sub").mkdir(parents=True)
    (folder / "note.txt").write_text("a note")
    (folder / "sub" / "deep.txt").write_text("deep")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    return folder


@pytest.mark.parametrize(
    "path",
    ["note.txt", "./note.txt", "sub/../note.txt", "sub//../note.txt", "../workspace/note.txt", "ABSOLUTE", "inner"],
)
async def test_a_path_that_leads_inside_is_read(workspace: Path, way: str, path: str) -> None:
    (workspace / "inner").symlink_to("sub/../note.txt")
    weighed = await files(workspace).weigh("file_read", path=path.replace("ABSOLUTE", f"{workspace}/note.txt"))
    assert (weighed.risk, weighed.action, weighed.effect, weighed.rule) == ("low", "file_read", "pure", None)
    done = await files(workspace).use("file_read", path=path.replace("ABSOLUTE", f"{workspace}/note.txt"))
    assert done.text == "a note"


@pytest.mark.parametrize(
    "path", ["../outside/secret.txt", "sub/../../outside/secret.txt", "ABSOLUTE", "link", "folder/secret.txt", "loop2"]
)
async def test_a_path_that_leads_outside_asks_and_is_read_when_allowed(workspace: Path, way: str, path: str) -> None:
    outside = workspace.parent / "outside" / "secret.txt"
    (workspace / "link").symlink_to(outside)
    (workspace / "folder").symlink_to("../outside")
    (workspace / "loop2").symlink_to("sub/../link")
    bench = files(workspace)
    deed = await bench.deed("file_read", path=path.replace("ABSOLUTE", str(outside)))
    weighed = deed.weighed
    assert (weighed.risk, weighed.action) == ("medium", "file_outside_workspace")
    assert weighed.bound["path"] == str(outside)
    assert str(outside) in weighed.shown
    assert (await bench.do(deed)).text == SECRET


async def test_what_is_outside_and_not_there_is_not_told_unasked(workspace: Path) -> None:
    bench = files(workspace)
    deed = await bench.deed("file_read", path="../outside/nothing")
    assert deed.weighed.risk == "medium"
    with pytest.raises(ToolFailed, match="is not there"):
        await bench.do(deed)


async def test_a_link_that_leads_elsewhere_than_it_did_voids_what_was_allowed(workspace: Path, way: str) -> None:
    other = workspace.parent / "outside" / "other.txt"
    other.write_text("other")
    link = workspace / "link"
    link.symlink_to(other)
    bench = files(workspace)
    deed = await bench.deed("file_read", path="link")
    link.unlink()
    link.symlink_to(workspace.parent / "outside" / "secret.txt")
    with pytest.raises(ToolFailed, match="not what it was when it was asked about"):
        await bench.do(deed)


async def test_a_file_outside_that_was_replaced_voids_what_was_allowed(workspace: Path) -> None:
    target = workspace.parent / "outside" / "target"
    target.write_text("one")
    bench = files(workspace)
    deed = await bench.deed("file_read", path=str(target))
    (workspace.parent / "two").write_text("two")
    (workspace.parent / "two").rename(target)
    with pytest.raises(ToolFailed, match="not what it was when it was asked about"):
        await bench.do(deed)


async def test_a_link_planted_inside_after_the_call_was_weighed_is_not_read_unasked(workspace: Path, way: str) -> None:
    bench = files(workspace)
    deed = await bench.deed("file_read", path="note.txt")
    assert deed.weighed.risk == "low"
    (workspace / "note.txt").unlink()
    (workspace / "note.txt").symlink_to("../outside/secret.txt")
    with pytest.raises(ToolFailed, match="not what it was when it was asked about"):
        await bench.do(deed)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("ok.txt\0.png", "NUL"),
        ("\0", "NUL"),
        ("x" * 5000, "4,096 bytes"),
        ("/proc/self/root/etc/passwd", "part of the system"),
        ("/proc/self/environ", "part of the system"),
        ("/dev/fd/3", "part of the system"),
        ("/dev/zero", "part of the system"),
        ("//dev/zero", "part of the system"),
        ("///proc/self/environ", "part of the system"),
        ("/sys/kernel", "part of the system"),
        ("../../../../../../../../../../dev/zero", "part of the system"),
        ("zero", "part of the system"),
        ("sub", "is a folder, not a file"),
        ("pipe", "is a pipe, not a file"),
        ("socket", "socket"),
        ("circle", "links are not followed"),
        ("%2e%2e/outside/secret.txt", "is not there"),
        ("..\\outside\\secret.txt", "is not there"),
        ("note.txt ", "is not there"),
        ("note.txt/", None),
        ("note.txt/x", "is not there"),
        ("~/.profile", "is not there"),
    ],
)
async def test_what_is_no_file_is_refused(workspace: Path, way: str, path: str, said: str | None) -> None:
    os.mkfifo(workspace / "pipe")
    (workspace / "zero").symlink_to("/dev/zero")
    (workspace / "circle").symlink_to("circle")
    with unix_socket(workspace / "socket"):
        if said is None:
            assert (await files(workspace).use("file_read", path=path)).text == "a note"
        else:
            assert said in await files(workspace).fails("file_read", path=path)


def test_overlong_utf_8_is_a_name_like_any_other(workspace: Path, way: str) -> None:
    """`..` and `/` written too long are not understood as such by anybody."""
    with (
        pytest.raises(ToolFailed, match="is not there"),
        opened(locate(str(workspace), "\udcc0\udcae\udcc0\udcae/x"), 0),
    ):
        pass


async def test_a_workspace_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "cannot be opened" in await files(tmp_path / "none").fails("file_read", path="x")


@pytest.mark.proof
def test_a_parent_that_is_swapped_for_a_link_all_the_time_leads_nowhere(workspace: Path, way: str, rounds: int) -> None:
    """The right file or a refusal; never what is outside. And the swap must be seen to hit, in both its states."""
    real, hidden = workspace / "sub", workspace / "hidden"
    (workspace.parent / "outside" / "deep.txt").write_text(SECRET)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            real.rename(hidden)
            real.symlink_to("../outside")
            real.unlink()
            hidden.rename(real)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: dict[str, int] = {}
    try:
        for nth in range(50 * 4000 * rounds):
            if nth >= 4000 * rounds and "deep" in seen and len(seen) > 1:
                break
            try:
                content = read_whole(Place(str(workspace), "sub/deep.txt", inside=True), 100)[0].decode()
            except ToolFailed as failed:
                content = str(failed).partition(" ")[2]
            seen[content] = seen.get(content, 0) + 1
    finally:
        stop.set()
        swapper.join()
    assert SECRET not in seen
    assert "deep" in seen, "the file was never there"
    assert len(seen) > 1, "the swap never hit"


@contextmanager
def unix_socket(path: Path) -> Iterator[None]:
    """Bound by a short name, for the long ones of temporary folders do not fit."""
    here = Path.cwd()
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(path.parent)
        try:
            listening.bind(path.name)
        finally:
            os.chdir(here)
        yield
