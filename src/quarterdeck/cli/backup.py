"""`quarterdeck backup`: a copy of the database, also while a server runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from quarterdeck.cli.options import add_data_dir, settings_of
from quarterdeck.wiring import back_up

DESCRIPTION = """Write a whole, consistent copy of the database to a file. A server may go on working meanwhile.

The copy holds all that was said: keep it as you would keep the data folder."""
EXAMPLES = """examples:
  quarterdeck backup quarterdeck-$(date +%F).db
  quarterdeck backup /mnt/backups/monday.db --data-dir ~/quarterdeck"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="where to; a file that is not there yet")
    add_data_dir(parser)
    parser.set_defaults(act=backup)


def backup(asked: argparse.Namespace) -> int:
    settings = settings_of(asked)
    target = asked.file.expanduser().absolute()
    back_up(settings, target)
    print(f"{settings.database} was copied to {target} ({target.stat().st_size:,} bytes).")
    return 0
