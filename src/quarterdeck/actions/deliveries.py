"""Say that deliveries were handled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from quarterdeck.actions.desk import Desk
from quarterdeck.engine.delivery import Handled
from quarterdeck.events.delivery import DeliveriesHandled
from quarterdeck.kernel.ids import mail_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.log.entries import Entry


async def handle(desk: Desk, scope: Scope, member: str, project: str, handled: Handled) -> None:
    event = DeliveriesHandled(project, handled.floor, tuple(sorted(handled.above)))
    await desk.log.append(Entry(mail_stream(scope.tenant, member), (event,), actor=scope.actor))


def above_of(line: Mapping[str, Any]) -> frozenset[int]:
    return frozenset(orjson.loads(line["above"]))
