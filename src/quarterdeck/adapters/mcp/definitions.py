"""What a server says that its tools are, checked: names, descriptions and schemas are a stranger's text."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.adapters.mcp.mirrored import Mirrored, mirrored
from quarterdeck.adapters.mcp.words import HIDDEN, cut, line, plain

MOST_TOOLS = 128
LONGEST_RAW_NAME = 128
LONGEST_NAME = 64  # what models accept
LONGEST_DESCRIPTION = 2000
LONGEST_SCHEMA = 32 << 10
DEEPEST_SCHEMA = 24
PROSE = frozenset({"description", "title", "$comment"})
DEFINING = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


@dataclass(frozen=True, slots=True)
class Definition:
    """One tool: `tool` is what the server calls it, `name` what models do. `digest` covers all that was said of it."""

    tool: str
    name: str
    description: str
    schema: dict[str, Any]
    digest: str
    mirrored: Mirrored


@dataclass(frozen=True, slots=True)
class Defined:
    """The tools that can be used, and why the others cannot, by name."""

    tools: tuple[Definition, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


def defined(config: ServerConfig, listed: Sequence[Any]) -> Defined:
    tools: list[Definition] = []
    left_out: list[tuple[str, str]] = []
    for entry in listed:
        try:
            tools.append(_definition(config, entry))
        except ValueError as error:
            left_out.append((_raw_name(entry), str(error)))
    taken = Counter(tool.name for tool in tools)
    left_out += [(tool.tool, "another tool has this name") for tool in tools if taken[tool.name] > 1]
    tools = [tool for tool in tools if taken[tool.name] == 1]
    left_out += [(tool.tool, f"there are more than {MOST_TOOLS}") for tool in tools[MOST_TOOLS:]]
    return Defined(tuple(tools[:MOST_TOOLS]), tuple(left_out))


def _raw_name(entry: Any) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return line(name, 60) if isinstance(name, str) else "one without a name"


def _definition(config: ServerConfig, entry: Any) -> Definition:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise ValueError("it has no name")
    tool = entry["name"]
    if not tool or len(tool) > LONGEST_RAW_NAME or not tool.isprintable():
        raise ValueError("its name is empty, too long, or has signs that cannot be printed")
    schema = _schema(entry.get("inputSchema"))
    said = entry.get("description") or entry.get("title") or ""
    said = cut(plain(said).strip(), LONGEST_DESCRIPTION) if isinstance(said, str) else ""
    identity = orjson.dumps({key: entry.get(key) for key in DEFINING}, option=orjson.OPT_SORT_KEYS)
    return Definition(
        tool,
        name_of(config.name, tool),
        f"(MCP server {config.name}) {config.hide(said)}".strip(),
        schema,
        hashlib.sha256(identity).hexdigest(),
        mirrored(schema) if config.url else (),
    )


def name_of(server: str, tool: str) -> str:
    """A name that models accept. One that had to be changed ends in a digest, lest it be taken for another's."""
    clean = re.sub(r"[^\w-]", "_", tool, flags=re.ASCII)
    name = f"mcp__{server}__{clean}"
    if clean == tool and len(name) <= LONGEST_NAME:
        return name
    mark = hashlib.sha256(tool.encode()).hexdigest()[:10]
    return f"{name[: LONGEST_NAME - len(mark) - 1]}_{mark}"


def _schema(found: Any) -> dict[str, Any]:
    if found is None:
        return {"type": "object", "properties": {}}
    if not isinstance(found, dict) or found.get("type", "object") != "object":
        raise ValueError("its schema is not that of an object")
    schema: dict[str, Any] = {"type": "object", **_cleaned(found, DEEPEST_SCHEMA)}
    if not isinstance(schema.setdefault("properties", {}), dict):
        raise ValueError("its schema is malformed")
    if len(orjson.dumps(schema)) > LONGEST_SCHEMA:
        raise ValueError(f"its schema is larger than {LONGEST_SCHEMA >> 10} KiB")
    return schema


def _cleaned(found: dict[str, Any], depth: int) -> dict[str, Any]:
    if depth == 0:
        raise ValueError("its schema is nested too deeply")
    cleaned: dict[str, Any] = {}
    for key, value in found.items():
        if HIDDEN.search(key):
            raise ValueError("its schema has signs that cannot be seen")
        prose = key in PROSE and isinstance(value, str)
        cleaned[key] = cut(plain(value), LONGEST_DESCRIPTION) if prose else _part(value, depth - 1)
    return cleaned


def _part(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        return _cleaned(value, depth)
    if isinstance(value, list):
        if depth == 0:
            raise ValueError("its schema is nested too deeply")
        return [_part(item, depth - 1) for item in value]
    if isinstance(value, str) and HIDDEN.search(value):
        raise ValueError("its schema has signs that cannot be seen")
    return value
