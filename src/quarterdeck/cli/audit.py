"""`quarterdeck audit`: the commands that were run, through the server: list, export, verify."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from quarterdeck.cli.backstage import Backstage
from quarterdeck.cli.options import add_url
from quarterdeck.cli.screen import fitted, padded
from quarterdeck.cli.service import connected

PATH = "/v1/audit/commands"
LEAST_WORDS = 20
COLUMNS = {"SEQ": 6, "TIME": 19, "RISK": 9, "DECIDED": 8, "ENDED": 8}
DESCRIPTION = """List the commands that were run or refused, take them away, check that they are what was written.

Each says who asked, what decided, who approved and how it ended. Secrets are taken out before it is kept."""
EXAMPLES = """examples:
  quarterdeck audit list --limit 5
  quarterdeck audit export --output commands.ndjson
  quarterdeck audit verify --json"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(title="what to do", metavar="list | export | verify", required=True)
    lists = parts.add_parser(
        "list",
        help="the latest commands first",
        description="The latest commands first.",
        epilog="example: quarterdeck audit list --run 0190a0b2-… --json",
    )
    lists.add_argument("--limit", type=_count, default=20, metavar="N", help="how many (by default %(default)s)")
    lists.add_argument("--after", type=int, metavar="SEQ", help="only those before this one, where a page ended")
    lists.add_argument("--run", metavar="RUN", help="only those of one run")
    lists.set_defaults(act=list_commands)
    export = parts.add_parser(
        "export",
        help="all of them, a JSON object a line",
        description="All commands from the first on, a JSON object a line, each with its hash.",
        epilog="example: quarterdeck audit export --output commands.ndjson",
    )
    export.add_argument("--output", type=Path, metavar="FILE", help="into a new file, instead of printing it")
    export.set_defaults(act=export_commands)
    verify = parts.add_parser(
        "verify",
        help="check every hash",
        description="Check every hash, and what is shown against what was written; the exit status is 1 if it differs.",
        epilog="example: quarterdeck audit verify",
    )
    verify.set_defaults(act=verify_commands)
    for part in (lists, export, verify):
        part.add_argument("--json", action="store_true", help="as JSON; an export always is")
        add_url(part)


def list_commands(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        wanted = {"limit": asked.limit, "after": asked.after, "task_id": asked.run}
        commands: list[dict[str, Any]] = stage.run(service.client.get(PATH, **wanted))
    if asked.json:
        print(json.dumps(commands, ensure_ascii=False, indent=2))
    elif not commands:
        print("No command was run yet." if asked.run is None and asked.after is None else "None.")
    else:
        _print(commands)
    return 0


def _print(commands: list[dict[str, Any]]) -> None:
    words = max(LEAST_WORDS, shutil.get_terminal_size((120, 24)).columns - sum(COLUMNS.values()) - 2 * len(COLUMNS))
    print("  ".join(padded(name, width) for name, width in COLUMNS.items()) + "  COMMAND")
    for each in commands:
        told = each["payload"]
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each["at"]))
        decided = told["decided_by"] if told["approved"] or told["decided_by"] == "policy" else "refused"
        cells = (str(each["seq"]), when, told["risk_level"], decided, _end(told))
        line = "  ".join(padded(cell, width) for cell, width in zip(cells, COLUMNS.values(), strict=True))
        print(f"{line}  {fitted(told['command'], words)}")


def _end(told: dict[str, Any]) -> str:
    if told["exit_status"] is not None:
        return f"exit {told['exit_status']}"
    return "ok" if told["ok"] else "not run"


def export_commands(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        if asked.output is None:
            stage.run(_written(service.client, sys.stdout.buffer))
        else:
            with asked.output.open("xb") as file:
                stage.run(_written(service.client, file))
    return 0


async def _written(client: Any, file: Any) -> None:
    async for line in client.lines(f"{PATH}/export"):
        file.write(line + b"\n")
    file.flush()


def verify_commands(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        verdict: dict[str, Any] = stage.run(service.client.get(f"{PATH}/verify"))
    if asked.json:
        print(json.dumps(verdict, ensure_ascii=False, indent=2))
    else:
        for trouble in verdict["troubles"]:
            print(trouble)
        if verdict["ok"]:
            print(f"All {verdict['count']} commands are as they were written. The last hash is {verdict['head_hash']}.")
    return 0 if verdict["ok"] else 1


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) <= 3 else 0
    if not 1 <= number <= 500:
        raise argparse.ArgumentTypeError(f"{text!r} is no count; it must be a number from 1 to 500")
    return number
