"""`quarterdeck tokens`: issue, list and revoke tokens, through the server; the first one on the data folder."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from quarterdeck.cli.memory import asked_of
from quarterdeck.cli.options import add_data_dir, add_url, count, settings_of
from quarterdeck.cli.runs import age
from quarterdeck.cli.screen import padded
from quarterdeck.wiring import issue_operator_token

ROLES = ["viewer", "agent", "member", "admin", "owner", "operator"]
UNITS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "y": 366 * 86_400.0}
WIDTHS = (32, 9, 44, 8, 8)
DESCRIPTION = """Tokens say who somebody is to a server that others can reach. Each is shown once, when it is issued.

The first one is for whoever runs the server: with `--operator` it is written into the data folder, while no server
uses it. Put yours into QUARTERDECK_TOKEN, and every command shows it."""
EXAMPLES = """examples:
  quarterdeck tokens create --operator --name 'my own'
  quarterdeck tokens create --user 0190a0b2-… --expires 90d
  quarterdeck tokens create --service backup --role viewer
  quarterdeck tokens list
  quarterdeck tokens revoke 0190a0b2…"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(title="what to do", metavar="create | list | revoke", required=True)
    create = _part(parts, "create", "issue one, and show it", "quarterdeck tokens create --service backup", create_one)
    create.add_argument("--operator", action="store_true", help="for whoever runs the server, on its data folder")
    create.add_argument("--user", metavar="ID", help="the user who will show it; you, by default")
    create.add_argument("--service", metavar="NAME", help="or a name for something that is no user")
    create.add_argument("--role", choices=ROLES, help="by default the user's, or your own")
    create.add_argument("--name", default="", help="what it is for")
    create.add_argument("--expires", type=span, metavar="90d", help="after so long: m, h, d or y; never, by default")
    add_data_dir(create)
    lists = _part(parts, "list", "yours; the tenant's, where you manage it", "quarterdeck tokens list", list_tokens)
    lists.add_argument("--limit", type=count, default=100, metavar="N", help="how many at most (%(default)s)")
    revoke = _part(parts, "revoke", "end one, and what is open with it", "quarterdeck tokens revoke 0190…", revoke_one)
    revoke.add_argument("token", metavar="TOKEN", help="its id")
    for part in (create, lists):
        part.add_argument("--tenant", metavar="ID", help="within this tenant, for an operator")


def _part(parts: Any, name: str, says: str, example: str, act: Callable[[argparse.Namespace], int]) -> Any:
    part = parts.add_parser(name, help=says, description=f"{says[:1].upper()}{says[1:]}.", epilog=f"example: {example}")
    part.add_argument("--json", action="store_true", help="as JSON, with everything the server says")
    part.set_defaults(act=act)
    add_url(part)
    return part


def create_one(asked: argparse.Namespace) -> int:
    if asked.operator:
        until = None if asked.expires is None else time.time() + asked.expires
        issued = asyncio.run(issue_operator_token(settings_of(asked), "person:operator", asked.name, until))
        return _shown(asked, {"id": issued.id, "token": issued.token, "role": "operator", "expires_at": until})
    wish = {
        "name": asked.name,
        "user_id": asked.user,
        "service": asked.service,
        "role": asked.role,
        "expires_in_s": asked.expires,
        "tenant_id": asked.tenant,
    }
    body = {name: value for name, value in wish.items() if value is not None}
    return _shown(asked, asked_of(asked, lambda client: client.post("/api/v1/tokens", body)))


def _shown(asked: argparse.Namespace, issued: dict[str, Any]) -> int:
    """The token alone on the one stream, so that it can be piped; what there is to say on the other."""
    if asked.json:
        print(json.dumps(issued, ensure_ascii=False, indent=2))
        return 0
    print(issued["token"])
    print(f"(this is the only time it is shown; `quarterdeck tokens revoke {issued['id']}` ends it)", file=sys.stderr)
    return 0


def list_tokens(asked: argparse.Namespace) -> int:
    tokens = asked_of(asked, lambda client: client.get("/api/v1/tokens", tenant_id=asked.tenant, limit=asked.limit))
    if asked.json:
        print(json.dumps(tokens, ensure_ascii=False, indent=2))
    elif not tokens:
        print("There are no tokens.")
    else:
        now = time.time()
        _line("ID", "ROLE", "WHOSE", "USED", "ENDS", "NAME")
        for each in tokens:
            used = "never" if each["used_at"] is None else age(now - each["used_at"])
            _line(each["id"], each["role"], each["actor"], used, _ends(each, now), each["name"])
    return 0


def _ends(token: dict[str, Any], now: float) -> str:
    if token["revoked_at"] is not None:
        return "revoked"
    if token["expires_at"] is None:
        return "never"
    return age(token["expires_at"] - now) if token["expires_at"] > now else "expired"


def _line(*cells: str) -> None:
    shown = [padded(str(cell), width) for cell, width in zip(cells, WIDTHS, strict=False)]
    print("  ".join([*shown, cells[-1]]).rstrip())


def revoke_one(asked: argparse.Namespace) -> int:
    asked_of(asked, lambda client: client.change("DELETE", f"/api/v1/tokens/{quote(asked.token, safe='')}"))
    said = f"Token {asked.token} is revoked; what was open with it ends."
    print(json.dumps({"id": asked.token, "revoked": True}) if asked.json else said)
    return 0


def span(text: str) -> float:
    found = re.fullmatch(r"([1-9][0-9]{0,5})([mhdy])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no span of time; one looks like 30m, 12h, 90d or 1y")
    return int(found[1]) * UNITS[found[2]]
