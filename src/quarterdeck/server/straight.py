"""A route as an application of its own: every turn begins with one, and what the framework does around a route costs
more than all the rest of the request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from quarterdeck.server import problems

Answer = Callable[[Request], Awaitable[Response]]


class Straight:
    """Answers, or says what is wrong, in the words of every other route."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except Exception as error:  # noqa: BLE001 - whatever it was, it is answered, and logged where it is told
            response = problems.told(request, error)
        await response(scope, receive, send)
