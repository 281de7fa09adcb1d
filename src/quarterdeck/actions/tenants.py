"""Tenants: create, change. A slug is one tenant's alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.memory import once_only
from quarterdeck.engine.tenancy import TenantState, evolve, slug_holder
from quarterdeck.events.tenants import SlugFreed, SlugTaken, TenantChanged, TenantClosed, TenantCreated
from quarterdeck.kernel.errors import Conflict, Invalid, Moved, NotAllowed, NotFound
from quarterdeck.kernel.ids import HOUSE, TenantId, slug_stream, tenant_stream
from quarterdeck.kernel.scope import LOCAL_TENANT, Scope
from quarterdeck.log.entries import Entry
from quarterdeck.log.fold import Fold
from quarterdeck.log.log import Log

LONGEST_NAME = 200
TRIES = 50
RESERVED = frozenset({LOCAL_TENANT, HOUSE})
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class _Claim:
    """A slug as it stood when it was looked at: its entry goes in only where it still stands so."""

    slug: str
    free: bool
    head: int

    def taken_by(self, tenant: str, actor: str) -> Entry:
        # One that is taken is asked for all the same, as if it were new: the same request made twice is answered, and
        # anybody else is refused.
        return Entry(slug_stream(self.slug), (SlugTaken(tenant),), actor=actor, head=self.head if self.free else 0)


async def create_tenant(
    desk: Desk, scope: Scope, name: str, slug: str, *, key: str | None = None, body: bytes = b""
) -> TenantId:
    """Answers with its id once it is durable. The same `key` with the same `body` creates one."""
    _must_be_operator(scope, "create tenants")
    name, slug = checked_title(name), _checked_slug(slug)
    ident = TenantId(desk.ids.mint())
    once = once_only(scope, "create_tenant", key, body, {"id": ident})
    created = Entry(tenant_stream(ident), (TenantCreated(ident, name, slug),), actor=scope.actor)
    for _ in range(TRIES):
        claim = await _looked_at(desk.log, slug)
        try:
            appended = await desk.log.append(created, claim.taken_by(ident, scope.actor), once=once)
        except Moved:
            if not claim.free:
                raise _taken(slug) from None
            continue
        return ident if appended.answer is None else TenantId(orjson.loads(appended.answer)["id"])
    raise _taken(slug)


async def change_tenant(
    desk: Desk, scope: Scope, tenant: TenantId, *, name: str | None = None, slug: str | None = None
) -> None:
    """What is None stays as it is. A new slug frees the old one in the same moment."""
    if name is None and slug is None:
        raise Invalid("There is nothing to change; name `name` or `slug`.", code="nothing_to_change")
    if slug is not None:
        _must_be_operator(scope, "change a slug")
    name = None if name is None else checked_title(name)
    slug = None if slug is None else _checked_slug(slug)
    for _ in range(TRIES):
        state, head = await tenant_state(desk.log, tenant)
        new_slug = None if slug == state.slug else slug
        entries = [Entry(tenant_stream(tenant), (TenantChanged(tenant, name, new_slug),), actor=scope.actor, head=head)]
        claim = None if new_slug is None else await _looked_at(desk.log, new_slug)
        if claim is not None:
            if not claim.free:
                raise _taken(claim.slug)
            entries += [
                claim.taken_by(tenant, scope.actor),
                Entry(slug_stream(state.slug), (SlugFreed(),), actor=scope.actor),
            ]
        try:
            await desk.log.append(*entries)
        except Moved:
            continue
        return
    raise Conflict("The tenant changes too quickly; try again.", code="busy")


async def close_tenant(desk: Desk, scope: Scope, tenant: TenantId, slug: str | None) -> None:
    """The beginning of its end: all that it had is erased from now on, whatever happens. Its slug says that it is
    really meant."""
    for _ in range(TRIES):
        state, head = await tenant_state(desk.log, tenant)
        if slug != state.slug:
            raise Invalid(
                "This erases everything of the tenant, for good. Say that you mean it: repeat its slug in `confirm`.",
                code="not_confirmed",
            )
        try:
            await desk.log.append(Entry(tenant_stream(tenant), (TenantClosed(tenant),), actor=scope.actor, head=head))
        except Moved:
            continue
        return
    raise Conflict("The tenant changes too quickly; try again.", code="busy")


async def tenant_state(log: Log, tenant: TenantId) -> tuple[TenantState, int]:
    """How a tenant stands that can be changed, and where its stream ends."""
    if tenant == LOCAL_TENANT:
        raise Conflict("The local tenant is this server itself; its settings are the server's.", code="local_tenant")
    fold = Fold(log, tenant_stream(tenant), TenantState(), evolve)
    state = await fold.catch_up()
    if state.id is None or state.closed:
        raise NotFound("There is no such tenant.", code="tenant_not_found")
    return state, fold.seq


async def _looked_at(log: Log, slug: str) -> _Claim:
    fold = Fold(log, slug_stream(slug), None, slug_holder)
    holder = await fold.catch_up()
    return _Claim(slug, holder is None, fold.seq)


def _must_be_operator(scope: Scope, what: str) -> None:
    if not scope.operator:
        raise NotAllowed(f"Only an operator of this server may {what}.", code="operators_only")


def checked_title(text: str, what: str = "name") -> str:
    """One line that people read."""
    plain = " ".join(text.split())
    if not plain or not plain.isprintable() or len(plain) > LONGEST_NAME:
        raise Invalid(f"`{what}` must be 1 to {LONGEST_NAME} printable characters.", code="bad_name")
    return plain


def _checked_slug(slug: str) -> str:
    if not _SLUG.fullmatch(slug):
        raise Invalid(
            "`slug` must be 1 to 63 small letters, digits or hyphens, and neither begin nor end with a hyphen.",
            code="bad_slug",
        )
    if slug in RESERVED:
        raise _taken(slug)
    return slug


def _taken(slug: str) -> Conflict:
    return Conflict(f"The slug {slug!r} is taken; choose another.", code="slug_taken")
