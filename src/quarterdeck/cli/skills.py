"""`quarterdeck skills`: list and show skills, through the server."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from quarterdeck.cli.backstage import Backstage
from quarterdeck.cli.options import add_url, settings_of
from quarterdeck.cli.screen import Screen, fitted, padded
from quarterdeck.cli.service import connected

LEAST_WORDS = 20
WIDTHS = (24, 9)
DESCRIPTION = """List the skills that a run in a folder can use, or show one whole.

Skills are folders with a SKILL.md: built in, yours (in `skills` of the data folder), or a workspace's
(.quarterdeck/skills). `quarterdeck doctor` names those that cannot be read."""
EXAMPLES = """examples:
  quarterdeck skills list
  quarterdeck skills list --workspace ~/project --json
  quarterdeck skills show analyze_project"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(title="what to do", metavar="list | show", required=True)
    lists = parts.add_parser(
        "list",
        help="all that can be used here",
        description="All skills that a run in the folder can use, and where each came from.",
        epilog="example: quarterdeck skills list --workspace ~/project",
    )
    lists.set_defaults(act=list_skills)
    show = parts.add_parser(
        "show",
        help="one of them whole",
        description="One skill whole.",
        epilog="example: quarterdeck skills show analyze_project",
    )
    show.add_argument("name", metavar="NAME", help="its name")
    show.set_defaults(act=show_skill)
    for part in (lists, show):
        part.add_argument("--workspace", type=Path, default=Path(), metavar="FOLDER", help="by default this folder")
        part.add_argument("--json", action="store_true", help="as JSON, with everything the server says")
        add_url(part)


def list_skills(asked: argparse.Namespace) -> int:
    skills: list[dict[str, Any]] = _got(asked, "/v1/skills")
    if asked.json:
        print(json.dumps(skills, ensure_ascii=False, indent=2))
        return 0
    words = max(LEAST_WORDS, shutil.get_terminal_size((120, 24)).columns - sum(WIDTHS) - 2 * len(WIDTHS))
    for name, origin, description in [
        ("NAME", "FROM", "FOR"),
        *((each["name"], each["origin"].replace("_", " "), each["description"]) for each in skills),
    ]:
        print(f"{padded(name, WIDTHS[0])}  {padded(origin, WIDTHS[1])}  {fitted(description, words)}".rstrip())
    return 0


def show_skill(asked: argparse.Namespace) -> int:
    skill: dict[str, Any] = _got(asked, f"/v1/skills/{quote(asked.name, safe='')}")
    if asked.json:
        print(json.dumps(skill, ensure_ascii=False, indent=2))
    else:
        screen = Screen(settings_of(asked))
        screen.plain(f"{skill['body']}\n")
        screen.note(f"({skill['name']}, {skill['origin'].replace('_', ' ')}: {skill['description']})")
    return 0


def _got(asked: argparse.Namespace, path: str) -> Any:
    with Backstage() as stage, connected(stage, asked) as service:
        return stage.run(service.client.get(path, workspace=str(asked.workspace.expanduser().absolute())))
