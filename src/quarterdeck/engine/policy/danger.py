"""What a shell command plainly would do, as far as its words tell. This may raise a risk, and never lowers one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from quarterdeck.engine.policy.lexing import WRITES, Script, taken_apart
from quarterdeck.engine.policy.programs import (
    DESTROYERS,
    DESTROYING_VERBS,
    DEVICE_WRITERS,
    FETCHERS,
    KEYWORDS,
    NETWORK_VERBS,
    REMOTE,
    SENDING_VERBS,
    SHELLS,
    WRAPPERS,
)
from quarterdeck.kernel.parts import Risk

MOST_COMMANDS, DEEPEST = 50, 8
_WITHIN_REACH = 16  # how many words behind a wrapped one are taken for its arguments

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_SCRIPTED = re.compile(r"[\s;&|]")
_DEVICE = re.compile(
    r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|dm-|md|loop|nbd|zram|ram|mtd|sr|mem|kmem|port|nvram)"
)
_TOP = re.compile(
    r"/|~\w*|\$HOME|/(?:bin|boot|dev|etc|home|lib|lib64|opt|proc|root|sbin|srv|sys|usr|var|Users|System|Applications)"
)
_BOMB = re.compile(r"(?<![\w:.])([\w:.]{1,64})\s{0,9}(?:\(\s{0,9}\)\s{0,9})?\{[^{}]{0,200}?\1\s{0,9}\|\s{0,9}\1")


@dataclass(frozen=True, slots=True)
class Danger:
    risk: Risk
    action: str
    why: str


def scripts_in(command: str) -> Script:
    """All that would run, with what is handed as text to a shell that is started."""
    script = taken_apart(command)
    seen, at = script.commands, 0
    runs_text = any(program in SHELLS for words in seen for program, _ in programs(words))
    while at < len(seen) <= MOST_COMMANDS:
        for word in seen[at]:
            if _SCRIPTED.search(word) and (runs_text or "$(" in word or "`" in word):
                inner = taken_apart(word)
                if inner.commands != [[word]]:
                    seen.extend(inner.commands)
        at += 1
    return script


def programs(words: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The program of a simple command with its arguments; also what stands first in the body of a function, and behind
    a wrapper each word that could be what it starts."""
    begin, reach = 0, len(words)
    while begin < len(words):
        at = _first(words, begin)
        if at == len(words):
            return
        program = _name(words[at])
        yield program, words[at + 1 : at + 1 + reach]
        reach = _WITHIN_REACH
        if program in WRAPPERS:
            yield from ((_name(words[n]), words[n + 1 : n + 1 + reach]) for n in range(at + 1, len(words)))
            return
        begin = words.index("{", at) + 1 if "{" in words[at:] else len(words)


def _first(words: list[str], begin: int) -> int:
    while begin < len(words) and (words[begin] in KEYWORDS or _ASSIGNMENT.match(words[begin])):
        begin += 1
    return begin


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def dangers(command: str, script: Script) -> Iterator[Danger]:
    if _BOMB.search(command):
        yield Danger("forbidden", "destructive", "It is a fork bomb: it would fill the machine until nothing works.")
    for words in script.commands:
        if any(one == WRITES and _DEVICE.match(target) for one, target in pairwise(words)):
            yield _over_a_device("its output")
        for program, arguments in programs(words):
            yield from _of_program(program, arguments)
    if "/dev/tcp/" in command or "/dev/udp/" in command:
        yield Danger("high", "network", "It opens a connection through /dev/tcp.")
    names = {program for words in script.commands for program, _ in programs(words)}
    if names & FETCHERS and names & SHELLS:
        yield Danger("high", "network", "It fetches something and starts a shell, which may run what was fetched.")


def _of_program(program: str, arguments: list[str]) -> Iterator[Danger]:
    if irredeemable := _irredeemable(program, arguments):
        yield irredeemable
    yield from _destroying(program, arguments)
    yield from _talking(program, arguments)


def _irredeemable(program: str, arguments: list[str]) -> Danger | None:
    """What nobody means, and what cannot be taken back: it is refused whoever asks."""
    tops = [target for target in arguments if _is_top(target)]
    sweeping = "-delete" in arguments if program == "find" else _has(arguments, "rR", "--recursive")
    if tops and sweeping and program in {"rm", "chmod", "chown", "chgrp", "find"}:
        return Danger(
            "forbidden", "destructive", f"It would sweep over all of {tops[0]}; name the very folder instead."
        )
    if program == "mv" and arguments[:-1] and any(map(_is_top, arguments[:-1])):
        return Danger("forbidden", "destructive", "It would move a whole system or home folder away.")
    if program == "rm" and "--no-preserve-root" in arguments:
        return Danger("forbidden", "destructive", "It asks rm to delete the root of the system.")
    written = arguments[-1:] if program in {"cp", "mv", "install"} else arguments
    targets = [target.removeprefix("of=") for target in written if program != "dd" or target.startswith("of=")]
    if (program in DEVICE_WRITERS or program.startswith("mkfs")) and any(map(_DEVICE.match, targets)):
        return _over_a_device(program)
    return None


def _destroying(program: str, arguments: list[str]) -> Iterator[Danger]:
    if program in DESTROYERS or program.startswith("mkfs"):
        yield Danger("high", "destructive", f"{program} deletes, overwrites or ends things.")
    if found := [verb for verb in arguments if verb in DESTROYING_VERBS.get(program, ())]:
        yield Danger("high", "destructive", f"{program} {found[0]} takes away what may not come back.")
    if program in {"chmod", "chown", "chgrp", "setfacl"} and _has(arguments, "R", "--recursive"):
        yield Danger("high", "destructive", f"{program} changes the rights of everything beneath a folder.")
    if program == "dd" and any(argument.startswith("of=") for argument in arguments):
        yield Danger("high", "destructive", "dd overwrites what it writes to.")
    if program == "git" and "push" in arguments and _has(arguments, "f", "--force"):
        yield Danger("high", "destructive", "git push with force rewrites the history of others.")


def _talking(program: str, arguments: list[str]) -> Iterator[Danger]:
    if program in REMOTE:
        yield Danger("high", "network", f"{program} reaches another machine, and may send things there.")
    elif program in FETCHERS:
        yield Danger("medium", "network", f"{program} needs the network.")
    if found := [verb for verb in arguments if verb in NETWORK_VERBS.get(program, ())]:
        risk: Risk = "high" if found[0] in SENDING_VERBS else "medium"
        yield Danger(risk, "network", f"{program} {found[0]} needs the network.")


def _over_a_device(what: str) -> Danger:
    return Danger("forbidden", "destructive", f"It would write over a device with {what}, and all that is on it.")


def _has(arguments: Iterable[str], letters: str, long: str) -> bool:
    """Whether a flag is there: as one letter, among others, or as its long name however short it is cut."""
    flags = [argument for argument in arguments if argument.startswith("-") and argument != "--"]
    return any(
        long.startswith(flag) or flag.startswith(long) if flag[1:2] == "-" else not set(letters).isdisjoint(flag[1:])
        for flag in flags
    )


def _is_top(target: str) -> bool:
    """Whether a path is the root, a home or a folder of the system, or everything in it."""
    text = target.replace("${HOME}", "$HOME").removesuffix("*")
    kept: list[str] = []
    for part in text.split("/"):
        if part == "..":
            kept = kept[:-1]
        elif part not in {"", "."}:
            kept.append(part)
    plain = ("/" if text.startswith("/") else "") + "/".join(kept)
    return text.startswith(("/", "~", "$HOME")) and _TOP.fullmatch(plain) is not None
