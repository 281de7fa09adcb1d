"""Put a command into the audit: in the transaction that ends it, so that neither is there without the other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from quarterdeck.engine.policy.keys import REDACTED, redacted
from quarterdeck.engine.policy.redact import without_secrets
from quarterdeck.events.audit import CommandAudited
from quarterdeck.kernel.ids import TenantId, command_audit
from quarterdeck.log.entries import Entry

LONGEST = 8000
CUT = " […]"
_THE_WORD = re.compile("password", re.IGNORECASE)


def audit_entry(
    tenant: TenantId, audited: CommandAudited, *, actor: str = "system", secrets: Iterable[str] = ()
) -> Entry:
    """To be appended beside the event that ends the call. Whatever text came from a model or a person is redacted;
    `secrets` are those known to be in play."""
    known = tuple(secrets)

    def clean(text: str) -> str:
        return _fit(redacted(without_secrets(text, known)))

    def cleaned(text: str | None) -> str | None:
        return None if text is None else clean(text)

    told = replace(
        audited,
        call_id=clean(audited.call_id),
        command=clean(audited.command),
        tool=clean(audited.tool),
        action_type=clean(audited.action_type),
        asked_by=cleaned(audited.asked_by),
        approved_by=cleaned(audited.approved_by),
        workspace=cleaned(audited.workspace),
    )
    return Entry(command_audit(tenant), (told,), actor=actor, cause=audited.run)


def _fit(text: str) -> str:
    """What can be stored, is cut visibly where it is very long, and does not so much as name a password."""
    whole = _THE_WORD.sub(REDACTED, text.encode("utf-8", "replace").decode())
    return whole if len(whole) <= LONGEST else whole[:LONGEST] + CUT
