"""The read model of employees."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from quarterdeck.events import staff as ev
from quarterdeck.events.base import Recorded
from quarterdeck.ports import Change, Patch, Put, Table

EMPLOYEES = Table(
    "employee",
    {
        "tenant": "text",
        "id": "text",
        "name": "text",
        "role": "text",
        "system_prompt": "text",
        "model": "text",
        "temperature": "real",
        "tools": "text",  # as JSON: a list of names, or null for all there are
        "skills": "text",
        "memory": "integer",
        "archived": "integer",
        "hired_at": "real",
        "changed_at": "real",
        "archived_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("id",), ("tenant", "archived", "id")),
)
TABLES = (EMPLOYEES,)


class StaffView:
    """One line for each employee, archived ones included."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        key = {"tenant": fact.tenant, "id": fact.stream.partition("/")[2]}
        match fact.event:
            case ev.EmployeeHired(profile):
                hired = {"archived": 0, "hired_at": fact.at, "changed_at": fact.at}
                return [Put(EMPLOYEES, {**key, **_told(profile), **hired})]
            case ev.EmployeeChanged(profile):
                return [Patch(EMPLOYEES, key, {**_told(profile), "changed_at": fact.at})]
            case ev.EmployeeArchived():
                return [Patch(EMPLOYEES, key, {"archived": 1, "archived_at": fact.at})]
            case ev.EmployeeRestored():
                return [Patch(EMPLOYEES, key, {"archived": 0, "archived_at": None})]
            case _:
                return []


def _told(profile: ev.Profile) -> dict[str, object]:
    return {
        "name": profile.name,
        "role": profile.role,
        "system_prompt": profile.system_prompt,
        "model": profile.model,
        "temperature": profile.temperature,
        "tools": orjson.dumps(profile.tools).decode(),
        "skills": orjson.dumps(profile.skills).decode(),
        "memory": int(profile.memory),
    }


VIEWS = (StaffView(),)
