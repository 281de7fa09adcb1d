"""Pages: a plain array in the body, and where it goes on in a `Link` header."""

from __future__ import annotations

from typing import Annotated, TypeAlias
from urllib.parse import urlencode

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.kernel.ids import checked_name

MOST = 500

Limit: TypeAlias = Annotated[int, Query(ge=1, le=MOST, description="How many at most.")]
After: TypeAlias = Annotated[str | None, Query(max_length=200, description="Where the page before this one ended.")]


def checked_after(after: str | None) -> str | None:
    return None if after is None else checked_name(after, "after")


def link_next(request: Request, response: Response, after: object | None) -> None:
    """Say where the next page begins; nothing where there is none."""
    if after is None:
        return
    query = urlencode({**request.query_params, "after": str(after)})
    response.headers["link"] = f'<{request.scope["path"]}?{query}>; rel="next"'
