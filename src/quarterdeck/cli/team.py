"""`quarterdeck team`: let a team of experts work on a task, watch its plan, and step in from the keyboard."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from quarterdeck.cli.backstage import Backstage, Came, Turn
from quarterdeck.cli.chat import message_of, way_of, workspace_of
from quarterdeck.cli.keyboard import Typed, at_hand
from quarterdeck.cli.options import add_data_dir, add_url, count, settings_of
from quarterdeck.cli.plan_picture import Drawing
from quarterdeck.cli.screen import Screen, fitted, padded
from quarterdeck.cli.service import Service, connected, connected_or_started
from quarterdeck.client import Told
from quarterdeck.kernel.errors import Invalid, Problem

INTERRUPTED = 130
ID_WIDTH = 36
STYLES = ["open", "for_against", "devils_advocate"]
HINT = (
    "(type to step in: /stop, /debate TOPIC, @member …, /skip, /retry PHASE, /pause, /resume, or words for everybody)"
)
# Who works where nobody was named.
CREW: tuple[dict[str, Any], ...] = (
    {"name": "lead", "lead": True, "persona": "Plans, keeps the aim in sight, and decides."},
    {"name": "researcher", "persona": "Finds out what is known, and says how sure it is."},
    {"name": "builder", "persona": "Turns what is known into something that works."},
    {"name": "critic", "persona": "Looks for what is wrong, missing or dangerous."},
)
DESCRIPTION = """Let a team of experts work on a task: a lead plans, members work at the same time, debate when asked
to, and the lead answers. The plan is drawn as it changes. What is typed meanwhile is said to the team.

