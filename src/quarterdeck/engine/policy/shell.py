"""Judging a shell command by its text: what runs as it is, what the sandbox holds, what is never done."""

from __future__ import annotations

from quarterdeck.engine.policy.command import Judged
from quarterdeck.engine.policy.danger import DEEPEST, MOST_COMMANDS, Danger, dangers, scripts_in
from quarterdeck.engine.policy.privilege import elevates, privileged
from quarterdeck.engine.policy.queries import known_query
from quarterdeck.engine.policy.reading import reading
from quarterdeck.engine.policy.verdict import rank
from quarterdeck.engine.policy.words import beyond_limits, plain_words

_UNKNOWN = Danger("medium", "shell", "A shell runs it, and its text does not tell all that it does.")


def judge(command: str) -> Judged:
    """Whatever is not known word for word is asked about; what looks worse than that only raises the risk."""
    if why := beyond_limits(command):
        return Judged("forbidden", "shell", "none", (), why)
    words = plain_words(command)
    if words and (known := known_query(words) or reading(words)):
        return known
    script = scripts_in(command)
    if len(script.commands) > MOST_COMMANDS or script.deepest > DEEPEST:
        why = f"It is more than {MOST_COMMANDS} commands in one, or nested deeper than {DEEPEST}; take it in steps."
        return Judged("forbidden", "shell", "none", (), why)
    if elevates(command, script):
        return privileged(words, script)
    worst = max((_UNKNOWN, *dangers(command, script)), key=_weight)
    if worst.risk == "forbidden":
        return Judged("forbidden", worst.action, "none", (), worst.why)
    return Judged(worst.risk, worst.action, "sandbox", ("/bin/sh", "-c", command), worst.why)


def _weight(danger: Danger) -> tuple[int, int]:
    return rank(danger.risk), ("shell", "network", "destructive").index(danger.action)
