"""`quarterdeck doctor`: is everything in order, and if not, what to do."""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap

from quarterdeck.cli.checks import Check, examined
from quarterdeck.cli.options import add_data_dir, settings_of

SIGNS = {"ok": "ok  ", "note": "note", "bad": "BAD "}
DESCRIPTION = """Look whether everything is in order, and say what to do about what is not.

The exit status is 1 if something would stop `quarterdeck serve`."""
EXAMPLES = """examples:
  quarterdeck doctor
  quarterdeck doctor --json"""


def add(parser: argparse.ArgumentParser) -> None:
    add_data_dir(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.set_defaults(act=doctor)


def doctor(asked: argparse.Namespace) -> int:
    checks = []
    for check in examined(settings_of(asked)):
        checks.append(check)
        if not asked.json:
            _print(check)
    bad = [check for check in checks if check.state == "bad"]
    if asked.json:
        print(json.dumps([dataclasses.asdict(check) for check in checks], ensure_ascii=False, indent=2))
    else:
        print("`quarterdeck serve` would not start." if bad else "`quarterdeck serve` can start.")
    return 1 if bad else 0


def _print(check: Check) -> None:
    text = f"{SIGNS[check.state]}  {check.name:<10}{check.says}"
    print(textwrap.fill(text, 110, subsequent_indent=" " * 16, break_long_words=False, break_on_hyphens=False))
    if check.do:
        do = textwrap.fill(check.do, 110, initial_indent=" " * 16 + "→ ", subsequent_indent=" " * 18)
        print(do, flush=True)
