"""The commands that run unasked, run for real with every flag they may have: nothing changes, here or around."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from harmless_looking import EVERYDAY, QUERIES

from quarterdeck.engine.policy import reading
from quarterdeck.engine.policy.shell import judge

FILES = {"a": "one\ntwo\n", "b": "two\nthree\n", "src/a.py": "class A: word\n", "package.json": '{"name": "x"}\n'}
FILES |= {
    name: "word, 1\n" for command in EVERYDAY for name in command.split() if "." in name.strip(".") and "/" not in name
}
VALUES = {"-iname": "a", "-name": "a", "-type": "f", "-d": ","}


def with_every_flag() -> list[str]:
    """Each form of a reading command with each of its flags."""
    commands = []
    for program, form in reading._FORMS.items():
        operands = [
            *([".name"] if program == "jq" else ["word"] if form.first else []),
            *["a", "b"][: max(1, form.fewest)],
        ]
        if not form.most:
            operands = []
        valued = [f"{flag} {'1' if program == 'du' else VALUES.get(flag, '2')}" for flag in form.valued]
        commands += [
            " ".join((program, *([flag] if flag else []), *operands)) for flag in ["", *sorted(form.flags), *valued]
        ]
    return commands


def everything(root: Path) -> dict[str, object]:
    found = {path: path.lstat() for path in root.rglob("*")}
    return {str(path): (at.st_mode, at.st_size, at.st_mtime_ns, at.st_nlink) for path, at in found.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "work" / "link").symlink_to("a")
    (tmp_path / "home").mkdir()
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": os.defpath, "HOME": str(folder / "home"), "TMPDIR": str(folder / "home"), "LC_ALL": "C"}
    return subprocess.run(
        judge(command).argv,
        check=False,
        cwd=folder / "work",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )


def installed(commands: list[str]) -> list[str]:
    return [command for command in commands if shutil.which(command.split()[0], path=os.defpath)]


def test_no_command_that_runs_unasked_changes_anything(folder: Path) -> None:
    commands = installed([*EVERYDAY, *with_every_flag(), *QUERIES])
    assert len(commands) > 250
    assert [command for command in commands if judge(command).risk != "low"] == []
    before = everything(folder)
    changed = [command for command in commands if run(command, folder) and everything(folder) != before]
    assert changed == []


def test_a_command_that_changes_something_would_be_seen(folder: Path) -> None:
    before = everything(folder)
    assert run("touch new", folder).returncode == 0
    assert everything(folder) != before


def test_everyday_commands_say_what_they_were_asked(folder: Path) -> None:
    assert run("grep -rn word src", folder).stdout == b"src/a.py:1:class A: word\n"
    assert run("head -n 1 a", folder).stdout == b"one\n"
    assert run("cat README.md", folder).stdout == b"word, 1\n"
