"""A browser's session: a cookie that no page can read, and a second word that no other page knows."""

from __future__ import annotations

import hashlib
import hmac

from starlette.types import Scope

from quarterdeck.kernel.errors import Invalid, NotAllowed

# The prefix makes browsers hold to it: over TLS only, for this name only, and set by nobody else.
COOKIE = "__Host-quarterdeck"
CSRF = "x-csrf-token"
_SAFE = frozenset({"GET", "HEAD"})


def cookie(token: str, seconds: int) -> str:
    return f"{COOKIE}={token}; Path=/; Max-Age={seconds}; HttpOnly; Secure; SameSite=Strict"


def cookie_in(scope: Scope) -> str | None:
    """The session's token, where a browser sent one."""
    found = [
        value.strip()
        for line in _values(scope, b"cookie")
        for name, _, value in (part.partition("=") for part in line.split(";"))
        if name.strip() == COOKIE
    ]
    if len(found) > 1:
        raise Invalid("Two sessions at once are one too many.", code="bad_request")
    return found[0] if found else None


def csrf_of(token: str) -> str:
    """What the page sends besides the cookie. Whoever knows it cannot tell the cookie from it."""
    return hmac.digest(token.encode(), b"quarterdeck csrf", hashlib.sha256).hex()


def check_intended(scope: Scope, token: str) -> None:
    """A cookie comes with whatever a browser sends, whoever made it send that. What changes something must come from a
    page of ours, by its origin, and know the session's second word; a socket must come from one."""
    if scope["type"] == "http" and scope["method"] in _SAFE:
        return
    if not _values(scope, b"origin"):
        raise NotAllowed("A browser says which page it asks for; this request does not.", code="foreign_origin")
    said = _values(scope, CSRF.encode())
    if scope["type"] == "http" and not (len(said) == 1 and hmac.compare_digest(said[0], csrf_of(token))):
        raise NotAllowed(f"Send the session's `{CSRF}`: GET /api/v1/session says it.", code="csrf")


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
