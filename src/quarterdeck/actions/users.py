"""Users of a tenant: add, change, remove."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.actions.tenants import checked_title
from quarterdeck.engine.access import ROLES, check_grant
from quarterdeck.events.access import UserAdded, UserChanged, UserRemoved
from quarterdeck.events.base import Event
from quarterdeck.kernel.errors import Conflict, Invalid, Moved, NotAllowed, NotFound
from quarterdeck.kernel.ids import user_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry

TRIES = 50
PEOPLE = frozenset(ROLES) - {"operator", "agent"}
# How a user stands, by the id, within the tenant that asks; None where there is none.
Find: TypeAlias = Callable[[str], Awaitable[Mapping[str, Any] | None]]


async def add_user(desk: Desk, scope: Scope, name: str, role: str, *, key: str | None = None, body: bytes = b"") -> str:
    """Answers with the id once it is durable. The same `key` with the same `body` adds one."""
    _must_manage(scope)
    event = UserAdded(checked_title(name), _checked_role(scope, role))
    ident = desk.ids.mint()
    once = once_only(scope, "add_user", key, body, {"id": ident})
    appended = await desk.log.append(Entry(user_stream(scope.tenant, ident), (event,), actor=scope.actor), once=once)
    return ident if appended.answer is None else str(orjson.loads(appended.answer)["id"])


async def change_user(
    desk: Desk, scope: Scope, ident: str, find: Find, *, name: str | None = None, role: str | None = None
) -> None:
    """What is None stays as it is. What the user has open ends, and comes back with the new role."""
    if name is None and role is None:
        raise Invalid("There is nothing to change; name `name` or `role`.", code="nothing_to_change")
    event = UserChanged(
        None if name is None else checked_title(name), None if role is None else _checked_role(scope, role)
    )
    await _happened(desk, scope, ident, find, event)


async def remove_user(desk: Desk, scope: Scope, ident: str, find: Find) -> None:
    """The user's tokens are good no more from this moment on; what the user said and did stays."""
    await _happened(desk, scope, ident, find, UserRemoved())


async def _happened(desk: Desk, scope: Scope, ident: str, find: Find, event: Event) -> None:
    _must_manage(scope)
    name = user_stream(scope.tenant, ident)
    for _ in range(TRIES):
        state, line = await desk.log.look(name), await find(ident)
        if state is None or line is None or line["removed"]:
            raise NotFound("There is no such user.", code="user_not_found")
        check_grant(scope, line["role"])
        try:
            await desk.log.append(Entry(name, (event,), actor=scope.actor, head=state.head))
        except Moved:
            continue
        return
    raise Conflict("The user changes too quickly; try again.", code="busy")


def _checked_role(scope: Scope, role: str) -> str:
    if role not in PEOPLE:
        raise Invalid(f"`role` must be one of {', '.join(sorted(PEOPLE))}.", code="unknown_role")
    check_grant(scope, role)
    return role


def _must_manage(scope: Scope) -> None:
    if not scope.may("manage"):
        raise NotAllowed("Only those who manage this tenant change its users.", extra={"right": "manage"})
