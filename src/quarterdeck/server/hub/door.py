"""The door of the hub: who comes in, and as whom. `?token=` is for agents alone, and is written nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import parse_qs

from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from quarterdeck.actions.board.book import speaker
from quarterdeck.engine.board.people import Member, Project
from quarterdeck.kernel.board import agent_of
from quarterdeck.kernel.errors import LimitReached, NotAllowed, Problem
from quarterdeck.kernel.scope import Scope
from quarterdeck.ports import Query
from quarterdeck.server import problems
from quarterdeck.server.hub import limits, vocabulary
from quarterdeck.server.hub.hub import Hub
from quarterdeck.server.hub.line import Line, line_of
from quarterdeck.server.hub.session import Session, config_of
from quarterdeck.server.station import KEY, Station
from quarterdeck.views.board import PROJECTS
from quarterdeck.views.board_book import BoardBook

MOST_PROJECTS = 1_000


class Unknown(NotAllowed):
    """Nobody is known by what was shown."""

    code = "not_authenticated"


async def door(scope: AsgiScope, receive: Receive, send: Send) -> None:
    station: Station = scope[KEY]
    await receive()
    if station.hub.draining:
        await send({"type": "websocket.close", "code": 4503})
        return
    address = (scope.get("client") or ("",))[0]
    try:
        with station.hub.newcomer(address):
            await send({"type": "websocket.accept"})
            line = line_of(scope, send)
            session = await _greeted(station, line, scope, receive)
    except LimitReached as problem:
        await problems.of(problem)(scope, receive, send)
        return
    if session is None:
        line.gone()
        return
    stop_watching = station.access.until(session.scope, lambda: line.part(4401, "token_ended"))
    try:
        await session.listen(receive)
    finally:
        stop_watching()
        line.gone()
        station.hub.leave(session)
        session.close()


async def _greeted(station: Station, line: Line, scope: AsgiScope, receive: Receive) -> Session | None:
    """A session, or None where the client was sent away, and told why."""
    try:
        known = await _known(station, scope, receive)
        session = await _session(station, line, known)
    except Problem as problem:
        line.tell("auth.error", {"code": problem.code, "detail": problem.detail})
        line.part(4429 if isinstance(problem, LimitReached) else 4401, problem.code)
        return None
    line.wire.widen(limits.FRAME_BYTES)
    return session


async def _known(station: Station, scope: AsgiScope, receive: Receive) -> Scope:
    """Whoever is known by a header, by the address, or by the first frame."""
    headers = [value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"]
    if headers:
        kind, _, token = headers[0].partition(" ")
        return await _by_token(station, token.strip() if kind.lower() == "bearer" else "")
    tokens = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token")
    if tokens:
        found = await _by_token(station, tokens[0])
        if agent_of(found.actor) is None:
            raise Unknown("A person's token has no business in an address; send it in a header.", code="token_in_url")
        return found
    if _from_our_page(scope):
        return _local(station)
    return await _by_first_frame(station, receive)


async def _by_token(station: Station, token: str) -> Scope:
    found = await station.access.authenticate(token)
    if found is None or not found.may("board"):
        raise Unknown("Nobody is known by this token; it may have been revoked.")
    return found


async def _by_first_frame(station: Station, receive: Receive) -> Scope:
    try:
        async with asyncio.timeout(limits.HELLO_S):
            message = await receive()
    except TimeoutError:
        raise Unknown(f"Say who you are within {limits.HELLO_S:.0f} seconds.", code="auth_timeout") from None
    said = message.get("text")
    frame = None if said is None else vocabulary.read(said)[0]
    if not isinstance(frame, vocabulary.Auth):
        raise Unknown("The first frame is `auth`, with a token.", code="auth_first")
    return _local(station) if frame.token is None else await _by_token(station, frame.token)


def _from_our_page(scope: AsgiScope) -> bool:
    """The gate has seen to it that no other origin comes this far."""
    return any(name == b"origin" for name, _ in scope["headers"])


def _local(station: Station) -> Scope:
    """Whom the gate knows: by a session, or as the owner of this machine in local mode."""
    if not station.scope.may("board"):
        raise Unknown("Send a token.")
    return station.scope


async def _session(station: Station, line: Line, known: Scope) -> Session:
    book = BoardBook(station.desk.log, known.tenant)
    me = await speaker(station.desk, known, book)
    session = Session(station.hub, line, known, book, me)
    station.hub.enter(session)
    try:
        projects = await session.open(await _projects(station.hub, book, me))
    except BaseException:
        station.hub.leave(session)
        session.close()
        raise
    about = {"member_id": me.id, "slug": me.slug, "name": me.name, "type": me.type}
    server = {"protocol": vocabulary.PROTOCOL, "limits": limits.told(), "epoch": station.desk.log.epoch}
    line.tell("auth.ok", {**about, "projects": projects, "config": config_of(me), **server})
    if me.type == "agent":
        line.tell("config.updated", config_of(me))
    session.start_mail()
    return session


async def _projects(hub: Hub, book: BoardBook, me: Member) -> Sequence[Project]:
    """Those that the member may see: people all of their tenant's, agents those they are in."""
    if me.type == "agent":
        found = [await book.project(ident) for ident in await book.projects_of(me.id)]
        return [project for project in found if project is not None and not project.archived]
    where = {"tenant": book.tenant, "archived": 0}
    lines = await hub.desk.log.find(Query(PROJECTS, where, "id", descending=True, limit=MOST_PROJECTS))
    return [Project(p["id"], p["name"], p["slug"], p["description"], p["chat"], archived=False) for p in lines]
