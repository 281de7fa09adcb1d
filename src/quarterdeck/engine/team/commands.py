"""What a person types at a team: one of the commands, in any of our languages, or words for the experts.

Only what a person sent comes here. What a model wrote never does, whatever it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Word = Literal[
    "stop", "debate", "skip", "retry", "pause", "resume", "replan", "approve", "extend", "close", "member", "guidance"
]

# Each under its slash; those of `BARE` also stand alone as a whole message.
WORDS: dict[str, Word] = {
    "stop": "stop",
    "停止": "stop",
    "стоп": "stop",
    "debate": "debate",
    "辩论": "debate",
    "дебаты": "debate",
    "skip": "skip",
    "跳过": "skip",
    "пропустить": "skip",
    "retry": "retry",
    "重试": "retry",
    "повторить": "retry",
    "pause": "pause",
    "暂停": "pause",
    "пауза": "pause",
    "resume": "resume",
    "继续": "resume",
    "продолжить": "resume",
    "replan": "replan",
    "重新规划": "replan",
    "перепланировать": "replan",
    "approve": "approve",
    "批准": "approve",
    "одобрить": "approve",
    "extend": "extend",
    "延长": "extend",
    "продлить": "extend",
    "close": "close",
    "结束辩论": "close",
    "закрыть": "close",
}
BARE = frozenset({"停止", "стоп", "暂停", "пауза", "继续", "продолжить", "批准", "одобрить"})
_SLASH = re.compile(r"/(\w+)(?:\s+(.*))?", re.DOTALL)
_LAST = " \t\r\n.!。！"


@dataclass(frozen=True, slots=True)
class Command:
    """`words` are what follows, without the members it was addressed to, who stand in `who`."""

    word: Word
    words: str = ""
    who: tuple[str, ...] = ()


def parse(text: str, experts: Sequence[str]) -> Command:
    said = text.strip()
    if said.rstrip(_LAST).casefold() in BARE:
        return Command(WORDS[said.rstrip(_LAST).casefold()])
    if (found := _SLASH.fullmatch(said)) and (word := WORDS.get(found[1].casefold())) is not None:
        rest = (found[2] or "").strip()
        return _debate(rest, experts) if word == "debate" else Command(word, rest)
    if said.startswith(("@", "＠")):
        who, rest = _addressed(said, experts)
        if who is not None:
            return Command("member", rest, (who,))
    return Command("guidance", said)


def _debate(rest: str, experts: Sequence[str]) -> Command:
    """Members who are named in the topic are those who debate."""
    who: list[str] = []
    for name in sorted(experts, key=len, reverse=True):
        found = re.search(rf"[@＠]{re.escape(name)}(?!\w)", rest, re.IGNORECASE)
        if found is not None:
            who.append(name)
            rest = rest[: found.start()] + rest[found.end() :]
    return Command("debate", " ".join(rest.split()), tuple(name for name in experts if name in who))


def _addressed(said: str, experts: Sequence[str]) -> tuple[str | None, str]:
    """Whom it is for, and what. The longest name that fits; a name may have blanks in it."""
    after = said[1:]
    for name in sorted(experts, key=len, reverse=True):
        if after.casefold().startswith(name.casefold()):
            rest = after[len(name) :]
            if not rest[:1] or not (rest[0].isalnum() and name[-1].isascii() and rest[0].isascii()):
                return name, rest.lstrip(" \t\r\n,:;，：；")
    return None, said
