"""`quarterdeck chat`: one question, or a conversation, in the terminal."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import stat
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from quarterdeck.cli.asking import HINT, Asked, Asking, Elsewhere, Here, Way
from quarterdeck.cli.backstage import Backstage, Came, Turn
from quarterdeck.cli.keyboard import Typed, at_hand
from quarterdeck.cli.options import DEFAULT_URL, add_data_dir, add_url, settings_of, url_of
from quarterdeck.cli.screen import Screen
from quarterdeck.cli.service import LOOPBACK, Service, connected_or_started
from quarterdeck.cli.telling import Telling
from quarterdeck.client import Client, Told
from quarterdeck.kernel.errors import Invalid, Problem
from quarterdeck.kernel.parts import Reasoning

INTERRUPTED = 130
PROMPT = "› "
DESCRIPTION = """Talk to a model in the terminal: with a message, one answer; without, a conversation.

Ctrl-C while it answers stops the run and keeps what there is; at the prompt, or pressed twice, it leaves. Ctrl-D while
it answers leaves the run to go on by itself. What is typed meanwhile is said to the run: it is heeded at the next step;
behind `! ` it breaks in at once, behind `+ ` it waits for the answer. What the run asks is asked here.

What is piped in is the message, or stands below the one given. Into a pipe or a file goes the answer alone, once it is
whole; where the run must ask somebody, the command ends with status 1 and says how to answer.
Where no server answers on this machine, the command runs one of its own as long as it lasts."""
EXAMPLES = """examples:
  quarterdeck chat
  quarterdeck chat "What is a quarterdeck?"
  git diff | quarterdeck chat "Review this change:"
  quarterdeck chat --conversation trip "And how do we get there?" """


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("message", nargs="*", metavar="MESSAGE", help="what to say; without it, a conversation begins")
    parser.add_argument("--conversation", metavar="ID", help="go on with a conversation, or give a new one this name")
    parser.add_argument(
        "--workspace",
        type=Path,
        metavar="FOLDER",
        help="where it works; by default here, if the server is on this machine",
    )
    parser.add_argument(
        "--loop",
        choices=["roles", "native"],
        help="how the agent works; by default native, and roles with the embedded model",
    )
    parser.add_argument("--reasoning", choices=["on", "off", "auto"], help="whether the model should think first")
    add_url(parser)
    add_data_dir(parser)
    parser.set_defaults(act=chat)


def chat(asked: argparse.Namespace) -> int:
    message = message_of(asked.message)
    workspace = workspace_of(asked)
    screen = Screen(settings_of(asked))
    with Backstage() as stage, connected_or_started(stage, asked, screen) as service:
        talk = Talk(stage, service, screen, asked, workspace)
        return talk.say(message) if message is not None else converse(talk, screen)


def workspace_of(asked: argparse.Namespace) -> str | None:
    """The folder that the run may work in. A server elsewhere has other folders: there one must be named."""
    here = urlsplit(url_of(asked)).hostname in LOOPBACK
    if asked.workspace is None:
        return str(Path.cwd()) if here else None
    folder = asked.workspace.expanduser()
    if not here:
        return str(folder)
    if not folder.is_dir():
        raise Invalid(f"There is no folder {folder}; name another with --workspace.", code="no_workspace")
    return str(folder.absolute())


def message_of(words: list[str]) -> str | None:
    """The words, what is piped in, or both; None where a person sits at the keyboard."""
    said = " ".join(words)
    piped = sys.stdin.read() if _is_piped(alone=not words) else ""
    if not words and sys.stdin.isatty():
        return None
    message = "\n\n".join(part for part in (said, piped.strip("\n")) if part.strip())
    if not message:
        raise Invalid("There is nothing to say: the message is empty.", code="message_empty")
    return message


def _is_piped(*, alone: bool) -> bool:
    """Beside a message only a pipe or a file is read: anything else may never end."""
    if sys.stdin is None or sys.stdin.isatty():
        return False
    mode = os.fstat(sys.stdin.fileno()).st_mode
    return alone or stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


class Talk:
    """One conversation with a server."""

    def __init__(
        self, stage: Backstage, service: Service, screen: Screen, asked: argparse.Namespace, workspace: str | None
    ) -> None:
        self._stage, self._client, self._screen = stage, service.client, screen
        self.conversation: str | None = asked.conversation
        self._workspace = workspace
        self._reasoning: Reasoning | None = asked.reasoning
        self._loop: Literal["roles", "native"] = asked.loop or best_loop(service.about.get("model"))
        self._way = way_of(service)
        self._keyboard = at_hand()
        self.hinted = self._keyboard is None

    def say(self, message: str) -> int:
        """Ask and tell, and go on with what was said for later; 0, 1 where the run failed, 130 where it was stopped
        from here."""
        options: dict[str, Any] = {"conversation": self.conversation, "workspace": self._workspace}
        source = self._client.ask(message, loop=self._loop, reasoning=self._reasoning, **options)
        while True:
            status, next_run = self._follow(source)
            if status or next_run is None:
                return status
            source = self._client.watch(next_run)

    def _follow(self, source: AsyncGenerator[Told, None]) -> tuple[int, str | None]:
        """The status of one run, and the run that goes on where it ended."""
        telling, stopping = Telling(self._screen), Stopping(self._stage, self._client)
        asking = self._asking(telling)
        with self._stage.told(source, self._keyboard) as items:
            for item in items:
                match item:
                    case Told():
                        self._tell(item, telling, asking)
                    case Typed():
                        asking.typed(item)
                    case Came():
                        item.tell()
                    case Turn.INTERRUPTED:
                        stopping.wish(telling)
                    case Turn.LEFT:
                        self._leave(telling, asking)
                        return 1, None
                    case Exception():
                        telling.pause()
                        raise item
                stopping.go_on(telling.task)
        status = 1 if telling.failed else INTERRUPTED if stopping.wished else 0
        return status, asking.next_run

    def _tell(self, told: Told, telling: Telling, asking: Asked) -> None:
        telling.show(told)
        self.conversation = telling.reply.conversation or self.conversation
        if told.event == "tool_call_started" and not self.hinted:
            self.hinted = True
            telling.aside(HINT)
        asking.heard(told)

    def _asking(self, telling: Telling) -> Asked:
        if self._keyboard is None:
            return Elsewhere(self._way)
        return Asking(self._stage, self._client, self._screen, telling, Here(self._keyboard, self._way))

    def _leave(self, telling: Telling, asking: Asked) -> None:
        """The run goes on, or waits, without us."""
        telling.pause()
        if (waits := asking.unanswered()) is not None:
            raise waits
        self._screen.note(f"(the run goes on; quarterdeck runs watch {telling.task}{self._way.options})")


class Stopping:
    """A run that somebody here wants to end: as soon as it is known, once."""

    def __init__(self, stage: Backstage, client: Client) -> None:
        self._stage, self._client = stage, client
        self.wished = self._sent = False

    def wish(self, telling: Telling) -> None:
        if self.wished:
            telling.pause()
            raise KeyboardInterrupt
        self.wished = True
        telling.aside("(stopping; Ctrl-C once more leaves without waiting)")

    def go_on(self, task: str | None) -> None:
        if self.wished and not self._sent and task is not None:
            self._sent = True
            self._stage.begin(self._client.stop(task, "stopped in the terminal"))


def way_of(service: Service) -> Way:
    """What another command needs to reach what this one began."""
    if service.inside:
        return Way(start=True)
    return Way("" if service.client.url == DEFAULT_URL else f" --url {service.client.url}")


def best_loop(model: str | None) -> Literal["roles", "native"]:
    """The embedded model is too small to call tools itself."""
    return "roles" if model is not None and model.startswith("local/") else "native"


def converse(talk: Talk, screen: Screen) -> int:
    """Ask, answer, ask again, until Ctrl-C or Ctrl-D at the prompt."""
    with contextlib.suppress(ImportError):
        importlib.import_module("readline")  # gives `input` its keys, where the system has it
    screen.note("(Ctrl-C stops an answer; Ctrl-C or Ctrl-D here leaves)")
    if not talk.hinted:
        talk.hinted = True
        screen.note(HINT)
    while True:
        try:
            message = input(PROMPT)
        except (EOFError, KeyboardInterrupt):
            print()
            break
        if not message.strip():
            continue
        try:
            talk.say(message)
        except Problem as problem:
            screen.complain(problem.detail)
    if talk.conversation is not None:
        screen.note(f"(to go on: quarterdeck chat --conversation {talk.conversation})")
    return 0
