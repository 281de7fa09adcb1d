"""Which file a command would execute: a program in the system's folders, a script in the workspace."""

from __future__ import annotations

import hashlib
import pwd
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from os import getuid
from pathlib import Path

from quarterdeck.adapters.tools.beneath import locate, read_whole
from quarterdeck.kernel.errors import ToolFailed

FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
LARGEST_SCRIPT = 4 << 20
MOST_SCRIPTS = 20
DEEPEST = 3
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MAKES = re.compile(r"g?make")
_INTERPRETERS = re.compile(
    r"(ba|da|z|k|a|fi)?sh|source|\.|python[0-9.]*|pypy[0-9.]*|perl[0-9.]*|ruby[0-9.]*|node|deno|bun|php[0-9.]*|lua[0-9.]*|"
    r"awk|[gm]awk|sed|tclsh|expect|Rscript|java|go|just|" + _MAKES.pattern
)
_SET = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_BETWEEN = re.compile(r"[();<>|&\n]+")
# Words that run what stands behind them.
_BEFORE = frozenset(
    {
        *("env", "nice", "nohup", "timeout", "time", "exec", "command", "xargs", "setsid", "stdbuf", "ionice", "sudo"),
        *("if", "then", "else", "do", "while", "until", "!", "{"),
    }
)


def environment(*, sandbox: bool = False) -> dict[str, str]:
    """All that a command is told by its environment: ours alone, never the server's."""
    return {
        "PATH": "/usr/local/bin:" + ":".join(FOLDERS),
        "HOME": "/tmp" if sandbox else _home(),  # noqa: S108 - its own, in memory
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TMPDIR": "/tmp",  # noqa: S108
    }


def _home() -> str:
    try:
        return pwd.getpwuid(getuid()).pw_dir
    except KeyError:  # a user without a name, as in containers
        return "/"


def program(word: str) -> str | None:
    """The absolute path of a system program, or None: it must be root's, and nobody else may write to it."""
    if "/" in word:
        path = Path(word)
        return word if str(path.parent) in FOLDERS and _roots(path) else None
    return next((f"{folder}/{word}" for folder in FOLDERS if _roots(Path(folder, word))), None)


def _roots(path: Path) -> bool:
    try:
        real = path.resolve(strict=True)
        seen, above = real.stat(), real.parent.stat()
    except (OSError, RuntimeError, ValueError):
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    owned = all(each.st_uid == 0 and not each.st_mode & others for each in (seen, above))
    return owned and stat.S_ISREG(seen.st_mode) and bool(seen.st_mode & stat.S_IXUSR)


def scripts(command: str, workspace: str) -> Mapping[str, str]:
    """The digests of the files in the workspace that a command says it will run."""
    found: dict[str, str] = {}
    for folder, name in _named(command, ".", 0):
        if len(found) >= MOST_SCRIPTS:
            break
        try:
            place = locate(workspace, f"{folder}/{name}" if not name.startswith("/") else name)
            if place.inside and Path(place.real).is_file():
                content, _ = read_whole(place, LARGEST_SCRIPT)
                found[f"script {place.path}"] = hashlib.sha256(content).hexdigest()
        except ToolFailed:  # not a file that could be run
            continue
    return found


def _named(command: str, folder: str, depth: int) -> Iterator[tuple[str, str]]:
    """The words that name what is run, each with the folder that the command is in by then."""
    for words in _parts(command):
        name, rest = _verb(words)
        if name == "cd" and rest:
            folder = f"{folder}/{rest[0]}" if not rest[0].startswith("/") else rest[0]
        if "/" in name:
            yield folder, name
        runs = name.rpartition("/")[2]
        if not _INTERPRETERS.fullmatch(runs):
            continue
        yield from ((folder, word) for word in rest)
        if _MAKES.fullmatch(runs):
            yield from ((folder, makefile) for makefile in MAKEFILES)
        if depth < DEEPEST:
            for word in rest:
                if " " in word:
                    yield from _named(word, folder, depth + 1)


def _parts(command: str) -> list[list[str]]:
    """Simple commands, roughly: what is bound too much only asks once more."""
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # quotes that do not end
        words = command.split()
    parts: list[list[str]] = [[]]
    for word in words:
        if _BETWEEN.fullmatch(word):
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _verb(words: list[str]) -> tuple[str, list[str]]:
    """The word that is run, and what stands behind it."""
    passing = False
    for at, word in enumerate(words):
        if _SET.match(word) or (passing and (word.startswith("-") or word[:1].isdigit())):
            continue
        if word in _BEFORE:
            passing = True
            continue
        return word, words[at + 1 :]
    return "", []
