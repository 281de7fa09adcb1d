"""Messages of JSON-RPC as they are on the wire, without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from quarterdeck.adapters.mcp.troubles import Broken, Refused
from quarterdeck.adapters.mcp.words import line

LONGEST_MESSAGE = 4 << 20
LONGEST_QUOTE = 300
METHOD_NOT_FOUND = -32601
INTERNAL = -32603

# An id as it came. Ours are integers, and only the very integer answers: neither `"1"` nor `1.0` nor `true`.
Ident: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class Answer:
    id: Ident | None
    result: dict[str, Any] | None
    refused: Refused | None

    def settle(self) -> dict[str, Any]:
        if self.refused is not None:
            raise self.refused
        if self.result is None:
            raise Broken("it answered with something that is no result")
        return self.result


@dataclass(frozen=True, slots=True)
class Note:
    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """The server asks something of us, as it may in the legacy era."""

    id: Ident
    method: str
    params: dict[str, Any]


def read(data: bytes) -> Answer | Note | Ask | None:
    """A message, or None for what is none."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        return None
    ident = found.get("id")
    ident = ident if isinstance(ident, int | str) and not isinstance(ident, bool) else None
    method, params = found.get("method"), found.get("params")
    if isinstance(method, str):
        params = params if isinstance(params, dict) else {}
        return Note(method, params) if ident is None else Ask(ident, method, params)
    if isinstance(found.get("error"), dict):
        return Answer(ident, None, _refused(found["error"]))
    if "result" in found:
        return Answer(ident, found["result"] if isinstance(found["result"], dict) else None, None)
    return None


def _refused(error: dict[str, Any]) -> Refused:
    code = error.get("code")
    code = code if isinstance(code, int) else INTERNAL
    message = error.get("message")
    said = line(message, LONGEST_QUOTE) if isinstance(message, str) and message.strip() else "no reason given"
    return Refused(code, f"{said.rstrip('.')} (error {code})", error.get("data"))


def request(ident: int, method: str, params: dict[str, Any]) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})


def note(method: str, params: dict[str, Any]) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params} if params else _bare(method))


def _bare(method: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method}


def reply(ident: Ident, result: dict[str, Any] | None) -> bytes:
    """Our answer to a question; None for what we do not offer."""
    if result is None:
        error = {"code": METHOD_NOT_FOUND, "message": "This client does not offer that."}
        return orjson.dumps({"jsonrpc": "2.0", "id": ident, "error": error})
    return orjson.dumps({"jsonrpc": "2.0", "id": ident, "result": result})


def cancelled(ident: int) -> bytes:
    return note("notifications/cancelled", {"requestId": ident, "reason": "The call was given up."})
