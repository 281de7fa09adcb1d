"""`quarterdeck export`: everything of a tenant, as a zip."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from urllib.parse import quote

from quarterdeck.cli.memory import asked_of
from quarterdeck.cli.options import add_url
from quarterdeck.client import Client
from quarterdeck.kernel.errors import Unavailable

DESCRIPTION = """Write everything that is a tenant's into a zip: what was said, what is remembered, everything that
happened, the files of its workspace. Keys and tokens are not among it. What is nobody else's is `local`'s."""
EXAMPLES = """examples:
  quarterdeck export local everything.zip
  quarterdeck export 0190a0b2-… harbour.zip"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tenant", metavar="TENANT", help="its id, or `local`")
    parser.add_argument("file", type=Path, metavar="FILE", help="where to; a file that is not there yet")
    parser.set_defaults(act=export)
    add_url(parser)


def export(asked: argparse.Namespace) -> int:
    target = asked.file.expanduser().absolute()
    if target.exists():
        raise Unavailable(f"{target} is there already; name a file that is not.", code="export_exists")
    partial = target.with_name(f"{target.name}.partial")
    try:
        asked_of(asked, lambda client: _written(client, asked.tenant, partial))
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)
    print(f"Everything of tenant {asked.tenant} was written to {target} ({target.stat().st_size:,} bytes).")
    return 0


async def _written(client: Client, tenant: str, partial: Path) -> None:
    """Only for whoever runs the command: it holds all that was said."""
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        async for piece in client.pieces(f"/api/v1/tenants/{quote(tenant, safe='')}/export"):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
