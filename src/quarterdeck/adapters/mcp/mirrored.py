"""Arguments that a server wants to see in headers as well: `x-mcp-header` in a schema, and the headers made of it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

MARK = "x-mcp-header"
TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}")
SAFE = re.compile(r"[\x20-\x7e]*")
WRAPPED = re.compile(r"=\?base64\?.*\?=")
SAFE_INTEGER = 2**53
# The path to a property through nested `properties`, and the name of its header.
Mirrored: TypeAlias = tuple[tuple[tuple[str, ...], str], ...]


def mirrored(schema: dict[str, Any]) -> Mirrored:
    """Raises ValueError where a mark stands in a place, or has a form, that the protocol forbids."""
    found: list[tuple[tuple[str, ...], str]] = []
    for path, part in _marked(schema, ()):
        header = part[MARK]
        if not path:
            raise ValueError(f"{MARK} stands where it cannot")
        if not isinstance(header, str) or not TOKEN.fullmatch(header):
            raise ValueError(f"{MARK} names no header")
        if part.get("type") not in ("string", "integer", "boolean"):
            raise ValueError(f"{MARK} stands at something that is no plain value")
        found.append((path, header))
    if len({header.lower() for _, header in found}) < len(found):
        raise ValueError(f"{MARK} names one header twice")
    return tuple(found)


def _marked(part: Any, path: tuple[str, ...] | None) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Each marked schema, with its path, which is None where anything but `properties` leads to it."""
    if isinstance(part, list):
        for item in part:
            yield from _marked(item, None)
        return
    if not isinstance(part, dict):
        return
    if MARK in part:
        yield path, part
    for key, value in part.items():
        if key == "properties" and isinstance(value, dict):
            for name, inner in value.items():
                yield from _marked(inner, None if path is None else (*path, name))
        elif key not in ("default", "examples", "const", "enum"):
            yield from _marked(value, None)


def headers_of(marks: Mirrored, arguments: Mapping[str, Any]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for path, header in marks:
        value: Any = arguments
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            headers[f"mcp-param-{header}"] = "true" if value else "false"
        elif isinstance(value, str) or (isinstance(value, int) and abs(value) < SAFE_INTEGER):
            headers[f"mcp-param-{header}"] = encoded(str(value))
    return headers


def encoded(value: str) -> str:
    """As it is, or wrapped where a header could not carry it, or where it looks wrapped."""
    if SAFE.fullmatch(value) and value == value.strip() and not WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="
