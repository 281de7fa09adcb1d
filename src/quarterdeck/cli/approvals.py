"""`quarterdeck approvals`: what runs ask, and the answers; what is allowed for always."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quarterdeck.cli.backstage import Backstage
from quarterdeck.cli.keyboard import hidden
from quarterdeck.cli.options import add_url, count, settings_of
from quarterdeck.cli.question import card, question
from quarterdeck.cli.runs import age
from quarterdeck.cli.screen import Screen, fitted, padded
from quarterdeck.cli.service import connected
from quarterdeck.client import Client
from quarterdeck.engine.policy.shown import visible
from quarterdeck.kernel.errors import Invalid

ID_WIDTH = 36
LEAST_WORDS = 20
PROMPT = "password (it is not shown, and kept nowhere): "
DESCRIPTION = """See what runs ask of people, and answer: allow, refuse, say what became of it, give a password.

An answer counts once: of several the first one. What is allowed is exactly what was shown."""
EXAMPLES = """examples:
  quarterdeck approvals list
  quarterdeck approvals allow 0190a0b2-…
  quarterdeck approvals deny 0190a0b2-… --words "Not in this folder."
  quarterdeck approvals rules"""


def add(parser: argparse.ArgumentParser) -> None:
    verbs = "list | show | allow | deny | outcome | password | rules | rule | revoke"
    parts = parser.add_subparsers(title="what to do", metavar=verbs, required=True)
    _add_lists(parts)
    _add_answers(parts)
    _add_rules(parts)


def _add_lists(parts: Any) -> None:
    lists = _part(parts, "list", "what waits for an answer, the oldest first", list_approvals, "list --all --limit 5")
    lists.add_argument("--all", action="store_true", help="the answered ones as well, the latest first")
    lists.add_argument("--run", metavar="RUN", help="only those of one run")
    lists.add_argument("--limit", type=count, default=50, metavar="N", help="how many (by default %(default)s)")
    _of(_part(parts, "show", "all that is asked, and what became of it", show_approval, "show 0190a0b2-…"))


def _add_answers(parts: Any) -> None:
    allow = _of(_part(parts, "allow", "let it be done, once", allow_approval, "allow 0190a0b2-… --run"))
    reach = allow.add_mutually_exclusive_group()
    for name, words in (("run", "as often as this run needs it"), ("always", "in every run, until it is revoked")):
        reach.add_argument(f"--{name}", dest="reach", action="store_const", const=name, help=words)
    allow.set_defaults(reach="once")
    allow.add_argument("--arguments", type=_object, metavar="JSON", help="your own, in the place of the model's")
    allow.add_argument("--words", default="", help="for the model; to a question, the answer")
    deny = _of(_part(parts, "deny", "refuse it", deny_approval, "deny 0190a0b2-… --words 'Ask me tomorrow.'"))
    deny.add_argument("--words", default="", help="why not; the model reads it")
    outcome = _part(
        parts, "outcome", "what became of a call that a crash cut off", tell_outcome, "outcome 0190a… again"
    )
    _of(outcome).add_argument("outcome", choices=["happened", "again", "give_up"], help="or do it again, or let it be")
    outcome.add_argument("--words", default="", help="more about it; the model reads it")
    _of(_part(parts, "password", "give the one-time password, unseen or from a pipe", give_password, "password 0190a…"))


def _add_rules(parts: Any) -> None:
    rules = _part(parts, "rules", "what is allowed for always", list_rules, "rules --json")
    rules.add_argument("--limit", type=count, default=100, metavar="N", help="how many (by default %(default)s)")
    rule = _part(parts, "rule", "allow exactly this for always", write_rule, "rule shell_exec_safe uname -a")
    rule.add_argument("words", nargs=argparse.REMAINDER, metavar="WORDS", help="a tool, and the exact words it allows")
    revoke = _part(parts, "revoke", "ask about it again", revoke_rule, "revoke 0190a0b2-…")
    revoke.add_argument("rule", metavar="RULE", help="its id")


def _part(
    parts: Any, name: str, said: str, act: Callable[[argparse.Namespace], int], example: str
) -> argparse.ArgumentParser:
    described = f"{said[:1].upper()}{said[1:]}."
    part: argparse.ArgumentParser = parts.add_parser(
        name, help=said, description=described, epilog=f"example: quarterdeck approvals {example}"
    )
    part.add_argument("--json", action="store_true", help="as JSON, with everything the server says")
    part.set_defaults(act=act)
    add_url(part)
    return part


def _of(part: argparse.ArgumentParser) -> argparse.ArgumentParser:
    part.add_argument("approval", metavar="ID", help="its id")
    return part


def list_approvals(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        wanted = {"pending": not asked.all, "task": asked.run, "limit": asked.limit}
        found = stage.run(service.client.approvals(**wanted))
    if asked.json:
        _print(found)
    elif not found:
        print("There are no approvals yet." if asked.all and asked.run is None else "Nothing waits for an answer.")
    else:
        rows = [(one["approval_id"], one["status"], one["risk_level"], _age(one), _in_short(one)) for one in found]
        _table(("ID", "STATUS", "RISK", "AGE"), (ID_WIDTH, 9, 6, 7), "ASKS", rows)
    return 0


def show_approval(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        one = stage.run(service.client.approval(asked.approval))
    if asked.json:
        _print(one)
        return 0
    Screen(settings_of(asked)).plain(card(question(one), choose=False))
    status = "waiting for a password" if one["waiting_for_password"] else one["status"]
    print(f"run     {one['task_id']}\nstatus  {status}")
    if one["decided_by"]:
        words = f": {visible(one['words'])}" if one["words"] else ""
        print(f"by      {one['decided_by']}, {age(time.time() - one['decided_at'])} ago{words}")
    return 0


def allow_approval(asked: argparse.Namespace) -> int:
    def allow(client: Client) -> Any:
        return client.allow(asked.approval, asked.reach, asked.arguments, asked.words)

    how = {"run": "for this run", "always": "for always"}.get(asked.reach, "once")
    return _answer(asked, allow, f"Allowed {how}" if asked.arguments is None else "Allowed with your arguments")


def deny_approval(asked: argparse.Namespace) -> int:
    return _answer(asked, lambda client: client.deny(asked.approval, asked.words), "Refused")


def tell_outcome(asked: argparse.Namespace) -> int:
    told = {"happened": "It happened", "again": "To be done again", "give_up": "Given up"}[asked.outcome]
    return _answer(asked, lambda client: client.outcome(asked.approval, asked.outcome, asked.words), told)


def _answer(asked: argparse.Namespace, answer: Callable[[Client], Any], said: str) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        one = stage.run(answer(service.client))
    if asked.json:
        _print(one)
    else:
        print(f"{said}: {_in_short(one)}")
    return 0


def give_password(asked: argparse.Namespace) -> int:
    """The command is shown before its password is asked for; what is piped in is one line."""
    with Backstage() as stage, connected(stage, asked) as service:
        one = stage.run(service.client.approval(asked.approval))
        if not one["waiting_for_password"]:
            raise Invalid(f"Approval {asked.approval} does not wait for a password.", code="password_not_wanted")
        piped = not sys.stdin.isatty()
        if not piped:
            Screen(settings_of(asked)).plain(card(question(one)))
        password = sys.stdin.readline().rstrip("\r\n") if piped else hidden(PROMPT)
        if not password:
            raise Invalid("There is no password to give: the line is empty.", code="password_empty")
        stage.run(service.client.give_password(one["task_id"], asked.approval, password))
    if asked.json:
        _print({"approval_id": asked.approval, "task_id": one["task_id"], "taken": True})
    else:
        print(f"The password was handed over; quarterdeck runs watch {one['task_id']} shows how it goes on.")
    return 0


def list_rules(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        rules = stage.run(service.client.rules(limit=asked.limit))
    if asked.json:
        _print(rules)
    elif not rules:
        print("Nothing is allowed for always.")
    else:
        rows = [(rule["id"], age(time.time() - rule["made_at"]), _till(rule), _in_short(rule)) for rule in rules]
        _table(("ID", "AGE", "EXPIRES"), (ID_WIDTH, 7, 10), "ALLOWS", rows)
    return 0


def write_rule(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        made = stage.run(service.client.allow_always(" ".join(asked.words)))
    if asked.json:
        _print(made)
    else:
        print(f"Allowed until {_till(made)}: {_in_short(made)}. quarterdeck approvals revoke {made['id']} ends it.")
    return 0


def revoke_rule(asked: argparse.Namespace) -> int:
    with Backstage() as stage, connected(stage, asked) as service:
        stage.run(service.client.revoke(asked.rule))
    if asked.json:
        _print({"id": asked.rule, "revoked": True})
    else:
        print(f"Rule {asked.rule} is revoked: what it allowed is asked about again.")
    return 0


def _table(titles: tuple[str, ...], widths: tuple[int, ...], last: str, rows: Sequence[tuple[str, ...]]) -> None:
    words = max(LEAST_WORDS, shutil.get_terminal_size((120, 24)).columns - sum(widths) - 2 * len(widths))
    print("  ".join(padded(title, width) for title, width in zip(titles, widths, strict=True)) + f"  {last}")
    for *cells, text in rows:
        line = "  ".join(padded(cell, width) for cell, width in zip(cells, widths, strict=True))
        print(f"{line}  {fitted(text, words)}".rstrip())


def _in_short(one: Mapping[str, Any]) -> str:
    """What it is about, on one line, with everything visible."""
    shown = visible(one["shown"].replace("\n", " "))
    return shown if shown.startswith(one["tool"]) else f"{visible(one['tool'])}: {shown}"


def _age(one: Mapping[str, Any]) -> str:
    return age(time.time() - one["requested_at"])


def _till(rule: Mapping[str, Any]) -> str:
    at = rule["expires_at"]
    return "never" if at is None else time.strftime("%Y-%m-%d", time.localtime(at))


def _print(value: object) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON object")
    return found
