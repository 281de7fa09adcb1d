"""`quarterdeck experience`: the lessons that runs taught, and what is to become of them, through the server."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Coroutine
from typing import Any

from quarterdeck.cli.memory import asked_of, print_lines
from quarterdeck.cli.options import add_url
from quarterdeck.cli.runs import ID_WIDTH
from quarterdeck.client import Client

DESCRIPTION = "Lessons that runs taught. Those you accept are found again when they fit."
EXAMPLES = """examples:
  quarterdeck experience list
  quarterdeck experience accept 0190a0b2-…
  quarterdeck experience reflect 0190a0b1-…"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(
        title="what to do", metavar="list | accept | reject | forget | reflect", required=True
    )
    lists = parts.add_parser(
        "list",
        help="the latest first",
        description="The latest first.",
        epilog="example: quarterdeck experience list --json",
    )
    lists.add_argument("--limit", type=int, default=20, metavar="N", help="how many at most (by default %(default)s)")
    lists.set_defaults(act=list_lessons)
    says = {
        "accept": ("use it from now on where it fits", accept),
        "reject": ("never use it", reject),
        "forget": ("take its text out of the log, the tables and the index", forget),
    }
    several = [lists]
    for name, (help_line, act) in says.items():
        part = parts.add_parser(
            name,
            help=help_line,
            description=f"{help_line[:1].upper()}{help_line[1:]}.",
            epilog=f"example: quarterdeck experience {name} 0190a0b2-…",
        )
        part.add_argument("lesson", metavar="LESSON", help="its id")
        part.set_defaults(act=act)
        several.append(part)
    reflects = parts.add_parser(
        "reflect",
        help="have a run that has ended looked back at",
        description="Have a run that has ended looked back at; what it taught is proposed as a lesson.",
        epilog="example: quarterdeck experience reflect 0190a0b1-…",
    )
    reflects.add_argument("run", metavar="RUN", help="its id")
    reflects.set_defaults(act=reflect)
    for part in (*several, reflects):
        part.add_argument("--json", action="store_true", help="as JSON, with everything the server says")
        add_url(part)


def list_lessons(asked: argparse.Namespace) -> int:
    lessons = asked_of(asked, lambda client: client.experience.latest(limit=asked.limit))
    if asked.json:
        print(json.dumps(lessons, ensure_ascii=False, indent=2))
    elif not lessons:
        print("There are no lessons yet.")
    else:
        cells = [(each["id"], each["state"], each["created_at"], each["text"]) for each in lessons]
        print_lines(("ID", "STATE", "AGE", "LESSON"), (ID_WIDTH, 9, 7), cells)
    return 0


def accept(asked: argparse.Namespace) -> int:
    return _decided(asked, lambda client: client.experience.accept(asked.lesson), "is used where it fits")


def reject(asked: argparse.Namespace) -> int:
    return _decided(asked, lambda client: client.experience.reject(asked.lesson), "is not used")


def forget(asked: argparse.Namespace) -> int:
    return _decided(asked, lambda client: client.experience.forget(asked.lesson), "is forgotten")


def _decided(asked: argparse.Namespace, ask: Callable[[Client], Coroutine[Any, Any, Any]], how: str) -> int:
    lesson = asked_of(asked, ask) or {"id": asked.lesson, "state": "forgotten"}
    print(json.dumps(lesson, ensure_ascii=False, indent=2) if asked.json else f"Lesson {asked.lesson} {how}.")
    return 0


def reflect(asked: argparse.Namespace) -> int:
    asked_of(asked, lambda client: client.experience.reflect(asked.run))
    told = {"task_id": asked.run, "status": "reflecting"}
    print(json.dumps(told) if asked.json else f"Run {asked.run} is being looked back at; its lesson will be listed.")
    return 0
