"""Commands that would become root: one plain `sudo` command may be asked about, anything else is refused."""

from __future__ import annotations

import re

from quarterdeck.engine.policy.command import Judged
from quarterdeck.engine.policy.danger import dangers, programs
from quarterdeck.engine.policy.lexing import Script
from quarterdeck.engine.policy.programs import ELEVATORS, INTERPRETERS, TALKERS, WRAPPERS

_NAMED = re.compile(rf"(?<![\w.-])(?:{'|'.join(sorted(ELEVATORS))})(?![\w.-])")
_ASSIGNMENT = re.compile(r"[^/]*=")
_SYSTEM_FOLDER = re.compile(r"/(?:usr/(?:local/)?)?s?bin/[^/]+")
_EDITORS = frozenset(["visudo", "vipw", "vigr", "nano", "pico", "less", "more", "most", "man"])

_ONE_PLAIN = "Write one plain command, `sudo` and what it is to run, with single blanks, no quotes and no options."


def elevates(command: str, script: Script) -> bool:
    if any(program == "su" for words in script.commands for program, _ in programs(words)):
        return True
    named = _NAMED.search(command) or any(
        word.rpartition("/")[2] in ELEVATORS for words in script.commands for word in words
    )
    return bool(named) and not _only_talks(script)


def _only_talks(script: Script) -> bool:
    """Whether its commands do no more than to pass the word on."""
    return all(words[0] in TALKERS or words[:2] == ["git", "commit"] for words in script.commands)


def privileged(words: tuple[str, ...] | None, script: Script) -> Judged:
    if words is None or words[0] != "sudo":
        return _refused(f"Only sudo makes anyone root here, and nothing but sudo stands beside it. {_ONE_PLAIN}")
    argv = words[1:]
    if fault := _fault(argv):
        return _refused(fault)
    for danger in dangers(" ".join(argv), script):
        if danger.risk == "forbidden":
            return _refused(danger.why)
    return Judged("high", "privileged", "sudo", argv, "It runs as root, outside of any sandbox.")


def _fault(argv: tuple[str, ...]) -> str | None:
    if not argv:
        return f"sudo is given nothing to run. {_ONE_PLAIN}"
    first, name = argv[0], argv[0].rpartition("/")[2]
    if first.startswith("-"):
        return f"Options of sudo, such as {first}, are never used. {_ONE_PLAIN}"
    if _ASSIGNMENT.match(first):
        return f"sudo is given no variables, such as {first}. {_ONE_PLAIN}"
    if "/" in first and not _SYSTEM_FOLDER.fullmatch(first):
        return f"{first} is not in a folder of programs that belongs to root; install it there, or name one that is."
    if name in ELEVATORS or any(word.rpartition("/")[2] in ELEVATORS for word in argv):
        return f"One command becomes root once; {name} would do so again. {_ONE_PLAIN}"
    if name in WRAPPERS | INTERPRETERS | _EDITORS:
        return f"{name} would run as root what is not written here. Write the command itself behind sudo."
    return None


def _refused(why: str) -> Judged:
    return Judged("forbidden", "privileged", "none", (), why)
