"""`quarterdeck tenants`: create, list, give a model provider, erase; through the server."""

from __future__ import annotations

import argparse
import getpass
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
from quarterdeck.kernel.errors import Invalid

PLACE = "/api/v1/tenants"
WIDTHS = (ID_WIDTH, 24, 6)
DESCRIPTION = """Tenants share a server without ever seeing each other. Each brings its own model provider, whose key is
asked for without being shown, and is locked in the vault."""
EXAMPLES = """examples:
  quarterdeck tenants create 'Harbour & Sons' harbour
  quarterdeck tenants provider 0190a0b2-… openai --model gpt-4.1
  quarterdeck tenants provider 0190a0b2-… openai --key-from-stdin < key.txt
  quarterdeck tenants list
  quarterdeck tenants erase 0190a0b2-… --confirm harbour"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(title="what to do", metavar="list | create | provider | erase", required=True)
    lists = _part(parts, "list", "those you may see", "quarterdeck tenants list", list_tenants)
    lists.add_argument("--limit", type=count, default=100, metavar="N", help="how many at most (%(default)s)")
    create = _part(parts, "create", "create one", "quarterdeck tenants create 'Harbour & Sons' harbour", create_one)
    create.add_argument("name", metavar="NAME", help="what people call it")
    create.add_argument("slug", metavar="SLUG", help="a short name in small letters that no other tenant has")
    says = "whose model answers it; the key is asked for, and tried out"
    provider = _part(parts, "provider", says, "quarterdeck tenants provider 0190… openai", set_provider)
    erase = _part(
        parts, "erase", "erase all of one, for good", "quarterdeck tenants erase 0190… --confirm slug", end_one
    )
    for part in (provider, erase):
        part.add_argument("tenant", metavar="TENANT", help="its id")
    provider.add_argument("provider", metavar="PROVIDER", help="openai, anthropic, ollama, …, or a word of your own")
    provider.add_argument("--model", metavar="NAME", help="which of its models")
    provider.add_argument("--base-url", metavar="URL", help="where it is, if not at its usual place")
    provider.add_argument("--key-from-stdin", action="store_true", help="read the key from standard input")
    provider.add_argument("--no-key", action="store_true", help="it needs none")
    erase.add_argument("--confirm", metavar="SLUG", required=True, help="its slug, to say that you mean it")


def _part(parts: Any, name: str, says: str, example: str, act: Callable[[argparse.Namespace], int]) -> Any:
    part = parts.add_parser(name, help=says, description=f"{says[:1].upper()}{says[1:]}.", epilog=f"example: {example}")
    part.add_argument("--json", action="store_true", help="as JSON, with everything the server says")
    part.set_defaults(act=act)
    add_url(part)
    return part


def list_tenants(asked: argparse.Namespace) -> int:
    found = asked_of(asked, lambda client: client.get(PLACE, limit=asked.limit))
    if asked.json:
        return _told(asked, found, "")
    print(
        "  ".join(padded(title, width) for title, width in zip(("ID", "SLUG", "AGE"), WIDTHS, strict=True)) + "  NAME"
    )
    for each in found:
        cells = (each["id"], each["slug"], age(time.time() - each["created_at"]))
        print("  ".join(padded(cell, width) for cell, width in zip(cells, WIDTHS, strict=True)) + f"  {each['name']}")
    return 0


def create_one(asked: argparse.Namespace) -> int:
    body = {"name": asked.name, "slug": asked.slug}
    tenant = asked_of(asked, lambda client: client.post(PLACE, body))
    return _told(asked, tenant, f"Tenant {tenant['slug']} is {tenant['id']}.")


def set_provider(asked: argparse.Namespace) -> int:
    body = {"llm_provider": asked.provider, "llm_model": asked.model, "llm_base_url": asked.base_url}
    body |= {"llm_api_key": None if asked.no_key else _key(asked)}
    path = f"{_path(asked.tenant)}/config"
    asked_of(asked, lambda client: client.change("PATCH", path, body=body))
    trial = asked_of(asked, lambda client: client.post(f"{path}/test", {}))
    _told(asked, trial, trial["detail"])
    return 0 if trial["ok"] else 1


def _key(asked: argparse.Namespace) -> str:
    """Never as an argument, which others on this machine can read, and the shell remembers."""
    if not asked.key_from_stdin and not sys.stdin.isatty():
        raise Invalid(
            "There is no terminal to ask for the key at; use --key-from-stdin, or --no-key.", code="no_terminal"
        )
    key = sys.stdin.readline() if asked.key_from_stdin else getpass.getpass(f"Key for {asked.provider}: ")
    if not key.strip():
        raise Invalid("No key was given; --no-key says that none is needed.", code="no_key")
    return key.strip()


def end_one(asked: argparse.Namespace) -> int:
    gone = asked_of(asked, lambda client: client.change("DELETE", _path(asked.tenant), confirm=asked.confirm))
    return _told(asked, gone, f"Tenant {asked.tenant} is gone; what it had is being erased.")


def _path(tenant: str) -> str:
    return f"{PLACE}/{quote(tenant, safe='')}"


def _told(asked: argparse.Namespace, what: object, sentence: str) -> int:
    print(json.dumps(what, ensure_ascii=False, indent=2) if asked.json else sentence)
    return 0
