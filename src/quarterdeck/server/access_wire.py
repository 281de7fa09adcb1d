"""What crosses the network about users, tokens, and who one is."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from quarterdeck.server.wire import Inbound, Shape

PersonRole = Literal["viewer", "member", "admin", "owner"]
TokenRole = Literal["viewer", "agent", "member", "admin", "owner", "operator"]
Tenant = Field(None, max_length=128, description="Within which tenant; your own, if it is left out.")


class NewUser(Inbound):
    name: str = Field(description="As people know them.")
    role: PersonRole = "member"
    tenant_id: str | None = Tenant


class UserChange(Inbound):
    name: str | None = None
    role: PersonRole | None = None


class User(Shape):
    id: str
    tenant_id: str
    name: str
    role: str
    added_at: float


class NewToken(Inbound):
    name: str = Field("", description="What it is for, for people to know it again.")
    user_id: str | None = Field(None, max_length=128, description="The user who will show it; you, if it is left out.")
    service: str | None = Field(
        None, max_length=128, description="Or a name for something that is no user, such as `backup`."
    )
    role: TokenRole | None = Field(None, description="At most your own; that of the user, if it is left out.")
    expires_in_s: float | None = Field(
        None, gt=0, le=10 * 366 * 86_400, strict=False, description="Seconds after which it is good no more."
    )
    tenant_id: str | None = Tenant


class Token(Shape):
    id: str
    tenant_id: str
    actor: str
    role: str
    name: str
    session: bool = Field(description="Whether it is a browser's.")
    issued_by: str
    issued_at: float
    expires_at: float | None
    used_at: float | None = Field(description="To the hour.")
    revoked_at: float | None


class IssuedToken(Token):
    token: str | None = Field(description="Shown this once: null where the same request was made before.")


class Me(Shape):
    actor: str
    tenant_id: str
    name: str | None
    rights: list[str]
    operator: bool
    expires_at: float | None


def token(line: dict[str, Any]) -> Token:
    return Token(**_told(line))


def issued(line: dict[str, Any], secret: str | None) -> IssuedToken:
    return IssuedToken(token=secret, **_told(line))


def _told(line: dict[str, Any]) -> dict[str, Any]:
    told = {name: line[name] for name in Token.model_fields if name in line}
    return {**told, "tenant_id": line["tenant"], "session": line["parent"] is not None}


def user(line: dict[str, Any]) -> User:
    return User(tenant_id=line["tenant"], **{name: line[name] for name in User.model_fields if name in line})
