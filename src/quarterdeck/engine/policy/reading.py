"""Everyday commands that only read beneath the workspace, each with the very flags that keep it so.

A flag counts only as it stands here: no abbreviations, no other combinations. What can write, execute or name further
files (`sort -o`, `file -m`, `wc --files0-from`, a second operand of `uniq`) has no place in a form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from quarterdeck.engine.policy.command import Judged

_Slot: TypeAlias = re.Pattern[str]

_NUMBER = re.compile(r"[0-9]{1,6}")
_FROM = re.compile(r"\+?[0-9]{1,6}")
_COLUMNS = re.compile(r"[0-9]{1,4}(?:[,-][0-9]{1,4}){0,9}-?")
_DIVIDER = re.compile(r"[,:./_+@%=-]")
_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+-]{0,99}")
_WORD = re.compile(r"[A-Za-z0-9_./:,@%+][A-Za-z0-9_./:,@%+=-]{0,199}")
_FIELD = re.compile(r"\.[A-Za-z0-9_.]{0,99}")
_KIND = re.compile(r"[fdl]")
_PATH = re.compile(r"(?!-)[A-Za-z0-9_.@+,%-]{1,255}(?:/[A-Za-z0-9_.@+,%-]{1,255}){0,31}/?")


@dataclass(frozen=True, slots=True)
class _Form:
    """How often paths may stand in it, which flags and flags with a value it has, and what stands before the paths."""

    fewest: int
    most: int
    flags: frozenset[str]
    valued: Mapping[str, _Slot]
    first: _Slot | None
    counts: bool  # whether `-20` is a flag
    opens: bool  # whether what it names is opened at all; else it is only text


def _form(
    fewest: int,
    most: int,
    flags: str = "",
    *,
    valued: Mapping[str, _Slot] | None = None,
    first: _Slot | None = None,
    counts: bool = False,
    opens: bool = True,
) -> _Form:
    return _Form(fewest, most, frozenset(flags.split()), valued or {}, first, counts, opens)


_ANY = 16
_HASH = _form(1, _ANY)
_LS = (
    "-1 -A -F -R -S -a -d -h -i -l -p -r -s -t -1a -Al -al -alh -ahl -hal -hl -lA -lAh -lR -lS -lSh -la -laR -lah "
    "-lart -latr -ld -lh -lha -lhS -lht -lr -lrt -lt -lth -ltr -R1 --all --color=never"
)
_GREP = (
    "-E -F -H -c -h -i -l -L -n -o -q -r -s -v -w -x -Fn -Fr -Frn -cr -hn -ci -il -in -inr -ir -irl -irn -lr -lri -n "
    "-ni -nir -nr -nri -nrw -nw -rc -ri -ril -rin -rl -rli -rlw -rn -rnE -rnF -rni -rnw -rnwi -rw -vn -wn -wr -wrn"
)
_FORMS: dict[str, _Form] = {
    "b2sum": _HASH,
    "base64": _form(1, 1),
    "basename": _form(1, 1, opens=False),
    "cat": _form(1, _ANY, "-A -E -T -b -e -n -s -t -v"),
    "cksum": _HASH,
    "cmp": _form(2, 2, "-b -l -s"),
    "comm": _form(2, 2, "-1 -2 -3 -12 -13 -23"),
    "cut": _form(1, 1, "-s", valued={"-c": _COLUMNS, "-f": _COLUMNS, "-d": _DIVIDER}),
    "diff": _form(2, 2, "-B -b -c -i -q -s -u -w -y --brief"),
    "dirname": _form(1, 1, opens=False),
    "du": _form(0, _ANY, "-a -b -c -h -k -m -s -ah -ch -hs -sb -sh -shc -sk -sm", valued={"-d": _NUMBER}),
    "echo": _form(0, _ANY, opens=False),
    "file": _form(1, _ANY, "-b -i --brief --mime --mime-type --mime-encoding"),
    "find": _form(
        0, _ANY, "-empty",
        valued={"-iname": _NAME, "-maxdepth": _NUMBER, "-mindepth": _NUMBER, "-name": _NAME, "-type": _KIND},
    ),
    "fold": _form(1, 1, "-s", valued={"-w": _NUMBER}),
    "grep": _form(0, _ANY, _GREP, valued={"-A": _NUMBER, "-B": _NUMBER, "-C": _NUMBER, "-m": _NUMBER}, first=_WORD),
    "head": _form(1, _ANY, "-q -v", valued={"-c": _NUMBER, "-n": _NUMBER}, counts=True),
    "hexdump": _form(1, 1, "-C"),
    "jq": _form(1, 1, "-c -r -S", first=_FIELD),
    "ls": _form(0, _ANY, _LS),
    "md5sum": _HASH,
    "nl": _form(1, 1, "-ba"),
    "od": _form(1, 1, "-c -x"),
    "paste": _form(1, _ANY, "-s"),
    "pwd": _form(0, 0, "-L -P"),
    "readlink": _form(1, 1, "-f"),
    "realpath": _form(1, 1),
    "rev": _form(1, 1),
    "sha1sum": _HASH,
    "sha256sum": _HASH,
    "sha512sum": _HASH,
    "sort": _form(1, _ANY, "-V -f -g -h -n -r -u -nr -rn -hr -rh -nu -ru -ur", valued={"-k": _NUMBER}),
    "stat": _form(1, _ANY, "-t"),
    "strings": _form(1, 1, "-a", valued={"-n": _NUMBER}),
    "sum": _HASH,
    "tac": _form(1, 1),
    "tail": _form(1, _ANY, "-q -v", valued={"-c": _FROM, "-n": _FROM}, counts=True),
    "test": _form(1, 1, "-d -e -f -s"),
    "tree": _form(0, 4, "-a -d -f -h -s", valued={"-L": _NUMBER}),
    "uniq": _form(1, 1, "-c -d -i -u"),
    "wc": _form(1, _ANY, "-L -c -l -m -w -cl -lc -lw -wl"),
    "xxd": _form(1, 1, "-b -p", valued={"-l": _NUMBER}),
}  # fmt: skip


def beneath(path: str) -> bool:
    """Whether a path is plainly relative and never climbs. Where its links lead is for whoever opens it to see."""
    return _PATH.fullmatch(path) is not None and ".." not in path.split("/")


def reading(words: tuple[str, ...]) -> Judged | None:
    form = _FORMS.get(words[0])
    operands = None if form is None else _operands(form, words[1:])
    if form is None or operands is None or not _in_order(form, operands):
        return None
    paths = operands[1:] if form.first else operands
    reads = (paths or ((".",) if form.most else ())) if form.opens else ()
    return Judged("low", "file_read", "sandbox", words, "It only reads, beneath the workspace.", reads)


def _operands(form: _Form, words: tuple[str, ...]) -> tuple[str, ...] | None:
    """What is left when the flags and their values are taken away; None where one is not of this form."""
    operands: list[str] = []
    left = iter(words)
    for word in left:
        if not word.startswith("-"):
            operands.append(word)
        elif slot := form.valued.get(word):
            if not slot.fullmatch(next(left, "")):
                return None
        elif word not in form.flags and not (form.counts and _NUMBER.fullmatch(word[1:])):
            return None
    return tuple(operands)


def _in_order(form: _Form, operands: tuple[str, ...]) -> bool:
    if form.first is not None:
        if not operands or not form.first.fullmatch(operands[0]):
            return False
        operands = operands[1:]
    fits = beneath if form.opens else _WORD.fullmatch
    return form.fewest <= len(operands) <= form.most and all(map(fits, operands))
