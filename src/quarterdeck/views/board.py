"""The board's read models: members, projects and who is in them, chats and what is said there, wake-ups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from quarterdeck.events import inbox, member, project
from quarterdeck.events.base import Recorded
from quarterdeck.kernel.board import MemberConfig
from quarterdeck.ports import Add, Change, Drop, Patch, Put, Table

MEMBERS = Table(
    "member",
    {
        "tenant": "text",
        "id": "text",
        "type": "text",
        "name": "text",
        "slug": "text",
        "account": "text",
        "chat_listen": "text",
        "task_listen": "text",
        "max_concurrent_tasks": "integer",
        "capabilities": "text",
        "labels": "text",
        "model": "text",
        "provider": "text",
        "prompt": "text",
        "runtime": "text",
        "tools": "text",
        "removed": "integer",
        "created_at": "real",
        "changed_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("tenant", "slug"), ("tenant", "account"), ("tenant", "runtime", "id")),
)
PROJECTS = Table(
    "project",
    {
        "tenant": "text",
        "id": "text",
        "name": "text",
        "slug": "text",
        "description": "text",
        "chat": "text",
        "archived": "integer",
        "opened_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("tenant", "slug"),),
)
PROJECT_MEMBERS = Table(
    "project_member",
    {"tenant": "text", "project": "text", "member": "text", "joined_at": "real"},
    key=("tenant", "project", "member"),
    lookups=(("tenant", "member", "project"),),
)
CHATS = Table(
    "chat",
    {
        "tenant": "text",
        "id": "text",
        "project": "text",
        "kind": "text",
        "name": "text",
        "root": "text",
        "members": "text",
        "turns": "integer",
        "opened_at": "real",
        "spoken_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("tenant", "project", "id"),),
)
CHAT_MESSAGES = Table(
    "chat_message",
    {
        "tenant": "text",
        "id": "text",
        "chat": "text",
        "project": "text",
        "author": "text",
        "author_slug": "text",
        "author_type": "text",
        "content": "text",
        "mentions": "text",
        "reply_to": "text",
        "hops": "integer",
        "held": "text",
        "stream": "text",
        "place": "integer",
        "at": "real",
    },
    key=("tenant", "id"),
    lookups=(("tenant", "chat", "place"),),
)
WAKES = Table(
    "wake",
    {
        "tenant": "text",
        "id": "text",
        "member": "text",
        "project": "text",
        "chat": "text",
        "task": "text",
        "reason": "text",
        "hops": "integer",
        "status": "text",
        "open": "integer",
        "run": "text",
        "detail": "text",
        "queued_at": "real",
        "ended_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("open", "id"), ("tenant", "member", "id"), ("tenant", "task", "id")),
)
TABLES = (MEMBERS, PROJECTS, PROJECT_MEMBERS, CHATS, CHAT_MESSAGES, WAKES)


class MembersView:
    """One line for each member; one that was removed stays, so that what they said keeps its author."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        kind, _, ident = fact.stream.partition("/")
        if kind != "member":
            return []
        key = {"tenant": fact.tenant, "id": ident}
        match fact.event:
            case member.MemberAdded(type_, name, slug, config, account):
                known = {"type": type_, "name": name, "slug": slug, "account": account, "removed": 0}
                times = {"created_at": fact.at, "changed_at": fact.at}
                return [Put(MEMBERS, {**key, **known, **_columns(config), **times})]
            case member.MemberChanged(name, config):
                return [Patch(MEMBERS, key, {"name": name, **_columns(config), "changed_at": fact.at})]
            case member.MemberRemoved():
                return [Patch(MEMBERS, key, {"removed": 1, "changed_at": fact.at})]
            case _:
                return []


