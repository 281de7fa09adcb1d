"""A browser signs in with a token and signs out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.tokens import Issued, Wanted, end_token, issue_token
from quarterdeck.kernel.errors import Conflict
from quarterdeck.kernel.scope import Scope

SESSION_S = 12 * 3600.0


async def sign_in(desk: Desk, scope: Scope, line: Mapping[str, Any]) -> Issued:
    """A session is a token of its own, that ends with the one it was opened with, and soon by itself."""
    if scope.shown is None or scope.shown.session:
        raise Conflict("A session is opened with a token: send `Authorization: Bearer qd_…`.", code="token_wanted")
    until = desk.clock.now() + SESSION_S
    if scope.shown.lends_until is not None:
        until = min(until, scope.shown.lends_until)
    return await issue_token(desk, scope, Wanted(scope.actor, line["role"], "browser", until, line["id"]))


async def sign_out(desk: Desk, scope: Scope) -> None:
    """What is open in the browser ends with it."""
    if scope.shown is None or not scope.shown.session:
        raise Conflict("There is no session to sign out of; revoke the token instead.", code="no_session")
    await end_token(desk, scope, scope.shown.token)
