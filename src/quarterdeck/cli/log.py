"""`quarterdeck log`: is the log what was written?"""

from __future__ import annotations

import argparse

from quarterdeck.cli.options import add_data_dir, settings_of
from quarterdeck.wiring import verify

DESCRIPTION = """Check the log: every place and every hash of every stream, and the file that holds them.

It takes the data folder for itself meanwhile, so stop the server first, or check a backup of it in a folder of its
own."""
EXAMPLES = """example:
  quarterdeck log verify"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(title="what to do", metavar="verify", required=True)
    check = parts.add_parser(
        "verify",
        help="check every place and every hash",
        description="Check every place and every hash; each problem is a sentence, and the exit status is 1.",
        epilog="example: quarterdeck log verify --data-dir ~/quarterdeck",
    )
    add_data_dir(check)
    check.set_defaults(act=verify_log)


def verify_log(asked: argparse.Namespace) -> int:
    settings = settings_of(asked)
    found = verify(settings)
    for sentence in found:
        print(sentence.rstrip(".") + ".")
    if not found:
        print(f"{settings.database} is whole: every place and every hash is as it was written.")
    return 1 if found else 0
