"""Tokens: issued to whom one may, shown once, known by whoever shows them, and ended."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.tokens import Issued, Wanted, issue_token, new_token, revoke_token
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.engine.access import RIGHTS, Role
from quarterdeck.kernel.errors import Invalid, NotAllowed, NotFound
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT, Scope, Shown
from quarterdeck.log.log import Log
from quarterdeck.views.access import TOKENS, authenticate
from quarterdeck.views.tables import TABLES, VIEWS

ACME = LOCAL_OWNER.within(TenantId("acme"))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    log = Log(SqliteStore(tmp_path / "log.db"), SystemClock(), TABLES, VIEWS)
    yield Desk(log, SystemIds(), SystemClock())
    await log.close()


def person(role: Role, name: str = "eve", tenant: str = "acme", until: float | None = None) -> Scope:
    shown = Shown(("token/x",), until, until)
    return Scope(TenantId(tenant), f"person:{name}", RIGHTS[role], role == "operator", shown)


def now(desk: Desk) -> float:
    return desk.clock.now()


async def known(desk: Desk, token: str, at: float | None = None) -> Scope | None:
    return await authenticate(desk.log, token, now(desk) if at is None else at)


async def end(desk: Desk, scope: Scope, issued: Issued) -> None:
    line = await desk.log.get(TOKENS, id=issued.id)
    assert line is not None
    await revoke_token(desk, scope, line)


async def test_whoever_shows_a_token_is_known_by_it(desk: Desk) -> None:
    issued = await issue_token(desk, ACME, Wanted("agent:m-1", "agent", "builder"))
    assert issued.token.startswith(f"qd_{issued.id}_")
    scope = await known(desk, issued.token)
    assert scope is not None
    assert (scope.tenant, scope.actor, scope.operator) == ("acme", "agent:m-1", False)
    assert scope.rights == RIGHTS["agent"]
    assert scope.may("work")
    assert not scope.may("talk")


async def test_only_a_digest_of_a_token_is_kept(desk: Desk, tmp_path: Path) -> None:
    issued = await issue_token(desk, ACME, Wanted("person:u-1", "member"))
    secret = issued.token.rpartition("_")[2].encode()[:20]
    await desk.log.close()
    files = [path.read_bytes() for path in tmp_path.iterdir()]
    assert not any(secret in data for data in files)
    assert any(issued.id.encode() in data for data in files)
    assert issued.token not in repr(issued)


@pytest.mark.parametrize(
    "token",
    ["", "qd_", "qd_" + "0" * 32 + "_" + "A" * 43, "Bearer x", "qd_' OR 1=1 --", "qd_" + "0" * 32 + "_" + "A" * 44],
)
async def test_what_is_no_token_says_nothing_of_anybody(desk: Desk, token: str) -> None:
    assert await known(desk, token) is None


async def test_a_token_with_one_character_changed_is_none(desk: Desk) -> None:
    issued = await issue_token(desk, ACME, Wanted("person:u-1", "member"))
    for at in (3, 20, 36, 50, len(issued.token) - 1):
        other = "b" if issued.token[at] != "b" else "c"
        assert await known(desk, issued.token[:at] + other + issued.token[at + 1 :]) is None
    assert await known(desk, issued.token + "\n") is None


async def test_the_secret_of_one_token_does_not_fit_the_id_of_another(desk: Desk) -> None:
    one = await issue_token(desk, ACME, Wanted("person:u-1", "viewer"))
    two = await issue_token(desk, ACME, Wanted("person:u-2", "owner"))
    assert await known(desk, f"qd_{two.id}_{one.token[36:]}") is None


async def test_a_token_expires_by_itself(desk: Desk) -> None:
    until = now(desk) + 60
    issued = await issue_token(desk, ACME, Wanted("person:u-1", "member", expires_at=until))
    assert await known(desk, issued.token, until - 1) is not None
    assert await known(desk, issued.token, until) is None


async def test_a_revoked_token_is_known_no_more_and_revoking_it_again_changes_nothing(desk: Desk) -> None:
    issued = await issue_token(desk, ACME, Wanted("person:u-1", "member"))
    await end(desk, ACME, issued)
    line = await desk.log.get(TOKENS, id=issued.id)
    assert await known(desk, issued.token) is None
    await end(desk, ACME, issued)
    assert await desk.log.get(TOKENS, id=issued.id) == line


async def test_another_tenants_token_cannot_be_revoked(desk: Desk) -> None:
    issued = await issue_token(desk, ACME, Wanted("person:u-1", "member"))
    with pytest.raises(NotFound):
        await end(desk, person("owner", tenant="other"), issued)
    assert await known(desk, issued.token) is not None


async def test_a_member_ends_its_own_tokens_and_no_others(desk: Desk) -> None:
    mine = await issue_token(desk, ACME, Wanted("person:eve", "member"))
    theirs = await issue_token(desk, ACME, Wanted("person:bob", "member"))
    await end(desk, person("member"), mine)
    with pytest.raises(NotAllowed):
        await end(desk, person("member"), theirs)
    assert await known(desk, mine.token) is None
    assert await known(desk, theirs.token) is not None


@pytest.mark.parametrize("role", ["viewer", "agent", "member", "admin", "owner"])
async def test_nobody_issues_more_than_they_have(desk: Desk, role: Role) -> None:
    scope = person(role)
    for wanted, rights in RIGHTS.items():
        allowed = wanted != "operator" and rights <= RIGHTS[role]
        if allowed:
            assert new_token(desk, scope, Wanted(scope.actor, wanted)).token
        else:
            with pytest.raises(NotAllowed, match="may do more than you"):
                new_token(desk, scope, Wanted(scope.actor, wanted))


async def test_only_those_who_manage_issue_tokens_for_others(desk: Desk) -> None:
    with pytest.raises(NotAllowed):
        new_token(desk, person("member"), Wanted("person:bob", "member"))
    assert new_token(desk, person("admin"), Wanted("person:bob", "member")).token


async def test_a_token_does_not_outlive_the_one_that_issued_it(desk: Desk) -> None:
    until = now(desk) + 3600
    for later in (None, until + 1):
        with pytest.raises(NotAllowed, match="longer"):
            new_token(desk, person("admin", until=until), Wanted("person:bob", "member", expires_at=later))
    assert new_token(desk, person("admin", until=until), Wanted("person:bob", "member", expires_at=until)).token


async def test_an_operators_token_belongs_to_the_server(desk: Desk) -> None:
    issued = await issue_token(desk, ACME, Wanted("person:root", "operator"))
    scope = await known(desk, issued.token)
    assert scope is not None
    assert scope.operator
    assert scope.tenant == LOCAL_TENANT
    assert scope.within(TenantId("anything")).may("own")


async def test_what_came_out_of_a_token_ends_with_it(desk: Desk) -> None:
    parent = await issue_token(desk, ACME, Wanted("person:eve", "member"))
    child = await issue_token(desk, ACME, Wanted("person:eve", "member", parent=parent.id))
    scope = await known(desk, child.token)
    assert scope is not None
    assert scope.shown is not None
    assert scope.shown.by == (f"token/{child.id}", f"token/{parent.id}")
    await end(desk, ACME, parent)
    assert await known(desk, child.token) is None


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (Wanted("nobody", "member"), "bad_actor"),
        (Wanted("person:a b", "member"), "bad_actor"),
        (Wanted("person:a\n", "member"), "bad_actor"),
        (Wanted("person:a", "king"), "unknown_role"),  # type: ignore[arg-type]
        (Wanted("person:a", "member", "x" * 101), "bad_name"),
        (Wanted("person:a", "member", "a\x1b[31m"), "bad_name"),
        (Wanted("person:a", "member", expires_at=1.0), "already_expired"),
    ],
)
async def test_a_token_that_makes_no_sense_is_refused(desk: Desk, wanted: Wanted, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        new_token(desk, ACME, wanted)
    assert refused.value.code == code
