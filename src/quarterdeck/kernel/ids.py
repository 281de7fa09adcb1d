"""Typed ids and the names of streams: print and parse. Minting them is the `Ids` port."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple, NewType

from quarterdeck.kernel.errors import Invalid

TenantId = NewType("TenantId", str)
RunId = NewType("RunId", str)
ConversationId = NewType("ConversationId", str)
WorkerId = NewType("WorkerId", str)

# Whose streams are about the tenants themselves, and so outlive each of them.
HOUSE = TenantId("house")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


class StreamName(NamedTuple):
    """One stream of one tenant. `kind` and `key` read like a path: `run/0190…`.

    A tuple, because it is the key of every table on the way of a token, and tuples hash and compare in C.
    """

    tenant: TenantId
    kind: str
    key: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.key}"


def run_stream(tenant: TenantId, run: RunId) -> StreamName:
    return StreamName(tenant, "run", run)


def conversation_stream(tenant: TenantId, conversation: ConversationId) -> StreamName:
    return StreamName(tenant, "conversation", conversation)


def memory_stream(tenant: TenantId) -> StreamName:
    return StreamName(tenant, "memory", "main")


def experience_stream(tenant: TenantId) -> StreamName:
    return StreamName(tenant, "experience", "main")


def after_stream(tenant: TenantId, key: str) -> StreamName:
    """What happens after a run; `key` is the run's id, or that of a later look back at it."""
    return StreamName(tenant, "after", key)


def approval_stream(tenant: TenantId, approval: str) -> StreamName:
    return StreamName(tenant, "approval", approval)


def intervention_stream(tenant: TenantId, intervention: str) -> StreamName:
    return StreamName(tenant, "intervention", intervention)


def rules_stream(tenant: TenantId) -> StreamName:
    return StreamName(tenant, "rules", "main")


def ledger_stream(tenant: TenantId, key: str) -> StreamName:
    """Of one day, by its date; or of one run, by its id."""
    return StreamName(tenant, "ledger", key)


def tenant_stream(tenant: TenantId) -> StreamName:
    """What happens to a tenant itself."""
    return StreamName(HOUSE, "tenant", tenant)


def employee_stream(tenant: TenantId, employee: str) -> StreamName:
    return StreamName(tenant, "employee", employee)


def slug_stream(slug: str) -> StreamName:
    """Whose a slug is. It is not in the name of its stream, which stays when its tenant is gone for good."""
    return StreamName(HOUSE, "slug", hashlib.sha256(slug.encode()).hexdigest()[:32])


def token_stream(tenant: TenantId, token: str) -> StreamName:
    return StreamName(tenant, "token", token)


def user_stream(tenant: TenantId, user: str) -> StreamName:
    return StreamName(tenant, "user", user)


def command_audit(tenant: TenantId) -> StreamName:
    return StreamName(tenant, "audit", "commands")


def member_stream(tenant: TenantId, member: str) -> StreamName:
    return StreamName(tenant, "member", member)


def handle_stream(tenant: TenantId, kind: str, slug: str) -> StreamName:
    """Which member or project goes by a slug."""
    return StreamName(tenant, "handle", f"{kind}:{slug}")


def project_stream(tenant: TenantId, project: str) -> StreamName:
    """All that happens in a project, for whoever follows it."""
    return StreamName(tenant, "project", project)


def card_stream(tenant: TenantId, task: str) -> StreamName:
    """One task of a board by itself: whether a step is still possible is decided here."""
    return StreamName(tenant, "card", task)


def plan_stream(tenant: TenantId, project: str) -> StreamName:
    """Which task of a project waits for which."""
    return StreamName(tenant, "plan", project)


def inbox_stream(tenant: TenantId, member: str) -> StreamName:
    """What waits for a member, and what it has in hand."""
    return StreamName(tenant, "inbox", member)


def mail_stream(tenant: TenantId, member: str) -> StreamName:
    """How far an outside agent has come with what it is told."""
    return StreamName(tenant, "mail", member)


def team_stream(tenant: TenantId, team: str) -> StreamName:
    return StreamName(tenant, "team", team)


def team_run_stream(tenant: TenantId, run: str) -> StreamName:
    """One task of a team: its plan, who began what and what it came to, what people said."""
    return StreamName(tenant, "team_run", run)


def checked_name(text: str, what: str) -> str:
    """A name a client chose: short, printable, and safe to stand in a path, a log line and a frame."""
    if not _NAME.fullmatch(text):
        raise Invalid(f"{what} must be 1 to 128 letters, digits or any of . _ : - and start with a letter or digit.")
    return text
