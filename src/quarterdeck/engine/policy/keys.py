"""Text without what looks like a key or a password, whoever's it is."""

from __future__ import annotations

import re

REDACTED = "[redacted]"

_NAMES = (
    r"(?:pass(?:word|wd|phrase|code)|secret|token|credentials?|authorization"
    r"|(?:api|access|private|secret|signing|encryption|account)[_-]?key|client[_-]?secret)"
)
_VALUE = (
    r"(?!\[redacted\]|(?:Bearer|Basic|Token)\s)"
    r"""(?:\\?"(?:[^"\\\n]|\\.){0,4096}"?|'[^'\n]{0,4096}'?|[^\s"'&;|<>()`,\\\]}]{1,4096})"""
)
_PEM = r"[A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

# Each keeps its first group, which says what was there, and drops the rest.
_SHAPES = tuple(
    re.compile(shape, re.DOTALL)
    for shape in (
        rf"(-----BEGIN {_PEM}).*?(?:-----END {_PEM}|\Z)",
        r"(?i)(\b[a-z][a-z0-9+.-]{0,30}://)[^\s/@?#\"'<>]{1,1024}@",
        r"""(?i)(authorization\\?["']?\s{0,4}[=:]\s{0,4}\\?["']?(?:Bearer|Basic|Token)\s{1,4})[^\s"'\\\[]{1,4096}""",
        r"(?i)(\b(?:Bearer|Basic)\s{1,4})(?!realm\b)[A-Za-z0-9._~+/=-]{6,4096}",
        rf"(?i)((?<![\w-])--[a-z-]{{0,40}}{_NAMES}(?:\s{{1,4}}|=))(?!-)(?:{_VALUE})",
        rf"(?i)({_NAMES}\\?[\"']?\s{{0,4}}[=:]\s{{0,4}})(?:{_VALUE})",
        r"(\bsshpass\s{1,4}-p\s{0,4})[^\s]{1,400}",
        r"((?<!\S)(?:-u|--user)[\s=]{0,4}[^\s:/]{1,80}:)(?!\d{1,9}(?:\s|\Z))[^\s]{1,400}",
        rf"(?i)((?<![\w-])-[a-z]{{0,40}}{_NAMES}\s{{1,4}})(?!-)(?:{_VALUE})",
        rf"(\b(?:mysql|mariadb)[a-z]{{0,20}}\s(?:[^\n|;]{{0,400}}?\s)?-p)(?:{_VALUE})",
        r"(?i)(cookie\s{0,4}:\s{0,4})[^\s'\"=;]{1,200}=[^'\"\n]{1,4096}",
        r"()\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,400}",
        r"()\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,200}",
        r"()\b(?:gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_[A-Za-z0-9_]{20,255}|glpat-[A-Za-z0-9_-]{16,255})",
        r"()\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        r"()\bAIza[0-9A-Za-z_-]{35}",
        r"()\bxox[abeoprs]-[A-Za-z0-9-]{10,255}",
        r"()\b(?:hf_[A-Za-z0-9]{20,255}|npm_[A-Za-z0-9]{30,255}|pypi-[A-Za-z0-9_-]{40,400})",
        r"()\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,2000}",
    )
)


def redacted(text: str) -> str:
    """What stands where a secret would stand is taken for one. Whoever knows the secret itself uses a `Redactor`."""
    for shape in _SHAPES:
        text = shape.sub(_keep_its_name, text)
    return text


def _keep_its_name(found: re.Match[str]) -> str:
    end = "@" if found.group().endswith("@") and found.group(1).endswith("://") else ""
    return found.group(1) + REDACTED + end
