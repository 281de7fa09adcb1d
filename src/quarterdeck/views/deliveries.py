"""The read model of deliveries: how far each outside agent has come with each of its projects."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from quarterdeck.events.base import Recorded
from quarterdeck.events.delivery import DeliveriesHandled
from quarterdeck.ports import Change, Put, Table

MAILBOXES = Table(
    "mailbox",
    {"tenant": "text", "member": "text", "project": "text", "floor": "integer", "above": "text"},
    key=("tenant", "member", "project"),
)


class MailboxesView:
    def apply(self, fact: Recorded) -> Sequence[Change]:
        if not isinstance(fact.event, DeliveriesHandled):
            return []
        key = {"tenant": fact.tenant, "member": fact.stream.partition("/")[2], "project": fact.event.project}
        return [Put(MAILBOXES, {**key, "floor": fact.event.floor, "above": orjson.dumps(fact.event.above).decode()})]
