"""`quarterdeck vault`: the lock on the keys of tenants' providers."""

from __future__ import annotations

import argparse

from quarterdeck.cli.memory import asked_of
from quarterdeck.cli.options import add_url

DESCRIPTION = """Keys of tenants' model providers are locked under a master key, which is not in the database: by
default it is in a file beside the data folder. `rotate` makes a new one, locks everything under it and loses the old
one, while the server runs. Keep a copy of the file, and not where you keep your backups of the database."""
EXAMPLES = """examples:
  quarterdeck vault rotate"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(title="what to do", metavar="rotate", required=True)
    says = "a new master key, while the server runs"
    part = parts.add_parser(
        "rotate", help=says, description=f"{says[:1].upper()}{says[1:]}.", epilog="example: quarterdeck vault rotate"
    )
    part.set_defaults(act=rotate)
    add_url(part)


def rotate(asked: argparse.Namespace) -> int:
    done = asked_of(asked, lambda client: client.post("/api/v1/vault/rotate", {}))
    print(f"The keys of {done['tenants']} tenants are locked under a new master key. Copy its file again.")
    return 0
