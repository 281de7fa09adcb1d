"""The command `quarterdeck`: a table of commands, each in a module that is only loaded when it is asked for."""

from __future__ import annotations

import argparse
import difflib
import gc
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from quarterdeck import __version__
from quarterdeck.kernel.errors import Problem

COMMANDS = {
    "serve": ("quarterdeck.cli.serve", "start the server"),
    "chat": ("quarterdeck.cli.chat", "talk to a model in the terminal"),
    "team": ("quarterdeck.cli.team", "let a team of experts work on a task, watch its plan, step in"),
    "runs": ("quarterdeck.cli.runs", "list, watch, steer and stop runs"),
    "approvals": ("quarterdeck.cli.approvals", "see what runs ask, and answer; what is allowed for always"),
    "skills": ("quarterdeck.cli.skills", "list and show skills"),
    "audit": ("quarterdeck.cli.audit", "list, export and verify the commands that were run"),
    "memory": ("quarterdeck.cli.memory", "what is remembered: read, correct, forget"),
    "experience": ("quarterdeck.cli.experience", "lessons that runs taught: accept, reject"),
    "tokens": ("quarterdeck.cli.tokens", "who may speak to the server: issue, list, revoke"),
    "tenants": ("quarterdeck.cli.tenants", "who shares the server: create, list, give a model, erase"),
    "vault": ("quarterdeck.cli.vault", "change the master key of tenants' provider keys"),
    "users": ("quarterdeck.cli.users", "the people of a tenant, each with a role"),
    "models": ("quarterdeck.cli.models", "who answers, and why; install the embedded model"),
    "doctor": ("quarterdeck.cli.doctor", "look whether everything is in order, and say what to do"),
    "backup": ("quarterdeck.cli.backup", "copy the database, also while a server runs"),
    "restore": ("quarterdeck.cli.restore", "put a backup in the place of the database"),
    "export": ("quarterdeck.cli.export", "take everything of a tenant along, as a zip"),
    "log": ("quarterdeck.cli.log", "check that the log is what was written"),
}
INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, under the one name that people know."""

    def error(self, message: str) -> NoReturn:
        sentence = message[:1].upper() + message[1:]
        if not sentence.endswith(("?", ".")):
            sentence += "."
        print(f"quarterdeck: {sentence} `{self.prog} --help` explains.", file=sys.stderr)
        sys.exit(2)


def main(arguments: Sequence[str] | None = None) -> None:
    words = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(guarded(lambda: run(words)))


def run(words: Sequence[str]) -> int:
    if not words or words[0] not in COMMANDS:
        return _without_command(words)
    place, help_line = COMMANDS[words[0]]
    command = _loaded(place)
    parser = Parser(
        prog=f"quarterdeck {words[0]}",
        description=command.DESCRIPTION,
        epilog=command.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(help_line=help_line)
    command.add(parser)
    asked = parser.parse_args(words[1:])
    status: int = asked.act(asked)
    return status


def _loaded(place: str) -> Any:
    """What is loaded stays: to look for garbage in it meanwhile would take an eighth of the start, and find none."""
    gc.disable()
    try:
        return importlib.import_module(place)
    finally:
        gc.enable()


def _without_command(words: Sequence[str]) -> int:
    listed = "\n".join(f"  {name:<12}{help_line}" for name, (_, help_line) in COMMANDS.items())
    parser = Parser(
        prog="quarterdeck",
        usage="quarterdeck COMMAND …",
        description="An agent workplace you can watch, steer and trust.",
        epilog=f"commands:\n{listed}\n\nquarterdeck COMMAND --help tells more of each. To begin: quarterdeck serve",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"quarterdeck {__version__}")
    if words and not words[0].startswith("-"):
        near = difflib.get_close_matches(words[0], COMMANDS, 1)
        parser.error(f"there is no command {words[0]!r}{f'; did you mean {near[0]}?' if near else ''}")
    parser.parse_args(words)
    parser.print_help()
    return 2


def guarded(act: Callable[[], int]) -> int:
    """The exit status of `act`; whatever goes wrong is one sentence on stderr."""
    try:
        status = act()
        sys.stdout.flush()
    except Problem as problem:
        return _told(problem.detail)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has gone; a second complaint at exit would help nobody
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f" {error.filename}:" if error.filename else ""
        return _told(f"{where} {error.strerror or error}.".strip())
    except Exception as error:  # noqa: BLE001 - a person at a terminal is told the place, not the whole stack
        return _told(f"This is a mistake in Quarterdeck: {type(error).__name__}: {error} ({_place(error)}).")
    return status


def _told(sentence: str) -> int:
    print(f"quarterdeck: {sentence}", file=sys.stderr)
    return 1


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "somewhere" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
