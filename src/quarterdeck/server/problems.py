"""The error tree as application/problem+json (RFC 9457): the only table of status codes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from quarterdeck.kernel.errors import (
    Conflict,
    Gone,
    Invalid,
    LimitReached,
    ModelFailed,
    NotAllowed,
    NotFound,
    NotKnown,
    Problem,
    StorageFull,
    TooLarge,
    Unavailable,
)

logger = logging.getLogger("quarterdeck.server")

STATUS: dict[type[Problem], int] = {
    TooLarge: 413,
    Invalid: 422,
    NotKnown: 401,
    NotAllowed: 403,
    NotFound: 404,
    Gone: 410,
    Conflict: 409,
    LimitReached: 429,
    StorageFull: 507,
    Unavailable: 503,
    Problem: 500,
}
# Codes that have a status of their own.
BY_CODE = {
    "bad_json": 400,
    "bad_cursor": 400,
    "bad_host": 421,
    "bad_request": 400,
    "method_not_allowed": 405,
    "bad_header": 400,
    "token_in_url": 400,
    "slow_body": 408,
    "wrong_content_type": 415,
    "encoded_body": 415,
    "idempotency_mismatch": 422,
}
FROM_FRAMEWORK = {404: "not_found", 405: "method_not_allowed", 400: "bad_request"}
MODEL_STATUS = {"no_model": 503}

MOST_TOLD = 200

_WORD, _SENTENCE = {"type": "string"}, {"type": "string", "description": "What is wrong, and what helps."}
_FIELDS = {"type": _WORD, "title": _WORD, "status": {"type": "integer"}, "code": _WORD, "detail": _SENTENCE}
_SCHEMA = {"type": "object", "title": "Problem", "properties": _FIELDS, "required": list(_FIELDS)}
_CONTENT = {"application/problem+json": {"schema": _SCHEMA}}
# How the interface's description tells what may go wrong, at every route.
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be carried out; `code` says why.", "content": _CONTENT},
    "5XX": {"description": "The server cannot carry it out now; `code` says why.", "content": _CONTENT},
}


def answer(status: int, code: str, detail: str, extra: Mapping[str, object] | None = None) -> Response:
    body = {"type": f"urn:quarterdeck:problem:{code}", "title": code.replace("_", " "), "status": status}
    body |= {"code": code, "detail": detail, **(extra or {})}
    headers = {"retry-after": str((extra or {}).get("retry_after_s", 1))} if status in {429, 503} else {}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(orjson.dumps(body), status, headers, media_type="application/problem+json")


def of(problem: Problem) -> Response:
    kind = next(kind for kind in type(problem).__mro__ if kind in STATUS)
    return answer(BY_CODE.get(problem.code, STATUS[kind]), problem.code, problem.detail, problem.extra)


def of_model(failed: ModelFailed) -> Response:
    return answer(MODEL_STATUS.get(failed.code, 502), failed.code, failed.detail)


def _framework(request: Request, error: HTTPException) -> Response:
    code = FROM_FRAMEWORK.get(error.status_code, "http_error")
    known = {
        404: nowhere(request.scope).detail,
        405: not_offered(request.scope).detail,
    }
    response = answer(error.status_code, code, known.get(error.status_code, str(error.detail)))
    response.headers.update(error.headers or {})
    return response


def nowhere(scope: Scope) -> NotFound:
    return NotFound(f"There is nothing at {scope['path'][:MOST_TOLD]}.")


def not_offered(scope: Scope) -> Invalid:
    return Invalid(f"{scope.get('method', 'A socket')} is not offered here.", code="method_not_allowed")


def invalid(errors: list[Any]) -> Invalid:
    """A sentence from a validator's findings: which field, and what is wrong with it."""
    told = [{"field": _field(e["loc"]), "problem": str(e["msg"])[:MOST_TOLD]} for e in errors[:20]]
    first = told[0]
    return Invalid(
        f"{first['field'] or 'The body'}: {first['problem']}.", code="invalid_request", extra={"errors": told}
    )


def _field(place: Sequence[object]) -> str:
    """Where it is. Names may be the client's own invention, so they are repeated only so far."""
    return ".".join(str(part) for part in place if part not in {"body", "query"})[:MOST_TOLD]


def told(request: Request, error: Exception) -> Response:
    """The answer to a request that went wrong, however it did."""
    match error:
        case Problem():
            return of(error)
        case ModelFailed():
            return of_model(error)
        case HTTPException():
            return _framework(request, error)
        case RequestValidationError():
            return of(invalid(list(error.errors())))
        case _:
            logger.error("%s %s failed", request.method, request.scope["path"][:200], exc_info=error)
            return answer(500, "internal", "Something went wrong here; the server's log says what.")


async def _told(request: Request, error: Exception) -> Response:
    return told(request, error)


def install(app: FastAPI) -> None:
    for kind in (Problem, ModelFailed, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _told)