Ctrl-C stops the team and sums up what there is; twice, it leaves. Ctrl-D leaves the team to go on by itself."""
EXAMPLES = """examples:
  quarterdeck team run "Which database for a small shop?"
  quarterdeck team run "Plan the move" --expert "lead: decides" --expert "ada: knows costs" --approve
  quarterdeck team list
  quarterdeck team watch 0190a0b2-… 0190a0b3-…"""


def add(parser: argparse.ArgumentParser) -> None:
    parts = parser.add_subparsers(title="what to do", metavar="run | watch | list", required=True)
    run = parts.add_parser(
        "run",
        help="give a team a task and watch it",
        description="Give a team a task and watch it. Without a team, a crew of four works on it.",
        epilog='example: quarterdeck team run "Which database?" --style for_against',
    )
    run.add_argument("task", nargs="*", metavar="TASK", help="what the team is to do; also what is piped in")
    run.add_argument("--team", metavar="ID", help="a team that was formed before")
    run.add_argument(
        "--expert",
        action="append",
        default=[],
        metavar="'NAME: WHO THEY ARE'",
        help="form a team of these; the first leads",
    )
    run.add_argument("--approve", action="store_true", help="the plan waits until you say /approve")
    run.add_argument("--style", choices=STYLES, default="open", help="how debates are held (by default %(default)s)")
    run.add_argument("--budget", type=float, metavar="USD", help="what all of it may cost")
    run.add_argument("--workspace", type=Path, metavar="FOLDER", help="where the experts work; by default here")
    run.set_defaults(act=run_team)
    add_data_dir(run)
    watch = parts.add_parser(
        "watch",
        help="follow a team's run to its end",
        description="Follow a team's run from its beginning to its end, and step in.",
        epilog="example: quarterdeck team watch 0190a0b2-… 0190a0b3-…",
    )
    watch.add_argument("team", metavar="TEAM", help="the team's id")
    watch.add_argument("run", metavar="RUN", help="the run's id")
    watch.set_defaults(act=watch_team)
    lists = parts.add_parser(
        "list",
        help="the teams, and the latest runs of each",
        description="The teams that were formed, and the latest runs of each.",
        epilog="example: quarterdeck team list --json",
    )
    lists.add_argument("--limit", type=count, default=5, metavar="N", help="how many runs of each (by default 5)")
    lists.add_argument("--json", action="store_true", help="as JSON, with everything the server says")
    lists.set_defaults(act=list_teams)
    for part in (run, watch, lists):
        add_url(part)


def run_team(asked: argparse.Namespace) -> int:
    task = message_of(asked.task)
    if task is None:
        raise Invalid("Say what the team is to do: quarterdeck team run TASK.", code="task_empty")
    experts = [_expert(said, lead=number == 0) for number, said in enumerate(asked.expert)]
    workspace, screen = workspace_of(asked), Screen(settings_of(asked))
    options = {"budget": asked.budget, "debate_style": asked.style, "workspace": workspace}
    with Backstage() as stage, connected_or_started(stage, asked, screen) as service:
        teams = service.client.teams
        team = asked.team or stage.run(teams.form("Crew", experts or CREW, key=_same(experts or CREW)))["id"]
        begun = stage.run(teams.begin(team, task, approve_plan=asked.approve, **options))
        return Watching(stage, service, screen, (team, begun["id"])).follow()


def watch_team(asked: argparse.Namespace) -> int:
    screen = Screen(settings_of(asked))
    with Backstage() as stage, connected(stage, asked) as service:
        return Watching(stage, service, screen, (asked.team, asked.run)).follow()


def list_teams(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        teams = stage.run(service.client.teams.all(limit=100))
        for team in teams:
            team["runs"] = stage.run(service.client.teams.runs(team["id"], limit=asked.limit))
    if asked.json:
        print(json.dumps(teams, ensure_ascii=False, indent=2))
    elif not teams:
        print("There are no teams yet: quarterdeck team run TASK forms one.")
    else:
        for team in teams:
            print(
                f"{padded(team['id'], ID_WIDTH)}  {team['name']}: {', '.join(one['name'] for one in team['experts'])}"
            )
            for run in team["runs"]:
                print(f"  {padded(run['id'], ID_WIDTH)}  {padded(run['status'], 9)}  {fitted(run['task'], 60)}")
    return 0


def _same(experts: Sequence[dict[str, Any]]) -> str:
    """The key under which these experts are one team, however often they are asked for."""
    return "crew-" + hashlib.sha256(json.dumps(experts).encode()).hexdigest()[:32]


def _expert(said: str, *, lead: bool) -> dict[str, Any]:
    name, _, persona = said.partition(":")
    if not name.strip():
        raise Invalid(f"{said!r} names nobody; write 'NAME: WHO THEY ARE'.", code="bad_expert")
    return {"name": name.strip(), "persona": persona.strip(), "lead": lead}


class Watching:
    """A person in front of a team's run: what happens is drawn, what is typed is said to it."""

    def __init__(self, stage: Backstage, service: Service, screen: Screen, place: tuple[str, str]) -> None:
        self._stage, self._teams, self._screen = stage, service.client.teams, screen
        self._place, self._drawing, self._way = place, Drawing(screen), way_of(service)
        self._stopping = False

    def follow(self) -> int:
        """0, 1 where it failed, 130 where it was stopped from here."""
        keyboard = at_hand()
        if keyboard is not None:
            self._screen.note(HINT)
        with self._stage.told(self._teams.watch(*self._place), keyboard) as items:
            for item in items:
                match item:
                    case Told():
                        self._drawing.show(item)
                    case Typed(line):
                        self._typed(line)
                    case Came():
                        item.tell()
                    case Turn.INTERRUPTED:
                        self._interrupted()
                    case Turn.LEFT:
                        self._left()
                        return 0
                    case Exception():
                        raise item
        self._drawing.finish()
        if self._stopping:
            return INTERRUPTED
        return 1 if self._drawing.picture.status == "failed" else 0

    def _typed(self, line: str) -> None:
        self._drawing.typed()
        if line.strip():
            self._stage.meanwhile(self._teams.say(*self._place, line), self._taken("(noted; it is heeded in its turn)"))

    def _interrupted(self) -> None:
        if self._stopping:
            self._left()
            raise KeyboardInterrupt
        self._stopping = True
        self._stage.meanwhile(self._teams.say(*self._place, "/stop"), self._taken("(stopping; Ctrl-C again leaves)"))

    def _taken(self, noted: str) -> Callable[[dict[str, Any] | Problem], None]:
        return lambda came: self._drawing.note(came.detail if isinstance(came, Problem) else noted)

    def _left(self) -> None:
        self._screen.note(f"(the team goes on; quarterdeck team watch {' '.join(self._place)}{self._way.options})")
