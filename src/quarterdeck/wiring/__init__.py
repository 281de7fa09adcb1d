"""The fuse box: settings become a house. The only place that picks adapters."""

from quarterdeck.wiring.house import LocalHouse, app_of, create_app
from quarterdeck.wiring.offline import (
    back_up,
    embedded_is_missing,
    issue_operator_token,
    restore_from,
    skills_shelf,
    storage_facts,
    verify,
    what_answers,
)

__all__ = [
    "LocalHouse",
    "app_of",
    "back_up",
    "create_app",
    "embedded_is_missing",
    "issue_operator_token",
    "restore_from",
    "skills_shelf",
    "storage_facts",
    "verify",
    "what_answers",
]