class ProjectsView:
    """Projects, who is in them, their chats and what was said."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        kind, _, ident = fact.stream.partition("/")
        if kind != "project":
            return []
        key = {"tenant": fact.tenant, "id": ident}
        match fact.event:
            case project.ProjectOpened(name, slug, chat, description):
                known = {"name": name, "slug": slug, "chat": chat, "description": description}
                return [Put(PROJECTS, {**key, **known, "archived": 0, "opened_at": fact.at})]
            case project.ProjectChanged(name, description, archived):
                return [Patch(PROJECTS, key, {"name": name, "description": description, "archived": int(archived)})]
            case project.MemberJoined(who):
                line = {"tenant": fact.tenant, "project": ident, "member": who.member, "joined_at": fact.at}
                return [Put(PROJECT_MEMBERS, line)]
            case project.MemberLeft(who):
                return [Drop(PROJECT_MEMBERS, {"tenant": fact.tenant, "project": ident, "member": who.member})]
            case project.ChatOpened():
                return [_opened(fact, fact.event, ident)]
            case project.MessagePosted():
                return _posted(fact, fact.event, ident)
            case _:
                return []


class WakesView:
    """What agents that we drive have to do, and what became of it."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        kind, _, owner = fact.stream.partition("/")
        if kind != "inbox":
            return []
        match fact.event:
            case inbox.WakeQueued(wake, in_project, reason, _, _, chat, task, _, hops):
                key = {"tenant": fact.tenant, "id": wake, "member": owner}
                about = {"project": in_project, "chat": chat, "task": task, "reason": reason, "hops": hops}
                return [Put(WAKES, {**key, **about, "status": "queued", "open": 1, "queued_at": fact.at})]
            case inbox.WakeTaken(wake, run):
                return [Patch(WAKES, {"tenant": fact.tenant, "id": wake}, {"status": "working", "run": run})]
            case inbox.WakeEnded(wake, outcome, detail):
                end = {"status": outcome, "open": 0, "detail": detail, "ended_at": fact.at}
                return [Patch(WAKES, {"tenant": fact.tenant, "id": wake}, end)]
            case _:
                return []


VIEWS = (MembersView(), ProjectsView(), WakesView())


def as_json(value: object) -> str:
    return orjson.dumps(value).decode()


def names_in(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(orjson.loads(text))


def _columns(config: MemberConfig) -> dict[str, Any]:
    return {
        "chat_listen": config.chat_listen,
        "task_listen": config.task_listen,
        "max_concurrent_tasks": config.max_concurrent_tasks,
        "capabilities": as_json(config.capabilities),
        "labels": as_json(config.labels),
        "model": config.model,
        "provider": config.provider,
        "prompt": config.prompt,
        "runtime": config.runtime,
        "tools": None if config.tools is None else as_json(config.tools),
    }


def _opened(fact: Recorded, event: project.ChatOpened, ident: str) -> Change:
    key = {"tenant": fact.tenant, "id": event.chat, "project": ident}
    about = {"kind": event.kind, "name": event.name, "root": event.root, "members": as_json(event.members)}
    return Put(CHATS, {**key, **about, "turns": 0, "opened_at": fact.at, "spoken_at": fact.at})


def _posted(fact: Recorded, event: project.MessagePosted, ident: str) -> Sequence[Change]:
    """`turns` counts what agents have said since a person last did."""
    by = {"author": event.by.member, "author_slug": event.by.slug, "author_type": event.by.type}
    line = {
        "tenant": fact.tenant,
        "id": event.message,
        "chat": event.chat,
        "project": ident,
        **by,
        "content": event.content,
        "mentions": as_json(event.mentions),
        "reply_to": event.reply_to,
        "hops": event.hops,
        "held": event.held,
        "stream": event.stream,
        "place": fact.last,
        "at": fact.at,
    }
    chat = {"tenant": fact.tenant, "id": event.chat}
    counted = Add(CHATS, chat, {"turns": 1}) if event.by.type == "agent" else Patch(CHATS, chat, {"turns": 0})
    return [Put(CHAT_MESSAGES, line), counted, Patch(CHATS, chat, {"spoken_at": fact.at})]
