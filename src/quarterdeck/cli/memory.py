"""`quarterdeck memory`: read, add to, correct and forget what is remembered, through the server."""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from quarterdeck.cli.backstage import Backstage
from quarterdeck.cli.options import add_url
from quarterdeck.cli.runs import ID_WIDTH, LEAST_WORDS, age
from quarterdeck.cli.screen import fitted, padded
from quarterdeck.cli.service import connected
from quarterdeck.client import Client

TYPES, SCOPES = ["fact", "preference", "note"], ["global", "workspace", "conversation"]
DESCRIPTION = "What is remembered from one conversation to the next: read it, add to it, correct it, forget it."
EXAMPLES = """examples:
  quarterdeck memory list --workspace .
  quarterdeck memory search 'what is my name'
  quarterdeck memory add 'Deploys run on Fridays' --workspace . --type fact
  quarterdeck memory forget 0190a0b2-…"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(
        title="what to do", metavar="list | search | add | edit | forget | accept | export", required=True
    )
    lists = _part(parts, "list", "the latest first", "quarterdeck memory list --scope global --json", list_memories)
    search = _part(
        parts, "search", "those about something, the best first", "quarterdeck memory search tea", search_memories
    )
    search.add_argument("question", metavar="QUESTION", help="what to look for, in any of your languages")
    for part in (lists, search):
        part.add_argument("--workspace", metavar="FOLDER", help="global ones, and those of this folder")
        part.add_argument("--scope", choices=SCOPES, help="only those of this scope")
        part.add_argument("--limit", type=int, default=20, metavar="N", help="how many at most (%(default)s)")
    adds = _part(
        parts, "add", "remember something", "quarterdeck memory add 'I prefer short answers' --type preference", add_one
    )
    adds.add_argument("text", metavar="TEXT", help="what to remember, to be understood by itself")
    adds.add_argument("--workspace", metavar="FOLDER", help="only for work in this folder")
    adds.add_argument("--conversation", metavar="ID", help="only for this conversation")
    adds.add_argument("--scope", choices=SCOPES, help="by default as narrow as what is named")
    edits = _part(
        parts, "edit", "correct one", "quarterdeck memory edit 0190a0b2-… --text 'Deploys run on Mondays'", edit_one
    )
    edits.add_argument("memory", metavar="MEMORY", help="its id")
    edits.add_argument("--text", help="what it should say")
    for part, default in ((adds, "note"), (edits, None)):
        part.add_argument("--type", choices=TYPES, default=default, help="what kind of thing it is")
        part.add_argument("--importance", type=_share, metavar="0..1", help="how much it matters")
    forget = _part(
        parts,
        "forget",
        "forget one: its text goes from the log, the tables and the index",
        "quarterdeck memory forget 0190a0b2-…",
        forget_one,
    )
    accept = _part(
        parts, "accept", "let a proposed one be recalled", "quarterdeck memory accept 0190a0b2-…", accept_one
    )
    for part in (forget, accept):
        part.add_argument("memory", metavar="MEMORY", help="its id")
    _part(parts, "export", "all of them, one JSON object a line", "quarterdeck memory export > memory.ndjson", export)


def _part(parts: Any, name: str, says: str, example: str, act: Callable[[argparse.Namespace], int]) -> Any:
    part = parts.add_parser(name, help=says, description=f"{says[:1].upper()}{says[1:]}.", epilog=f"example: {example}")
    part.add_argument("--json", action="store_true", help="as JSON, with everything the server says")
    part.set_defaults(act=act)
    add_url(part)
    return part


def asked_of(asked: argparse.Namespace, ask: Callable[[Client], Coroutine[Any, Any, Any]]) -> Any:
    with Backstage() as stage, connected(stage, asked) as service:
        return stage.run(ask(service.client))


def list_memories(asked: argparse.Namespace) -> int:
    where = {"workspace": _folder(asked.workspace), "scope": asked.scope, "limit": asked.limit}
    _show(asked_of(asked, lambda client: client.memory.latest(**where)), as_json=asked.json)
    return 0


def search_memories(asked: argparse.Namespace) -> int:
    where = {"workspace": _folder(asked.workspace), "scope": asked.scope, "limit": asked.limit}
    _show(asked_of(asked, lambda client: client.memory.search(asked.question, **where)), as_json=asked.json)
    return 0


def _show(memories: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(memories, ensure_ascii=False, indent=2))
    elif not memories:
        print("Nothing is remembered.")
    else:
        cells = [(each["id"], each["memory_type"], _reach(each), each["created_at"], each["text"]) for each in memories]
        print_lines(("ID", "TYPE", "SCOPE", "AGE", "TEXT"), (ID_WIDTH, 10, 12, 7), cells)


def _reach(memory: dict[str, Any]) -> str:
    return "(proposed)" if memory["state"] == "proposed" else str(memory["scope"])


def print_lines(titles: Sequence[str], widths: Sequence[int], lines: Sequence[tuple[Any, ...]]) -> None:
    """A table whose last column is text, and the one before it a time."""
    now, columns = time.time(), shutil.get_terminal_size((120, 24)).columns
    words = max(LEAST_WORDS, columns - sum(widths) - 2 * len(widths))
    print("  ".join(padded(title, width) for title, width in zip(titles, widths, strict=False)) + f"  {titles[-1]}")
    for *cells, at, text in lines:
        shown = [*cells, age(now - at)]
        line = "  ".join(padded(str(cell), width) for cell, width in zip(shown, widths, strict=True))
        print(f"{line}  {fitted(text, words)}".rstrip())


def add_one(asked: argparse.Namespace) -> int:
    more = {
        "workspace": _folder(asked.workspace),
        "conversation_id": asked.conversation,
        "scope": asked.scope,
        "memory_type": asked.type,
        "importance": asked.importance,
    }
    memory = asked_of(asked, lambda client: client.memory.add(asked.text, **more))
    return _told(asked, memory, f"Remembered as {memory['id']}, {memory['scope']}.")


def edit_one(asked: argparse.Namespace) -> int:
    changes = {"text": asked.text, "memory_type": asked.type, "importance": asked.importance}
    memory = asked_of(asked, lambda client: client.memory.edit(asked.memory, **changes))
    return _told(asked, memory, f"Memory {memory['id']} is changed.")


def accept_one(asked: argparse.Namespace) -> int:
    memory = asked_of(asked, lambda client: client.memory.accept(asked.memory))
    return _told(asked, memory, f"Memory {memory['id']} is recalled from now on.")


def forget_one(asked: argparse.Namespace) -> int:
    asked_of(asked, lambda client: client.memory.forget(asked.memory))
    return _told(asked, {"id": asked.memory, "state": "forgotten"}, f"Memory {asked.memory} is forgotten.")


def export(asked: argparse.Namespace) -> int:
    for memory in asked_of(asked, lambda client: client.memory.export()):
        print(json.dumps(memory, ensure_ascii=False))
    return 0


def _told(asked: argparse.Namespace, what: dict[str, Any], sentence: str) -> int:
    print(json.dumps(what, ensure_ascii=False, indent=2) if asked.json else sentence)
    return 0


def _folder(workspace: str | None) -> str | None:
    """As the terminal means it, wherever the server was started."""
    return None if workspace is None else str(Path(workspace).expanduser().absolute())


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share; it must be a number from 0 to 1")
    return number
