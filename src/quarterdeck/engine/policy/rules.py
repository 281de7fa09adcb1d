"""What a person may allow for always: one exact thing, by a key that can be read, listed and revoked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quarterdeck.engine.policy.command import Judged
from quarterdeck.engine.policy.programs import ELEVATORS, INTERPRETERS, SHELLS, WRAPPERS
from quarterdeck.engine.policy.shell import judge
from quarterdeck.kernel.errors import Invalid

SHELL_TOOL = "shell_exec_safe"
FETCH_TOOL = "web_fetch"

_TOOL = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}")
_WORD = re.compile(r"[A-Za-z0-9_./:,@%+=-]{1,1024}")
_WHOLE_URL = re.compile(r"https?://[^/ ]+/[^ ]*")
_NEVER = SHELLS | INTERPRETERS | WRAPPERS | ELEVATORS


def rule_for(tool: str, words: Sequence[str]) -> str | None:
    """The key of a rule: the tool and the exact words it is about. None where they cannot make one.

    A rule without words, or with a word that could stand for several things, would allow what nobody has seen.
    """
    if not words or not _TOOL.fullmatch(tool) or not all(map(_WORD.fullmatch, words)):
        return None
    return " ".join((tool, *words))


def remember(judged: Judged, tool: str = SHELL_TOOL) -> str | None:
    """The rule that "always" makes for a command. Only a known query can have one, and nothing that starts others."""
    if judged.lane != "direct" or judged.argv[0] in _NEVER:
        return None
    return rule_for(tool, judged.argv)


def covers(rule: str, key: str | None) -> bool:
    """A rule allows its own key and nothing else: nothing in it stands for anything but itself."""
    return key is not None and rule == key


def checked_rule(text: str) -> str:
    """A rule as a person wrote it, or `Invalid` with what is wrong with it."""
    tool, *words = text.split(" ")
    rule = rule_for(tool, words)
    if rule is None:
        raise Invalid(
            "A rule is a tool and the exact words it allows, with single blanks, for example"
            f" `{SHELL_TOOL} uname -a`; `*` and the like stand for nothing in it.",
            code="rule_not_exact",
        )
    if tool == FETCH_TOOL and not _WHOLE_URL.fullmatch(" ".join(words)):
        raise Invalid(
            f"A rule for {FETCH_TOOL} names one whole address, for example `{FETCH_TOOL} https://example.org/feed.xml`.",
            code="rule_not_exact",
        )
    if tool not in {SHELL_TOOL, FETCH_TOOL}:
        raise Invalid(
            f"No rule can be written for {tool}, only for {SHELL_TOOL} (as `{SHELL_TOOL} uname -a`) and {FETCH_TOOL}."
            " What else can be allowed for always says so when it asks.",
            code="rule_for_nothing",
        )
    if tool == SHELL_TOOL and not covers(rule, remember(judge(" ".join(words)))):
        raise Invalid(
            f"There is no rule for `{' '.join(words)}`: shells, interpreters, wrappers, sudo and whatever the sandbox"
            " holds are asked about each time, or once for a run.",
            code="rule_too_wide",
        )
    return rule
