"""What a call came to, as text for a model: bounded, cut visibly, with words for what is no text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import orjson

from quarterdeck.adapters.mcp.config import ServerConfig
from quarterdeck.adapters.mcp.troubles import InputNeeded, Trouble
from quarterdeck.adapters.mcp.words import cut, line, plain
from quarterdeck.ports import Done

LONGEST_TEXT = 30_000
MOST_BLOCKS = 500
LONGEST_QUESTION = 2000


def done(config: ServerConfig, result: dict[str, Any]) -> Done:
    kind = result.get("resultType", "complete")
    content = result.get("content")
    if kind != "complete" or not isinstance(content, list):
        raise Trouble("it answered the call in a form that is not MCP")
    blocks = [text for block in content[:MOST_BLOCKS] for text in _said(block)]
    if len(content) > MOST_BLOCKS:
        blocks.append(f"[… {len(content) - MOST_BLOCKS} more parts …]")
    structured = result.get("structuredContent")
    if structured is not None and not _repeated(structured, content):
        blocks.append(orjson.dumps(structured).decode())
    text = config.hide(plain("\n".join(blocks)))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Done(cut(text, LONGEST_TEXT) or "(no output)", ok=result.get("isError") is not True, digest=digest)


def _repeated(structured: Any, content: list[Any]) -> bool:
    """Servers are told to say structured content as text too."""
    for block in content:
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            try:
                found = orjson.loads(block["text"])
            except orjson.JSONDecodeError:
                continue
            if structured in (found, {"result": found}):
                return True
    return isinstance(structured, dict) and len(content) == 1 and structured == {"result": content[0].get("text")}


def _said(block: Any) -> Iterator[str]:
    if not isinstance(block, dict):
        raise Trouble("it answered the call in a form that is not MCP")
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        yield block["text"]
    elif kind in ("image", "audio"):
        yield f"[{'an image' if kind == 'image' else 'a recording'}, {_about(block, 'data')}; it is not shown]"
    elif kind == "resource_link":
        name, uri = line(str(block.get("name") or "a resource"), 100), line(str(block.get("uri")), 300)
        yield f"[a link to {name}: {uri}]"
    elif kind == "resource" and isinstance(block.get("resource"), dict):
        inner = block["resource"]
        uri = line(str(inner.get("uri")), 300)
        if isinstance(inner.get("text"), str):
            yield f"[{uri}]\n{inner['text']}"
        else:
            yield f"[{uri}, {_about(inner, 'blob')}; it is not shown]"
    else:
        yield f"[a part of the kind {line(str(kind), 40)!r}, which is not known here]"


def _about(block: dict[str, Any], key: str) -> str:
    data = block.get(key)
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return f"{line(str(block.get('mimeType') or 'of no known kind'), 60)}, about {size} bytes"


def needed(config: ServerConfig, result: dict[str, Any]) -> InputNeeded:
    """The question that stands in a result which is none yet. Only forms for people are answered, one at a time."""
    requests = result.get("inputRequests")
    state = result.get("requestState")
    asked = list(requests.items()) if isinstance(requests, dict) else []
    if not asked or not all(_is_form(request) for _, request in asked):
        raise Trouble("it asks for something that only a model, or a page elsewhere, could give; that is not offered")
    if len(asked) > 1:
        raise Trouble("it asks several things at once, which is not offered")
    key, params = asked[0][0], asked[0][1]["params"]
    question = config.hide(cut(plain(str(params.get("message") or "")).strip(), LONGEST_QUESTION))
    schema = params.get("requestedSchema")
    resume = {"key": key, "state": state if isinstance(state, str) else None}
    told = (
        f"The MCP server {config.name} did not go on, because it wants to ask a person: {line(question, 500)} "
        "Ask them, or find another way."
    )
    schema = schema if isinstance(schema, dict) else {"type": "object", "properties": {}}
    return InputNeeded(told, question=question, schema=schema, resume=orjson.dumps(resume).decode())


def _is_form(request: Any) -> bool:
    return (
        isinstance(request, dict)
        and request.get("method") == "elicitation/create"
        and isinstance(request.get("params"), dict)
        and request["params"].get("mode", "form") == "form"
    )


def inputs(resume: str, response: dict[str, Any]) -> dict[str, Any]:
    """What is sent with the call again, once a person has answered."""
    found = orjson.loads(resume)
    sent: dict[str, Any] = {"inputResponses": {found["key"]: response}}
    return sent if found["state"] is None else {**sent, "requestState": found["state"]}
