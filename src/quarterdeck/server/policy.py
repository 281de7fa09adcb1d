"""The policy: which right each route asks for. A route without a line here is not served."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from quarterdeck.engine.access import Right

# `open` asks nobody who they are; `known` asks no more than that. A socket has the method WS.
Needs: TypeAlias = Right | Literal["open", "known"]
Line: TypeAlias = tuple[str, str, Needs]

POLICY: tuple[Line, ...] = (
    ("GET", "/", "open"),
    ("GET", "/static/{name:path}", "open"),
    ("GET", "/healthz", "open"),
    ("GET", "/readyz", "open"),
    ("GET", "/openapi.json", "open"),
    ("GET", "/asyncapi.json", "open"),
    ("GET", "/v1/about", "known"),
    ("GET", "/v1/news", "read"),
    # Runs
    ("POST", "/v1/chat", "talk"),
    ("POST", "/v1/chat/stream", "talk"),
    ("GET", "/v1/tasks", "read"),
    ("GET", "/v1/tasks/{task_id}", "read"),
    ("GET", "/v1/tasks/{task_id}/events", "read"),
    ("GET", "/v1/tasks/{task_id}/stream", "read"),
    ("POST", "/v1/tasks/{task_id}/stop", "talk"),
    ("GET", "/v1/tasks/{task_id}/interventions", "read"),
    ("POST", "/v1/tasks/{task_id}/interventions", "talk"),
    ("GET", "/v1/tasks/{task_id}/interventions/{intervention_id}", "read"),
    ("PATCH", "/v1/tasks/{task_id}/interventions/{intervention_id}", "talk"),
    ("DELETE", "/v1/tasks/{task_id}/interventions/{intervention_id}", "talk"),
    ("POST", "/v1/tasks/{task_id}/continue/stream", "read"),
    ("POST", "/v1/tasks/{task_id}/password/stream", "approve"),
    ("POST", "/v1/tasks/{task_id}/reflect", "talk"),
    ("GET", "/v1/conversations", "read"),
    ("GET", "/v1/conversations/{conversation_id}", "read"),
    # What runs ask of people
    ("GET", "/v1/approvals", "read"),
    ("GET", "/v1/approvals/pending", "read"),
    ("GET", "/v1/approvals/{approval_id}", "read"),
    ("POST", "/v1/approvals/{approval_id}/allow_once", "approve"),
    ("POST", "/v1/approvals/{approval_id}/allow_run", "approve"),
    ("POST", "/v1/approvals/{approval_id}/allow_always", "manage"),
    ("POST", "/v1/approvals/{approval_id}/deny", "approve"),
    ("POST", "/v1/approvals/{approval_id}/outcome", "approve"),
    ("GET", "/v1/rules", "read"),
    ("POST", "/v1/rules", "manage"),
    ("DELETE", "/v1/rules/{rule_id}", "manage"),
    # What is kept
    ("GET", "/v1/memory", "read"),
    ("POST", "/v1/memory", "talk"),
    ("GET", "/v1/memory/export", "manage"),
    ("GET", "/v1/memory/{memory_id}", "read"),
    ("PATCH", "/v1/memory/{memory_id}", "talk"),
    ("DELETE", "/v1/memory/{memory_id}", "talk"),
    ("POST", "/v1/memory/{memory_id}/accept", "approve"),
    ("GET", "/v1/experience", "read"),
    ("GET", "/v1/experience/{lesson_id}", "read"),
    ("POST", "/v1/experience/{lesson_id}/accept", "approve"),
    ("POST", "/v1/experience/{lesson_id}/reject", "approve"),
    ("DELETE", "/v1/experience/{lesson_id}", "talk"),
    ("GET", "/v1/skills", "read"),
    ("GET", "/v1/skills/{name}", "read"),
    ("GET", "/v1/usage", "read"),
    ("GET", "/v1/audit/commands", "manage"),
    ("GET", "/v1/audit/commands/export", "manage"),
    ("GET", "/v1/audit/commands/verify", "manage"),
    # The board. Who comes in at the hub is asked there, since a first frame may say it as well as a header.
    ("WS", "/ws", "open"),
    ("GET", "/api/v1/members", "board"),
    ("POST", "/api/v1/members", "manage"),
    ("GET", "/api/v1/members/me", "board"),
    ("GET", "/api/v1/members/{member_id}", "board"),
    ("PATCH", "/api/v1/members/{member_id}", "manage"),
    ("DELETE", "/api/v1/members/{member_id}", "manage"),
    ("POST", "/api/v1/members/{member_id}/token", "manage"),
    ("GET", "/api/v1/members/{member_id}/work", "board"),
    ("GET", "/api/v1/projects", "board"),
    ("POST", "/api/v1/projects", "work"),
    ("GET", "/api/v1/projects/{project_id}", "board"),
    ("PATCH", "/api/v1/projects/{project_id}", "work"),
    ("GET", "/api/v1/projects/{project_id}/members", "board"),
    ("POST", "/api/v1/projects/{project_id}/members", "work"),
    ("DELETE", "/api/v1/projects/{project_id}/members/{member_id}", "work"),
    ("GET", "/api/v1/projects/{project_id}/chats", "board"),
    ("POST", "/api/v1/projects/{project_id}/chats", "work"),
    ("GET", "/api/v1/projects/{project_id}/statuses", "board"),
    ("GET", "/api/v1/projects/{project_id}/tasks", "board"),
    ("POST", "/api/v1/projects/{project_id}/tasks", "work"),
    ("GET", "/api/v1/chats/{chat_id}", "board"),
    ("GET", "/api/v1/chats/{chat_id}/messages", "board"),
    ("POST", "/api/v1/chats/{chat_id}/messages", "work"),
    ("GET", "/api/v1/chats/{chat_id}/triggers", "board"),
    ("GET", "/api/v1/tasks", "board"),
    ("GET", "/api/v1/tasks/{task_id}", "board"),
    ("PATCH", "/api/v1/tasks/{task_id}", "work"),
    ("GET", "/api/v1/tasks/{task_id}/activity", "board"),
    ("GET", "/api/v1/tasks/{task_id}/comments", "board"),
    ("POST", "/api/v1/tasks/{task_id}/comments", "work"),
    ("GET", "/api/v1/tasks/{task_id}/triggers", "board"),
    ("GET", "/api/v1/tasks/{task_id}/work", "board"),
    ("POST", "/api/v1/tasks/{task_id}/claim", "work"),
    ("POST", "/api/v1/tasks/{task_id}/handover", "work"),
    ("POST", "/api/v1/tasks/{task_id}/heartbeat", "work"),
    ("POST", "/api/v1/tasks/{task_id}/release", "work"),
    ("POST", "/api/v1/tasks/{task_id}/review", "work"),
    ("POST", "/api/v1/tasks/{task_id}/submit", "work"),
    ("PUT", "/api/v1/tasks/{task_id}/assignees", "work"),
    ("PUT", "/api/v1/tasks/{task_id}/dependencies", "work"),
    ("PUT", "/api/v1/tasks/{task_id}/status", "work"),
    # Who may do what
    ("GET", "/api/v1/me", "known"),
    ("POST", "/api/v1/session", "known"),
    ("GET", "/api/v1/session", "known"),
    ("DELETE", "/api/v1/session", "known"),
    ("GET", "/api/v1/tokens", "known"),
    ("POST", "/api/v1/tokens", "read"),
    ("DELETE", "/api/v1/tokens/{token_id}", "known"),
    ("GET", "/api/v1/users", "read"),
    ("POST", "/api/v1/users", "manage"),
    ("GET", "/api/v1/users/{user_id}", "read"),
    ("PATCH", "/api/v1/users/{user_id}", "manage"),
    ("DELETE", "/api/v1/users/{user_id}", "manage"),
    # Teams
    ("POST", "/api/v1/teams", "talk"),
    ("GET", "/api/v1/teams", "read"),
    ("GET", "/api/v1/teams/{team_id}", "read"),
    ("POST", "/api/v1/teams/{team_id}/runs", "talk"),
    ("GET", "/api/v1/teams/{team_id}/runs", "read"),
    ("GET", "/api/v1/teams/{team_id}/runs/{run_id}", "read"),
    ("GET", "/api/v1/teams/{team_id}/runs/{run_id}/stream", "read"),
    ("PUT", "/api/v1/teams/{team_id}/runs/{run_id}/plan", "talk"),
    ("POST", "/api/v1/teams/{team_id}/runs/{run_id}/interventions", "talk"),
    ("GET", "/api/v1/teams/{team_id}/runs/{run_id}/interventions", "read"),
    ("GET", "/api/v1/teams/{team_id}/runs/{run_id}/interventions/{intervention_id}", "read"),
    # Tenants and employees
    ("POST", "/api/v1/tenants", "operate"),
    ("GET", "/api/v1/tenants", "known"),
    ("GET", "/api/v1/tenants/{tenant_id}", "known"),
    ("PATCH", "/api/v1/tenants/{tenant_id}", "own"),
    ("GET", "/api/v1/tenants/{tenant_id}/config", "manage"),
    ("PUT", "/api/v1/tenants/{tenant_id}/config", "own"),
    ("PATCH", "/api/v1/tenants/{tenant_id}/config", "own"),
    ("POST", "/api/v1/tenants/{tenant_id}/config/test", "own"),
    ("GET", "/api/v1/tenants/{tenant_id}/export", "own"),
    ("DELETE", "/api/v1/tenants/{tenant_id}", "own"),
    ("GET", "/api/v1/tenants/{tenant_id}/erasure", "operate"),
    ("POST", "/api/v1/vault/rotate", "operate"),
    ("POST", "/api/v1/employees", "manage"),
    ("GET", "/api/v1/employees", "read"),
    ("GET", "/api/v1/employees/{employee_id}", "read"),
    ("PATCH", "/api/v1/employees/{employee_id}", "manage"),
    ("DELETE", "/api/v1/employees/{employee_id}", "manage"),
    ("POST", "/api/v1/conversations", "talk"),
    ("GET", "/api/v1/conversations", "read"),
    ("GET", "/api/v1/conversations/{conversation_id}", "read"),
    ("PATCH", "/api/v1/conversations/{conversation_id}", "talk"),
    ("DELETE", "/api/v1/conversations/{conversation_id}", "talk"),
    ("POST", "/api/v1/conversations/{conversation_id}/messages", "talk"),
    ("GET", "/api/v1/conversations/{conversation_id}/messages", "read"),
    ("POST", "/api/v1/conversations/{conversation_id}/messages/stream", "talk"),
    ("GET", "/api/v1/conversations/{conversation_id}/messages/{message_id}", "read"),
    ("GET", "/api/v1/conversations/{conversation_id}/messages/{message_id}/stream", "read"),
    ("POST", "/api/v1/conversations/{conversation_id}/messages/{message_id}/stop", "talk"),
    ("POST", "/api/v1/conversations/{conversation_id}/messages/{message_id}/interventions", "talk"),
    ("POST", "/api/v1/conversations/{conversation_id}/messages/{message_id}/regenerate", "talk"),
)


# What starts a run: it counts against how many a tenant may have at work.
STARTS: frozenset[tuple[str, str]] = frozenset(
    {
        ("POST", "/v1/chat"),
        ("POST", "/v1/chat/stream"),
        ("POST", "/api/v1/teams/{team_id}/runs"),
        ("POST", "/api/v1/conversations/{conversation_id}/messages"),
        ("POST", "/api/v1/conversations/{conversation_id}/messages/stream"),
        ("POST", "/api/v1/conversations/{conversation_id}/messages/{message_id}/regenerate"),
    }
)


@dataclass(slots=True)
class _Node:
    """What stands at one place of a path, and what may follow it."""

    needs: dict[str, Needs] = field(default_factory=dict)
    starts: set[str] = field(default_factory=set)
    literal: dict[str, _Node] = field(default_factory=dict)
    some: _Node | None = None
    rest: _Node | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """What a path leads to: what each of its methods needs, which of them start a run, and the tenant it names, if it
    does."""

    needs: dict[str, Needs]
    starts: Set[str] = frozenset()
    tenant: str | None = None


class Policy:
    def __init__(self, lines: Iterable[Line] = POLICY) -> None:
        self._root = _Node()
        for method, template, needs in lines:
            node = self._root
            for part in template.split("/")[1:]:
                node = _next(node, part)
            if node.needs.setdefault(method, needs) != needs:
                raise AssertionError(f"{method} {template} stands in the policy twice.")
            if (method, template) in STARTS:
                node.starts.add(method)

    def of(self, path: str) -> Place | None:
        """A literal part goes before one that may be anything; None where there is nothing."""
        return _found(self._root, path.split("/")[1:], None) if path.startswith("/") else None


def _next(node: _Node, part: str) -> _Node:
    if not part.startswith("{"):
        return node.literal.setdefault(part, _Node())
    if part.endswith(":path}"):
        node.rest = node.rest or _Node()
        return node.rest
    if node.some is None:
        node.some = _Node(name=part[1:-1])
    elif node.some.name != part[1:-1]:
        raise AssertionError(f"One place of a path is called both {node.some.name} and {part[1:-1]}.")
    return node.some


def _found(node: _Node, parts: list[str], tenant: str | None) -> Place | None:
    if not parts:
        return Place(node.needs, node.starts, tenant) if node.needs else None
    part, rest = parts[0], parts[1:]
    if part in node.literal and (place := _found(node.literal[part], rest, tenant)) is not None:
        return place
    if node.some is not None and part:
        place = _found(node.some, rest, part if node.some.name == "tenant_id" else tenant)
        if place is not None:
            return place
    return None if node.rest is None else Place(node.rest.needs, node.rest.starts, tenant)


def served(app: FastAPI) -> set[tuple[str, str]]:
    """Every route of an application, by method and path."""
    found = set()
    for route in iter_route_contexts(app.routes):
        methods = (route.methods or set()) - {"HEAD"} if hasattr(route, "methods") else {"WS"}
        found |= {(method, route.path or "*") for method in methods or {"WS"}}
    return found


def check_complete(app: FastAPI, lines: Iterable[Line] = POLICY) -> None:
    """Whoever adds a route says here who may use it."""
    routes, known = served(app), {(method, path) for method, path, _ in lines}
    if missing := sorted(routes - known):
        raise AssertionError(f"No line in server/policy.py says who may use {missing}.")
    if gone := sorted(known - routes):
        raise AssertionError(f"Lines in server/policy.py are about routes that are not there: {gone}.")
