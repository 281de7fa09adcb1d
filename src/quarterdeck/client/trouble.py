"""What a client may have to tell: that it was refused, or that nobody is there. Both have a code and a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from quarterdeck.kernel.errors import Problem, Unavailable

# A later try may fare better with these; with other refusals it will not.
PASSING = frozenset({"draining", "unavailable", "storage_busy", "limit_reached"})
PASSING_STATUS = frozenset({429, 502, 503, 504})


class Refused(Problem):
    """The server said no. `status` is HTTP's, 0 where it was not HTTP that said it."""

    code = "refused"

    def __init__(self, detail: str, *, code: str, status: int = 0, extra: Mapping[str, object] | None = None) -> None:
        super().__init__(detail, code=code, extra=extra)
        self.status = status


class Unreachable(Unavailable):
    """Nobody answered, for as long as the client was willing to wait."""

    code = "unreachable"


class Passing(Exception):
    """A refusal that a later try may not meet. Never leaves the client."""

    def __init__(self, refused: Refused, retry_after: float | None) -> None:
        super().__init__(refused.detail)
        self.refused, self.retry_after = refused, retry_after


def refusal(status: int, document: object, retry_after: str | None) -> Refused | Passing:
    """What an answer other than a success means, from its status and its problem document, if it had one."""
    told = document if isinstance(document, dict) else {}
    code = told.get("code")
    detail = told.get("detail")
    known = isinstance(code, str)
    refused = Refused(
        detail if isinstance(detail, str) else f"The server answered {status} without saying why.",
        code=str(code) if known else f"http_{status}",
        status=status,
        extra={key: value for key, value in told.items() if key not in {"type", "title", "status", "code", "detail"}},
    )
    if status in PASSING_STATUS and (not known or code in PASSING):
        seconds = float(retry_after) if retry_after is not None and retry_after.isdecimal() else None
        return Passing(refused, seconds)
    return refused
