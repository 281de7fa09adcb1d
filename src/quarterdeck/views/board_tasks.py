"""The tasks of a board as tables: tasks, who has them, comments, what was done to them, what worked on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quarterdeck.events import card
from quarterdeck.events.base import Recorded
from quarterdeck.ports import Change, Drop, Patch, Put, Table
from quarterdeck.views.board import as_json

CARDS = Table(
    "card",
    {
        "tenant": "text",
        "id": "text",
        "project": "text",
        "title": "text",
        "description": "text",
        "status": "text",
        "priority": "text",
        "labels": "text",
        "assignees": "text",
        "depends_on": "text",
        "reviewer": "text",
        "author": "text",
        "author_slug": "text",
        "claimed_by": "text",
        "claimed_until": "real",
        "summary": "text",
        "turns": "integer",
        "opened_at": "real",
        "changed_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("tenant", "project", "id"), ("tenant", "project", "status", "id")),
)
CARD_ASSIGNEES = Table(
    "card_assignee",
    {"tenant": "text", "card": "text", "member": "text", "at": "real"},
    key=("tenant", "card", "member"),
    lookups=(("tenant", "member", "card"),),
)
CARD_LINKS = Table(
    "card_link",
    {"tenant": "text", "card": "text", "needs": "text"},
    key=("tenant", "card", "needs"),
    lookups=(("tenant", "needs", "card"),),
)
CARD_COMMENTS = Table(
    "card_comment",
    {
        "tenant": "text",
        "id": "text",
        "card": "text",
        "author": "text",
        "author_slug": "text",
        "author_type": "text",
        "content": "text",
        "mentions": "text",
        "hops": "integer",
        "held": "text",
        "stream": "text",
        "place": "integer",
        "at": "real",
    },
    key=("tenant", "id"),
    lookups=(("tenant", "card", "place"),),
)
CARD_ACTIVITY = Table(
    "card_activity",
    {
        "tenant": "text",
        "card": "text",
        "place": "integer",
        "kind": "text",
        "member": "text",
        "slug": "text",
        "detail": "text",
        "at": "real",
    },
    key=("tenant", "card", "place"),
)
TABLES = (CARDS, CARD_ASSIGNEES, CARD_LINKS, CARD_COMMENTS, CARD_ACTIVITY)


class CardsView:
    """Read from the task's own stream: what its project is told besides changes nothing twice."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        kind, _, ident = fact.stream.partition("/")
        if kind != "card":
            return []
        return [*_changes(fact, ident), *_activity(fact, ident)]


VIEWS = (CardsView(),)


def _changes(fact: Recorded, ident: str) -> Sequence[Change]:  # noqa: C901, PLR0911, PLR0912 - a flat match over a closed set
    key = {"tenant": fact.tenant, "id": ident}
    match fact.event:
        case card.TaskOpened():
            return _opened(fact, fact.event)
        case card.TaskEdited(_, _, title, description, priority, labels, reviewer):
            text = {"title": title, "description": description, "priority": priority, "reviewer": reviewer}
            return [_patched(fact, key, **text, labels=as_json(labels))]
        case card.TaskAssigned(_, _, assignees, added, dropped):
            return [
                _patched(fact, key, assignees=as_json(assignees)),
                *(Put(CARD_ASSIGNEES, _assignee(fact, ident, member)) for member in added),
                *(Drop(CARD_ASSIGNEES, {"tenant": fact.tenant, "card": ident, "member": who}) for who in dropped),
            ]
        case card.TaskLinked(_, _, depends_on):
            gone = Drop(CARD_LINKS, {"tenant": fact.tenant, "card": ident})
            return [_patched(fact, key, depends_on=as_json(depends_on)), gone, *_links(fact, ident, depends_on)]
        case card.TaskMoved(_, _, status):
            return [_patched(fact, key, status=status)]
        case card.TaskClaimed(_, by, until):
            return [_patched(fact, key, claimed_by=by.member, claimed_until=until)]
        case card.TaskClaimRenewed(_, _, until):
            return [Patch(CARDS, key, {"claimed_until": until})]
        case card.TaskClaimEnded():
            return [_patched(fact, key, claimed_by=None, claimed_until=None)]
        case card.TaskSubmitted(_, _, summary):
            return [_patched(fact, key, summary=summary)]
        case card.TaskCommented():
            return _commented(fact, fact.event)
        case _:
            return []


