"""Before anything else: is this request meant for us, who asks, and may they?

The rest of the server is handed a scope and asks no more. In local mode whoever shows no token is the owner of this
machine, and nothing is looked up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from starlette.types import ASGIApp, Receive, Scope, Send

from quarterdeck.actions.tokens import end_token
from quarterdeck.engine.access import TOKEN, id_of
from quarterdeck.kernel.errors import Invalid, NotAllowed, NotKnown, Problem
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.scope import NOBODY
from quarterdeck.kernel.scope import Scope as Who
from quarterdeck.server import problems
from quarterdeck.server.policy import Policy
from quarterdeck.server.session import check_intended, cookie_in
from quarterdeck.server.station import Station, put_station
from quarterdeck.server.stay import lasting

BEARER = "bearer "


class Gate:
    """Refuses, or opens the house and passes on. `enter` makes the house usable on the loop at hand."""

    def __init__(self, app: ASGIApp, enter: Callable[[], Awaitable[Station]], policy: Policy) -> None:
        self._app, self._enter, self._policy = app, enter, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        try:
            if b"%00" in scope["query_string"] or "\x00" in scope["path"]:  # which no text of ours holds
                raise Invalid("The address holds a NUL character.", code="bad_request")
            station = await self._enter()
            said = station.doors.check(scope)
            if said is None and not station.doors.guarded and b"qd_" not in scope["query_string"]:
                put_station(scope, station)
            else:
                station = await self._admitted(scope, station, said)
        except Problem as problem:
            await problems.of(problem)(scope, receive, send)
            return
        if station.scope.shown is None:
            await self._app(scope, receive, send)
        else:
            with station.quotas.under_way(station.scope.tenant):
                await lasting(station.access, station.scope, lambda to: self._app(scope, receive, to), scope, send)

    async def _admitted(self, scope: Scope, station: Station, said: str | None) -> Station:
        """The station as whoever asks has it, if the policy lets them."""
        await self._check_url(scope, station)
        place = self._policy.of(scope["path"])
        if place is None:
            raise problems.nowhere(scope)
        method = "WS" if scope["type"] == "websocket" else "GET" if scope["method"] == "HEAD" else scope["method"]
        needs = place.needs.get(method)
        if needs is None:
            raise problems.not_offered(scope)
        who = await self._known(scope, station, said)
        if needs != "open":
            if who is NOBODY:
                raise NotKnown("Say who you are: send `Authorization: Bearer qd_…` with a token that is good.")
            if needs != "known" and not who.may(needs):
                raise NotAllowed(f"Your role does not include the right to {needs}.", extra={"right": needs})
            if place.tenant is not None:
                who.within(TenantId(place.tenant))
            if not who.operator:
                await station.quotas.admit(who.tenant, starts=method in place.starts)
        admitted = station if who is station.scope else replace(station, scope=who)
        put_station(scope, admitted)
        return admitted

    async def _known(self, scope: Scope, station: Station, said: str | None) -> Who:
        """By a header, or by a browser's cookie; what belongs into the one is nothing in the other."""
        if said is None and station.doors.guarded:
            token = cookie_in(scope)
            who = None if token is None else await station.access.authenticate(token)
            if token is None or who is None or who.shown is None or not who.shown.session:
                return NOBODY
            check_intended(scope, token)
            return who
        who = await self._by_header(station, said)
        return NOBODY if who.shown is not None and who.shown.session else who

    async def _by_header(self, station: Station, said: str | None) -> Who:
        """A key of some other kind means nothing to us: in local mode clients send such because they must."""
        token = said[len(BEARER) :].strip() if said is not None and said[: len(BEARER)].lower() == BEARER else ""
        if not station.doors.guarded and id_of(token) is None:
            return station.scope
        known = await station.access.authenticate(token)
        if known is None and not station.doors.guarded:
            raise NotKnown("This token is not known, revoked or expired.")
        return known or NOBODY

    async def _check_url(self, scope: Scope, station: Station) -> None:
        """An address is kept in histories and logs of others: a token that stood in one is nobody's secret any more."""
        if scope["type"] != "http" or b"qd_" not in scope["query_string"]:
            return
        found = TOKEN.search(scope["query_string"].decode("latin-1"))
        if found is None:
            return
        known = await station.access.authenticate(found[0])
        if known is not None:
            await end_token(station.desk, known, found[1])
        raise Invalid(
            "A token does not belong into an address, where others may read it: send it as `Authorization: Bearer …`. "
            "It has been revoked.",
            code="token_in_url",
        )
