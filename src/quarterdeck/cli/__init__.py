"""The command `quarterdeck`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from quarterdeck import __version__
from quarterdeck.cli import serve
from quarterdeck.kernel.errors import Problem


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="quarterdeck", description="An agent workplace you can watch, steer and trust."
    )
    parser.add_argument("--version", action="version", version=f"quarterdeck {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (serve,):
        command.add(commands)
    asked = parser.parse_args(arguments)
    try:
        status = asked.act(asked)
    except Problem as problem:
        print(f"quarterdeck: {problem.detail}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
