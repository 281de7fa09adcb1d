"""Secrets taken out of a text that is kept: what follows their names, and what looks like one by itself.

It is a net, not a wall: it knows the usual shapes. A secret that we know ourselves is handed in and taken out whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "[redacted]"
LONGEST = 8000
CUT = " […]"

_NAMES = (
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|api[-_]?key|access[-_]?key|private[-_]?key"
    r"|auth[-_]?key|client[-_]?secret|session[-_]?(?:id|key))"
)
_VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s'"|;&<>]+)"""
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), MASK),
    (re.compile(r"(://[^\s/:@'\"]*:)[^\s/@'\"]+(@)"), rf"\1{MASK}\2"),
    (re.compile(r"((?:proxy-)?authorization['\"]?\s*[:=]\s*(?:[a-z]+\s+)?)[^\s'\"]+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"(\b(?:bearer|basic)\s+)[A-Za-z0-9+/_.~=-]{8,}", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"((?:set-)?cookie['\"]?\s*:\s*)[^'\"\n]+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(rf"((?<![\w-])--?[a-z-]{{0,40}}?{_NAMES}(?:=|\s+)){_VALUE}", re.IGNORECASE), rf"\1{MASK}"),
    (
        re.compile(
            rf"((?:^|[^A-Za-z0-9])[A-Za-z0-9_-]{{0,60}}{_NAMES}[A-Za-z0-9_]{{0,20}}['\"]?\s*[=:]\s*){_VALUE}", re.I
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"(\s(?:-u|--user|--proxy-user)[=\s]*['\"]?[^\s:'\"]+:)[^\s'\"]+"), rf"\1{MASK}"),
    (re.compile(rf"(\b(?:sshpass\s+-p|mysql\S*\s(?:.*\s)?-p)\s*){_VALUE}"), rf"\1{MASK}"),
    (
        re.compile(
            r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[a-z]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}"
            r"|\bxox[a-z]-[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\b(?:hf|npm)_[A-Za-z0-9]{16,}"
            r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"
        ),
        MASK,
    ),
    (re.compile("password", re.IGNORECASE), MASK),
)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without secrets, well-formed, and cut visibly where it is very long."""
    clean = text.encode("utf-8", "replace").decode()
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        clean = clean.replace(secret, MASK)
    if len(clean) > 4 * LONGEST:
        clean = clean[: 4 * LONGEST] + CUT
    for pattern, instead in _RULES:
        clean = pattern.sub(instead, clean)
    return clean if len(clean) <= LONGEST else clean[:LONGEST] + CUT