def _patched(fact: Recorded, key: Mapping[str, object], **values: object) -> Patch:
    return Patch(CARDS, key, {**values, "changed_at": fact.at})


def _opened(fact: Recorded, event: card.TaskOpened) -> Sequence[Change]:
    line = {
        "tenant": fact.tenant,
        "id": event.task,
        "project": event.project,
        "title": event.title,
        "description": event.description,
        "status": event.status,
        "priority": event.priority,
        "labels": as_json(event.labels),
        "assignees": as_json(event.assignees),
        "depends_on": as_json(event.depends_on),
        "reviewer": event.reviewer,
        "author": event.by.member,
        "author_slug": event.by.slug,
        "turns": 0,
        "opened_at": fact.at,
        "changed_at": fact.at,
    }
    given = (Put(CARD_ASSIGNEES, _assignee(fact, event.task, member)) for member in event.assignees)
    return [Put(CARDS, line), *given, *_links(fact, event.task, event.depends_on)]


def _assignee(fact: Recorded, ident: str, member: str) -> dict[str, object]:
    return {"tenant": fact.tenant, "card": ident, "member": member, "at": fact.at}


def _links(fact: Recorded, ident: str, depends_on: Sequence[str]) -> Sequence[Change]:
    return [Put(CARD_LINKS, {"tenant": fact.tenant, "card": ident, "needs": needs}) for needs in depends_on]


def _commented(fact: Recorded, event: card.TaskCommented) -> Sequence[Change]:
    by = {"author": event.by.member, "author_slug": event.by.slug, "author_type": event.by.type}
    line = {
        "tenant": fact.tenant,
        "id": event.comment,
        "card": event.task,
        **by,
        "content": event.content,
        "mentions": as_json(event.mentions),
        "hops": event.hops,
        "held": event.held,
        "stream": event.stream,
        "place": fact.last,
        "at": fact.at,
    }
    return [Put(CARD_COMMENTS, line)]


def _activity(fact: Recorded, ident: str) -> Sequence[Change]:
    event = fact.event
    if isinstance(event, card.TaskClaimRenewed) or not event.KIND.startswith("task."):
        return []
    by = getattr(event, "by", None)
    who = {"member": None, "slug": None} if by is None else {"member": by.member, "slug": by.slug}
    line = {"tenant": fact.tenant, "card": ident, "place": fact.last, "kind": event.KIND}
    return [Put(CARD_ACTIVITY, {**line, **who, "detail": _detail(event), "at": fact.at})]


def _detail(event: object) -> str:  # noqa: PLR0911 - a flat match over a closed set
    """A few words of what was done, as data: the page that shows it has sentences of its own."""
    match event:
        case card.TaskMoved(_, _, status, before):
            return as_json({"from": before, "to": status})
        case card.TaskAssigned(_, _, _, added, dropped):
            return as_json({"added": added, "dropped": dropped})
        case card.TaskLinked(_, _, depends_on):
            return as_json({"depends_on": depends_on})
        case card.TaskReviewed(_, _, verdict, words):
            return as_json({"verdict": verdict, "words": words})
        case card.TaskHandedOver(_, _, giver, taker, words):
            return as_json({"from": giver, "to": taker, "words": words})
        case card.TaskSubmitted(_, _, summary):
            return as_json({"summary": summary})
        case card.TaskClaimEnded(_, member, why):
            return as_json({"member": member, "why": why})
        case card.TaskCommented(_, comment):
            return as_json({"comment": comment})
        case card.TaskUnblocked(_, done):
            return as_json({"done": done})
        case _:
            return "{}"
