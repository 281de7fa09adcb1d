"""`quarterdeck runs`: list, watch, steer and stop runs, through the server."""

from __future__ import annotations

import argparse
import json
import shutil
import time
from typing import Any

from quarterdeck.cli.backstage import Backstage, Turn
from quarterdeck.cli.options import add_url, count, settings_of
from quarterdeck.cli.screen import Screen, fitted, padded
from quarterdeck.cli.service import connected
from quarterdeck.cli.telling import Telling
from quarterdeck.client import Told

WAITING = ["waiting_for_approval", "waiting_for_password", "waiting_for_answer"]
STATUSES = ["queued", "running", *WAITING, "completed", "stopped", "failed", "quarantined"]
STATUS_WIDTH = max(map(len, STATUSES))
ID_WIDTH = 36
LEAST_WORDS = 20
DESCRIPTION = "List the runs of a server, watch one live or from its beginning, say something to it, stop it."
EXAMPLES = """examples:
  quarterdeck runs list --status running
  quarterdeck runs watch 0190a0b2-…
  quarterdeck runs steer 0190a0b2-… "Leave the tests alone."
  quarterdeck runs stop 0190a0b2-…"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(title="what to do", metavar="list | watch | steer | stop", required=True)
    lists = parts.add_parser(
        "list",
        help="the latest runs first",
        description="The latest runs first.",
        epilog="example: quarterdeck runs list --limit 5 --json",
    )
    lists.add_argument("--limit", type=count, default=20, metavar="N", help="how many at most (by default %(default)s)")
    lists.add_argument("--status", choices=STATUSES, help="only those that stand so")
    lists.add_argument("--conversation", metavar="ID", help="only those of one conversation")
    lists.add_argument("--json", action="store_true", help="as JSON, with everything the server says")
    lists.set_defaults(act=list_runs)
    watch = parts.add_parser(
        "watch",
        help="follow a run to its end",
        description="Follow a run to its end, over any interruption. Leaving with Ctrl-C does not stop it.",
        epilog="example: quarterdeck runs watch 0190a0b2-… --after 57",
    )
    watch.add_argument("run", metavar="RUN", help="its id")
    watch.add_argument("--after", metavar="PLACE", help="go on behind this place: an event's id or its number")
    watch.add_argument("--json", action="store_true", help="one JSON object a line for each event, as it comes")
    watch.set_defaults(act=watch_run)
    steer = parts.add_parser(
        "steer",
        help="say something to a run that works",
        description="Say something to a run that works. It is heeded at its next step, unless an option says when.",
        epilog="example: quarterdeck runs steer 0190a0b2-… --interrupt 'Stop that and look at the log first.'",
    )
    steer.add_argument("run", metavar="RUN", help="its id")
    steer.add_argument("text", metavar="TEXT", help="what it should heed")
    when = steer.add_mutually_exclusive_group()
    for mode, said in (
        ("queue", "after its answer, which begins another run"),
        ("interrupt", "now: break off the rest"),
    ):
        when.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode, help=said)
    steer.add_argument("--json", action="store_true", help="the receipt as JSON")
    steer.set_defaults(act=steer_run, mode="steer")
    stop = parts.add_parser(
        "stop",
        help="end a run at once and keep what it has",
        description="End a run at once and keep what it has.",
        epilog="example: quarterdeck runs stop 0190a0b2-… --reason 'wrong question'",
    )
    stop.add_argument("run", metavar="RUN", help="its id")
    stop.add_argument("--reason", default="", help="why; is kept with the run")
    stop.set_defaults(act=stop_run)
    for part in (lists, watch, steer, stop):
        add_url(part)


def list_runs(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        wanted = {"conversation": asked.conversation, "status": asked.status, "limit": asked.limit}
        tasks = stage.run(service.client.tasks(**wanted))
    if asked.json:
        print(json.dumps(tasks, ensure_ascii=False, indent=2))
    elif not tasks:
        print("There are no runs yet." if asked.status is None and asked.conversation is None else "None.")
    else:
        print_table(tasks, time.time(), shutil.get_terminal_size((120, 24)).columns)
    return 0


def print_table(tasks: list[dict[str, Any]], now: float, columns: int) -> None:
    widest = min(ID_WIDTH, max(12, *(len(task["conversation_id"]) for task in tasks)))
    widths = (ID_WIDTH, STATUS_WIDTH, 7, widest)
    words = max(LEAST_WORDS, columns - sum(widths) - 2 * len(widths))
    titles = ("ID", "STATUS", "AGE", "CONVERSATION")
    print("  ".join(padded(title, width) for title, width in zip(titles, widths, strict=True)) + "  SAID")
    for task in tasks:
        cells = (task["task_id"], task["status"], age(now - task["requested_at"]), task["conversation_id"])
        line = "  ".join(padded(str(cell), width) for cell, width in zip(cells, widths, strict=True))
        print(f"{line}  {fitted(task['message'], words)}".rstrip())


def age(seconds: float) -> str:
    for size, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {name}"
    return f"{max(0.0, seconds):.0f} s"


def watch_run(asked: argparse.Namespace) -> int:
    screen = Screen(settings_of(asked))
    telling = Telling(screen)
    with Backstage() as stage, connected(stage, asked) as service:
        source = service.client.watch(asked.run, after=asked.after)
        with stage.told(source) as items:
            for item in items:
                if isinstance(item, Told):
                    _show(item, telling, as_json=asked.json)
                elif item is Turn.INTERRUPTED:
                    telling.pause()
                    screen.note(f"(the run goes on; quarterdeck runs stop {asked.run} ends it)")
                    raise KeyboardInterrupt
                elif item is Turn.OVER:
                    break
                elif isinstance(item, Exception):
                    telling.pause()
                    raise item
    return 1 if telling.failed else 0


def _show(told: Told, telling: Telling, *, as_json: bool) -> None:
    if not as_json:
        telling.show(told)
        if told.event in {"tool_approval_requested", "tool_password_requested"}:
            telling.aside(f"(it waits for you: quarterdeck approvals show {told.data.get('approval_id')})")
        return
    telling.reply.apply(told)
    print(json.dumps({"seq": told.seq, "event": told.event, "data": told.data}, ensure_ascii=False), flush=True)


def steer_run(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        receipt = stage.run(service.client.intervene(asked.run, asked.text, asked.mode))
    when = {"queue": "after its answer", "interrupt": "now"}.get(asked.mode, "at its next step")
    said = f"Run {asked.run} will heed it {when}. The receipt is {receipt['intervention_id']}."
    print(json.dumps(receipt, ensure_ascii=False, indent=2) if asked.json else said)
    return 0


def stop_run(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        stage.run(service.client.stop(asked.run, asked.reason))
    print(f"Run {asked.run} is being stopped; what it has is kept.")
    return 0
