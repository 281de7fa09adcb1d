"""A shell command taken apart, roughly: its simple commands, each as words without their quoting.

Whoever writes against it can fool it. It serves only to raise a risk and to say why; nothing is allowed by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

WRITES, READS, HERE = ">", "<", "<<"

_OUTSIDE = re.compile(
    r"""(?P<single>\$?'[^']*'?) | (?P<double>\$?") | (?P<escape>\\.?)
      | (?P<open>\$\(|[<>]\(|\() | (?P<close>\)) | (?P<tick>`)
      | (?P<redirect><<<|<<-?|&>>?|<>|>>|>\||[<>]&|[<>])
      | (?P<operator>&&|\|\||;;|[;&|]) | (?P<newline>\n)
      | (?P<comment>(?:(?<=\s)|(?<![\s\S]))\#[^\n]*) | (?P<blank>[^\S\n]+)
      | (?P<text>[^\s'"\\$`()<>|&;]+|.)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(
    r"""(?P<double>") | (?P<escape>\\.?) | (?P<open>\$\() | (?P<tick>`) | (?P<text>[^"\\$`]+|.)""",
    re.VERBOSE | re.DOTALL,
)
_FIELDS = re.compile(r"\$IFS\b|\$\{IFS[^}]*\}")


@dataclass(slots=True)
class Script:
    """`commands` are the simple commands in the order of their ends; `deepest` is how far substitutions are nested."""

    commands: list[list[str]] = field(default_factory=list)
    deepest: int = 0


def taken_apart(text: str) -> Script:
    scanner = _Scanner(_FIELDS.sub(" ", text))
    scanner.run()
    return scanner.script


@dataclass(slots=True)
class _Place:
    """What is under way: the words so far, the one that grows, and whether it stands in double quotes."""

    words: list[str] = field(default_factory=list)
    word: str | None = None
    quoted: bool = False
    tick: bool = False


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.script = Script()
        self.here = _Place()
        self.outer: list[_Place] = []
        self.documents: list[tuple[str, list[str]]] = []
        self.steps: dict[str, Callable[[str], None]] = {
            "single": lambda found: self.grow(found.removeprefix("$").strip("'")),
            "double": self.quote,
            "escape": lambda found: None if found[1:] == "\n" else self.grow(found[1:]),
            "open": lambda found: self.enter(tick=False, within=found == "$("),
            "close": lambda _: self.leave(),
            "tick": lambda _: self.leave() if self.here.tick else self.enter(tick=True, within=True),
            "redirect": self.redirect,
            "operator": lambda _: self.end_command(),
            "newline": lambda _: self.end_line(),
            "comment": lambda _: None,
            "blank": lambda _: self.end_word(),
            "text": self.grow,
        }

    def run(self) -> None:
        while self.at < len(self.text):
            found = (_QUOTED if self.here.quoted else _OUTSIDE).match(self.text, self.at)
            assert found is not None, "each expression ends in one that takes any character"
            self.at = found.end()
            self.steps[found.lastgroup or "text"](found.group())
        while self.outer:
            self.leave()
        self.end_command()

    def grow(self, text: str) -> None:
        self.here.word = (self.here.word or "") + text

    def quote(self, _: str) -> None:
        self.here.quoted = not self.here.quoted
        self.grow("")

    def redirect(self, found: str) -> None:
        self.end_word()
        self.here.words.append(HERE if found in {"<<", "<<-"} else WRITES if ">" in found else READS)

    def end_word(self) -> None:
        place = self.here
        if place.word is not None:
            if place.words[-1:] == [HERE]:
                self.documents.append((place.word, place.words))
            place.words.append(place.word)
        place.word = None

    def end_command(self) -> None:
        self.end_word()
        if self.here.words:
            self.script.commands.append(self.here.words)
        self.here.words = []

    def end_line(self) -> None:
        """Behind the line that announces them stand the documents; each becomes a word of its command."""
        self.end_command()
        for mark, words in self.documents:
            end = re.compile(rf"^\t*{re.escape(mark)}$", re.MULTILINE).search(self.text, self.at)
            body = self.text[self.at : end.start() if end else len(self.text)]
            words.append(body)
            self.at = end.end() if end else len(self.text)
        self.documents = []

    def enter(self, *, tick: bool, within: bool) -> None:
        """A substitution stands within a word, parentheses between two."""
        if within:
            self.grow("")
        else:
            self.end_word()
        self.outer.append(self.here)
        self.here = _Place(tick=tick)
        self.script.deepest = max(self.script.deepest, len(self.outer))

    def leave(self) -> None:
        self.end_command()
        if self.outer:
            self.here = self.outer.pop()
