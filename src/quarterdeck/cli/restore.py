"""`quarterdeck restore`: a backup in the place of the database."""

from __future__ import annotations

import argparse
from pathlib import Path

from quarterdeck.cli.options import add_data_dir, settings_of
from quarterdeck.wiring import restore_from

DESCRIPTION = """Put a backup in the place of the database. Stop the server first.

The backup is checked before anything is touched, and stays where it is. The database that is replaced is kept beside
the new one. Whoever was watching a run is told that the log is another one now."""
EXAMPLES = """example:
  quarterdeck restore quarterdeck-2026-01-31.db"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the backup")
    add_data_dir(parser)
    parser.set_defaults(act=restore)


def restore(asked: argparse.Namespace) -> int:
    settings = settings_of(asked)
    done = restore_from(settings, asked.file.expanduser().absolute())
    plural = "" if done.streams == 1 else "s"
    print(f"{settings.database} is now what {asked.file} holds: {done.streams} stream{plural}, all as written.")
    if done.kept is not None:
        print(f"The database before it is kept as {done.kept}.")
    return 0
