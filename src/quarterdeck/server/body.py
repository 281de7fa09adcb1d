"""Reading a request's JSON body, with every hostile form of it in mind."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pydantic
from starlette.requests import ClientDisconnect, Request

from quarterdeck.kernel.errors import Invalid, Problem, TooLarge
from quarterdeck.server.problems import invalid

LIMIT = 1024 * 1024
DEPTH = 32
MEMBERS = 10_000
SECONDS = 10.0
_DIGITS = 64
_LARGEST = 2**63 - 1
# Possessive, so that no string, however long or full of escapes, makes the expression remember its way.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKET = bytes(byte for byte in range(256) if byte not in b"[]{}")
_JSON = re.compile(r"application/(?:[\w.-]+\+)?json(?:\s*;\s*charset=\"?utf-8\"?)?", re.IGNORECASE)

T = TypeVar("T", bound=pydantic.BaseModel)


def json_body(kind: type[T], *, optional: bool = False) -> Callable[[Request], Awaitable[tuple[T, bytes]]]:
    """A dependency: the body as `kind`, and the bytes it was made of. An optional body may be left out."""

    async def read(request: Request) -> tuple[T, bytes]:
        body = await read_bytes(request, optional=optional)
        try:
            return kind.model_validate(loads(body) if body or not optional else {}), body
        except pydantic.ValidationError as error:
            raise invalid(error.errors(include_url=False, include_input=False)) from None

    return read


def described(kind: type[pydantic.BaseModel], *, required: bool = True) -> dict[str, Any]:
    """What a route says of such a body; `written_out` when somebody asks for the interface's description."""
    return {"requestBody": (kind, required)}


def written_out(said: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(said.get("requestBody"), tuple):
        return said
    kind, required = said["requestBody"]
    schema = kind.model_json_schema()
    content = {"application/json": {"schema": _whole(schema, schema.pop("$defs", {}))}}
    return {**said, "requestBody": {"required": required, "content": content}}


def _whole(schema: Any, parts: dict[str, Any]) -> Any:
    """With each part in its place: where the schema will stand, a reference from its own root leads nowhere."""
    if isinstance(schema, list):
        return [_whole(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if (reference := schema.get("$ref")) is not None:
        return _whole(parts[reference.rpartition("/")[2]], parts)
    return {name: _whole(each, parts) for name, each in schema.items()}


async def read_bytes(request: Request, limit: int = LIMIT, *, optional: bool = False) -> bytes:
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Invalid("Send the body as it is, without a Content-Encoding.", code="encoded_body")
    length = request.headers.get("content-length")
    if length is not None and length.isdigit() and int(length) > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(SECONDS):
            body = await _gathered(request, limit)
    except TimeoutError:
        raise Invalid(f"The body did not arrive within {SECONDS:.0f} seconds.", code="slow_body") from None
    except ClientDisconnect:
        raise Invalid("The connection was closed within the body.", code="bad_request") from None
    if (body or not optional) and not _JSON.fullmatch(request.headers.get("content-type", "")):
        raise Invalid("Send JSON, with `Content-Type: application/json`.", code="wrong_content_type")
    return body


async def _gathered(request: Request, limit: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
    return b"".join(parts)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit:,} bytes.", code="body_too_large")


def loads(body: bytes) -> Any:
    """Strict JSON: UTF-8, no NaN, no key twice, no endless numbers, no lone surrogates, no NUL, not too deep."""
    _check_depth(body)
    try:
        value = _STRICT.decode(body.decode("utf-8"))
        if b"\\u" in body:
            _check_texts(value)
    except UnicodeError:
        raise _bad("it is not valid UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise _bad(str(error)) from None
    return value


def _check_depth(body: bytes) -> None:
    """Take the innermost pairs of brackets away, a level at a time: whatever is left in the end goes too deep."""
    brackets = _STRINGS.sub(b"", body).translate(None, _NO_BRACKET)
    for _ in range(DEPTH):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if brackets:
        raise _bad(f"its brackets do not match, or it is nested deeper than {DEPTH}")


def _check_texts(value: object) -> None:
    """What only an escape can smuggle in: half a character, or none."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            one.encode()
            if "\x00" in one:
                raise ValueError("it contains a NUL character")
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MEMBERS:
        raise ValueError(f"an object in it has more than {MEMBERS:,} members")
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands in it twice")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _int(text: str) -> int:
    if len(text) > _DIGITS or abs(value := int(text)) > _LARGEST:
        raise ValueError("a number in it is too large")
    return value


def _float(text: str) -> float:
    value = float(text) if len(text) <= _DIGITS else float("inf")
    if value in {float("inf"), float("-inf")}:
        raise ValueError("a number in it is too large")
    return value


_STRICT = json.JSONDecoder(
    object_pairs_hook=_once_each, parse_constant=_no_constant, parse_int=_int, parse_float=_float
)


def _bad(why: str) -> Problem:
    return Invalid(f"The body is not JSON that we take: {why}.", code="bad_json")
