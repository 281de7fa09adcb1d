"""The error tree. Everything a person may be told is a `Problem` with a stable code.

Problem                     .code .detail .extra     -> application/problem+json (server/problems.py)
  Invalid          the request makes no sense
    TooLarge       it is bigger than we read
  NotKnown         nobody knows who asks
  NotAllowed       the scope may not
  NotFound         also for other tenants' things
  Conflict         somebody else was first
    Fenced         a newer epoch owns this stream
    Closed         the stream has had its last event
    Moved          the stream has gone on since it was looked at
    Gone           it was there, and its time is over
  LimitReached     too much, or too fast
  Unavailable      a door is shut for now
    StorageFull    the disk takes no more; reading goes on
    StorageBroken  the storage cannot be trusted; reading goes on where it can
ModelFailed                 raised by a model; becomes an event, and `decide` says what follows
ToolFailed                  raised by a tool; the model reads it and goes on
"""

from __future__ import annotations

from collections.abc import Mapping


class Problem(Exception):
    """Something to tell whoever asked: a stable code and a sentence that helps."""

    code = "problem"

    def __init__(self, detail: str, *, code: str | None = None, extra: Mapping[str, object] | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code
        self.extra = dict(extra or {})


class Invalid(Problem):
    code = "invalid"


class TooLarge(Invalid):
    code = "too_large"


class NotKnown(Problem):
    code = "not_known"


class NotAllowed(Problem):
    code = "not_allowed"


class NotFound(Problem):
    code = "not_found"


class Conflict(Problem):
    code = "conflict"


class Fenced(Conflict):
    code = "fenced"


class Closed(Conflict):
    code = "closed"


class Moved(Conflict):
    code = "moved"


class Gone(Conflict):
    code = "gone"


class LimitReached(Problem):
    code = "limit_reached"


class Unavailable(Problem):
    code = "unavailable"


class StorageFull(Unavailable):
    code = "storage_full"


class StorageBroken(Unavailable):
    code = "storage_broken"


class ModelFailed(Exception):
    """A model call that did not end well. `retry_after` is what the provider asked for, in seconds."""

    def __init__(self, code: str, detail: str, *, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.code, self.detail, self.retryable, self.retry_after = code, detail, retryable, retry_after


class ToolFailed(Exception):
    """A tool that could not do what it was asked. The model is told. A `malformed` call made no sense at all."""

    def __init__(self, detail: str, *, malformed: bool = False) -> None:
        super().__init__(detail)
        self.malformed = malformed
