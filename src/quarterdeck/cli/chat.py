"""`quarterdeck chat`: one question, or a conversation, in the terminal."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import stat
import sys
from typing import Literal

from quarterdeck.cli.backstage import Backstage, Turn
from quarterdeck.cli.options import add_data_dir, add_url, settings_of
from quarterdeck.cli.screen import Screen
from quarterdeck.cli.service import Service, connected_or_started
from quarterdeck.cli.telling import Telling
from quarterdeck.client import Told
from quarterdeck.kernel.errors import Invalid, Problem
from quarterdeck.kernel.parts import Reasoning

INTERRUPTED = 130
PROMPT = "› "
DESCRIPTION = """Talk to a model in the terminal: with a message, one answer; without, a conversation.

Ctrl-C while it answers stops the run and keeps what there is; at the prompt, or pressed twice, it leaves. What is
piped in is the message, or stands below the one given. Into a pipe or a file goes the answer alone, once it is whole.
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
    screen = Screen(settings_of(asked))
    with Backstage() as stage, connected_or_started(stage, asked, screen) as service:
        talk = Talk(stage, service, screen, asked)
        return talk.say(message) if message is not None else converse(talk, screen)


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

    def __init__(self, stage: Backstage, service: Service, screen: Screen, asked: argparse.Namespace) -> None:
        self._stage, self._client, self._screen = stage, service.client, screen
        self.conversation: str | None = asked.conversation
        self._reasoning: Reasoning | None = asked.reasoning
        self._loop: Literal["roles", "native"] = asked.loop or best_loop(service.about.get("model"))

    def say(self, message: str) -> int:
        """Ask and tell; 0, 1 where the run failed, 130 where it was stopped from here."""
        telling, stopping, sent = Telling(self._screen), False, False
        source = self._client.ask(message, conversation=self.conversation, loop=self._loop, reasoning=self._reasoning)
        with self._stage.told(source) as items:
            for item in items:
                if isinstance(item, Told):
                    telling.show(item)
                    self.conversation = telling.reply.conversation or self.conversation
                elif item is Turn.INTERRUPTED:
                    if stopping:
                        telling.pause()
                        raise KeyboardInterrupt
                    stopping = True
                    telling.aside("(stopping; Ctrl-C once more leaves without waiting)")
                elif item is Turn.OVER:
                    break
                else:
                    telling.pause()
                    raise item
                if stopping and not sent and telling.task is not None:
                    sent = True
                    self._stage.begin(self._client.stop(telling.task, "stopped in the terminal"))
        return 1 if telling.failed else INTERRUPTED if stopping else 0


def best_loop(model: str | None) -> Literal["roles", "native"]:
    """The embedded model is too small to call tools itself."""
    return "roles" if model is not None and model.startswith("local/") else "native"


def converse(talk: Talk, screen: Screen) -> int:
    """Ask, answer, ask again, until Ctrl-C or Ctrl-D at the prompt."""
    with contextlib.suppress(ImportError):
        importlib.import_module("readline")  # gives `input` its keys, where the system has it
    screen.note("(Ctrl-C stops an answer; Ctrl-C or Ctrl-D here leaves)")
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
