"""`quarterdeck users`: the people of a tenant, each with a role; through the server."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from quarterdeck.cli.memory import asked_of
from quarterdeck.cli.options import add_url, count
from quarterdeck.cli.runs import ID_WIDTH, age
from quarterdeck.cli.screen import padded

PLACE = "/api/v1/users"
ROLES = ["viewer", "member", "admin", "owner"]
WIDTHS = (ID_WIDTH, 8, 7)
DESCRIPTION = (
    """The people of a tenant. What each may do is their role; they sign in with a token, which `add` prints."""
)
EXAMPLES = """examples:
  quarterdeck users add Ann --role owner --tenant 0190a0b2-…
  quarterdeck users list
  quarterdeck users role 0190a0b2-… admin
  quarterdeck users remove 0190a0b2-…"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(title="what to do", metavar="list | add | role | remove", required=True)
    lists = _part(parts, "list", "everybody", "quarterdeck users list", list_users)
    lists.add_argument("--limit", type=count, default=100, metavar="N", help="how many at most (%(default)s)")
    adds = _part(parts, "add", "add one, and print their first token", "quarterdeck users add Ann", add_one)
    adds.add_argument("name", metavar="NAME", help="as people know them")
    adds.add_argument("--role", choices=ROLES, default="member", help="what they may do (%(default)s)")
    for part in (lists, adds):
        part.add_argument("--tenant", metavar="ID", help="within this tenant, for an operator")
    role = _part(parts, "role", "give one another role, at once", "quarterdeck users role 0190… admin", change_role)
    remove = _part(parts, "remove", "remove one, and end their tokens", "quarterdeck users remove 0190…", remove_one)
    for part in (role, remove):
        part.add_argument("user", metavar="USER", help="the id")
    role.add_argument("role", choices=ROLES, help="what they may do from now on")


def _part(parts: Any, name: str, says: str, example: str, act: Callable[[argparse.Namespace], int]) -> Any:
    part = parts.add_parser(name, help=says, description=f"{says[:1].upper()}{says[1:]}.", epilog=f"example: {example}")
    part.add_argument("--json", action="store_true", help="as JSON, with everything the server says")
    part.set_defaults(act=act)
    add_url(part)
    return part


def list_users(asked: argparse.Namespace) -> int:
    found = asked_of(asked, lambda client: client.get(PLACE, tenant_id=asked.tenant, limit=asked.limit))
    if asked.json:
        print(json.dumps(found, ensure_ascii=False, indent=2))
    elif not found:
        print("There are no users.")
    else:
        _line("ID", "ROLE", "AGE", "NAME")
        for each in found:
            _line(each["id"], each["role"], age(time.time() - each["added_at"]), each["name"])
    return 0


def _line(*cells: str) -> None:
    shown = [padded(str(cell), width) for cell, width in zip(cells, WIDTHS, strict=False)]
    print("  ".join([*shown, cells[-1]]).rstrip())


def add_one(asked: argparse.Namespace) -> int:
    where = {} if asked.tenant is None else {"tenant_id": asked.tenant}
    body = {"name": asked.name, "role": asked.role, **where}
    user = asked_of(asked, lambda client: client.post(PLACE, body))
    issued = asked_of(asked, lambda client: client.post("/api/v1/tokens", {"user_id": user["id"], **where}))
    if asked.json:
        print(json.dumps({**user, "token": issued["token"]}, ensure_ascii=False, indent=2))
        return 0
    print(issued["token"])
    print(f"({user['name']} is {user['id']}; this is the only time the token is shown)", file=sys.stderr)
    return 0


def change_role(asked: argparse.Namespace) -> int:
    user = asked_of(asked, lambda client: client.change("PATCH", _path(asked.user), body={"role": asked.role}))
    return _told(asked, user, f"{user['name']} is {user['role']} from now on.")


def remove_one(asked: argparse.Namespace) -> int:
    asked_of(asked, lambda client: client.change("DELETE", _path(asked.user)))
    return _told(asked, {"id": asked.user, "removed": True}, f"User {asked.user} is removed; their tokens have ended.")


def _path(user: str) -> str:
    return f"{PLACE}/{quote(user, safe='')}"


def _told(asked: argparse.Namespace, what: object, sentence: str) -> int:
    print(json.dumps(what, ensure_ascii=False, indent=2) if asked.json else sentence)
    return 0
