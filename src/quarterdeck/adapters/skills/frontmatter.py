"""A SKILL.md taken apart: a few lines of names and values between two `---`, then Markdown.

Not YAML but the small part of it that skills are written in: plain, quoted, and folded texts. What goes further is
refused with its line, never guessed at. Names that we have no use for are read over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from quarterdeck.kernel.skills import Origin, Skill

LONGEST_NAME, LONGEST_DESCRIPTION, LONGEST_BODY = 64, 1024, 32_000
MOST_LINES, MOST_KEYWORDS = 100, 100
_NAME = re.compile(rf"[a-z0-9](?:[a-z0-9_-]{{0,{LONGEST_NAME - 2}}}[a-z0-9])?")
_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,63}):(?:[ \t]+(.*)|[ \t]*)")
_BLOCK = frozenset({">", "|", ">-", "|-", ">+", "|+"})
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_FURTHER = "&*!%@`[{?,"  # how parts of YAML begin that we do not read


class Malformed(Exception):
    """Why a file is no skill, as the end of a sentence."""


@dataclass(slots=True)
class _Field:
    name: str
    value: str
    line: int


def read_skill(text: str, origin: Origin, folder: str) -> Skill:
    """The skill in the text of a SKILL.md in this folder; raises `Malformed`."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if _UNPRINTABLE.search(text):
        raise Malformed("it holds characters that cannot be seen")
    head, body = _parted(text)
    fields: dict[str, str] = {}
    for field in _fields(head):
        if field.name in fields:
            raise Malformed(f"line {field.line}: `{field.name}` stands there twice")
        fields[field.name] = field.value
    return _checked(fields, body.strip(), origin, folder)


def _checked(fields: dict[str, str], body: str, origin: Origin, folder: str) -> Skill:
    name, description = fields.get("name", ""), fields.get("description", "")
    if not _NAME.fullmatch(name):
        raise Malformed(
            f"`name` must be 1 to {LONGEST_NAME} small letters, digits, - or _, with a letter or digit at both ends"
        )
    if name != folder:
        raise Malformed(f"its `name` is {name!r}, but its folder is {folder!r}; they must be the same")
    if not 0 < len(description) <= LONGEST_DESCRIPTION:
        raise Malformed(f"`description` must be 1 to {LONGEST_DESCRIPTION:,} characters, not {len(description):,}")
    if not 0 < len(body) <= LONGEST_BODY:
        raise Malformed(f"its body must be 1 to {LONGEST_BODY:,} characters, not {len(body):,}")
    keywords = tuple(word for part in fields.get("keywords", "").split(",") if (word := part.strip()))
    if len(keywords) > MOST_KEYWORDS:
        raise Malformed(f"it has {len(keywords)} keywords; at most {MOST_KEYWORDS} are read")
    return Skill(name, description, origin, body, keywords)


def _parted(text: str) -> tuple[list[str], str]:
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        raise Malformed("its first line must be `---`")
    end = next((at for at, line in enumerate(lines[1 : MOST_LINES + 2], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise Malformed(f"no second `---` ends its first lines, of which there may be {MOST_LINES}")
    return lines[1:end], "\n".join(lines[end + 1 :])


def _fields(lines: list[str]) -> list[_Field]:
    """Each name with its value. Lines that are indented go on with what stands above them."""
    found: list[_Field] = []
    for number, line in enumerate(lines, 2):
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] in " \t":
            if not found:
                raise Malformed(f"line {number} is indented, but nothing stands above it")
            found[-1].value += "\n" + line.strip()
            continue
        parts = _FIELD.fullmatch(line.rstrip())
        if parts is None:
            raise Malformed(f"line {number} must be `name: value`")
        found.append(_Field(parts[1], parts[2] or "", number))
    for field in found:
        field.value = _text(field) if field.name in {"name", "description", "keywords"} else field.value
    return found


def _text(field: _Field) -> str:
    first, _, more = field.value.partition("\n")
    if first.strip() in _BLOCK:
        return " ".join(more.split())
    value = " ".join(field.value.split())
    if value[:1] in {'"', "'"}:
        return _unquoted(value, field)
    if value[:1] and (value[0] in _FURTHER or value.startswith("- ")):
        raise Malformed(f"line {field.line}: {value[0]!r} begins something that is not read here; put it in quotes")
    if ": " in value or " #" in value:
        raise Malformed(f"line {field.line}: a text with `: ` or ` #` in it must stand in quotes")
    return value


def _unquoted(value: str, field: _Field) -> str:
    quote, inner = value[0], value[1:-1]
    if len(value) < 2 or value[-1] != quote:
        raise Malformed(f"line {field.line}: the quotes are not closed")
    if quote == "'":
        if "'" in inner.replace("''", ""):
            raise Malformed(f"line {field.line}: a ' within quotes must be written twice")
        return inner.replace("''", "'")
    if re.search(r'(?<!\\)(?:\\\\)*"', inner) or re.search(r'\\[^"\\]', inner.replace("\\\\", "")):
        raise Malformed(f'line {field.line}: within "…" only \\" and \\\\ may be escaped')
    return re.sub(r'\\(["\\])', r"\1", inner)
