"""Being asked in the terminal, answering from another one, and stepping in while an answer streams."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from decks import Deck, Terminal

LAUNCH = Path(__file__).parents[1] / "server" / "door_launch.py"
PASSWORD = "planted-Öl-55f1"
SUDO = f"""#!/bin/sh
while [ "$1" != -- ]; do [ "$1" = -p ] && prompt=$2; shift; done; shift
printf '%s' "$prompt" >&2
IFS= read -r answer
[ "$answer" = '{PASSWORD}' ] || {{ printf '%s' "$prompt" >&2; echo 'sudo: 1 incorrect password attempt' >&2; exit 1; }}
"$@"
"""


def calls(when: str, *wanted: tuple[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    made = [{"id": f"c{n}", "name": name, "arguments": arguments} for n, (name, arguments) in enumerate(wanted, 1)]
    return [{"when": when, "calls": made}]


def write(path: str, content: str) -> tuple[str, dict[str, str]]:
    return "file_write", {"path": path, "content": content}


def shell(command: str) -> tuple[str, dict[str, str]]:
    return "shell_exec_safe", {"command": command}


TURNS = [
    {"told": "", "content": "That was it."},
    *calls("inline", write("inline.txt", "one\n")),
    *calls("refuse", write("refused.txt", "one\n")),
    *calls("hidden", shell("echo \u202etxt.exe\u202c; echo a")),
    *calls("piped", write("piped.txt", "one\n")),
    *calls("elsewhere", write("elsewhere.txt", "one\n")),
    *calls("edited", write("edited.txt", "the model's\n")),
    *calls("colour", ("ask_user", {"question": "Which colour?"})),
    *calls("root", shell("sudo id -u")),
    *calls("shell", shell("echo counted; echo 2 >&2")),
    {"when": "slowly", "content": [f"w{n} " for n in range(400)], "pace": 0.02},
    {"when": "be brief", "content": "Brief."},
    {"when": "and then", "content": "Then."},
    {"content": "Hello."},
]


@pytest.fixture(scope="module")
def deck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deck]:
    deck = Deck(tmp_path_factory.mktemp("deck"))
    deck.script(*TURNS)
    sudo = deck.folder / "stand-in"
    sudo.write_text(SUDO)
    sudo.chmod(0o755)
    constants = json.dumps({"adapters.tools.shell_exec_safe.SUDO": str(sudo)})
    deck.serve(launch=(sys.executable, str(LAUNCH), constants))
    deck.env["QUARTERDECK_URL"] = deck.url
    yield deck
    deck.close()


def chatting(deck: Deck, message: str) -> Any:
    return deck.terminal("chat", "--workspace", str(deck.folder), message, NO_COLOR="1")


def asked_in(terminal: Terminal, kind: str = "or [d]eny") -> str:
    """What a card shows, once it may be answered."""
    return terminal.until(kind)


def pending(deck: Deck) -> list[dict[str, Any]]:
    return list(json.loads(deck.run("approvals", "list", "--json").stdout))


def waiting(deck: Deck, message: str) -> str:
    """The approval that a run waits for that was begun in a pipe."""
    done = deck.run("chat", "--workspace", str(deck.folder), message)
    assert (done.returncode, done.stdout) == (1, "")
    [line] = [each for each in pending(deck) if each["approval_id"] in done.stderr]
    return str(line["approval_id"])


def test_a_call_is_shown_whole_and_allowed_with_one_key(deck: Deck) -> None:
    with chatting(deck, "inline") as terminal:
        card = asked_in(terminal)
        assert "file_write wants to do this · risk: medium" in card
        assert "│ +one" in card
        assert not (deck.folder / "inline.txt").exists()
        terminal.press("o\n")
        terminal.until("That was it.")
        assert terminal.status() == 0
    assert (deck.folder / "inline.txt").read_text() == "one\n"


def test_a_refusal_may_say_why(deck: Deck) -> None:
    with chatting(deck, "refuse") as terminal:
        asked_in(terminal)
        terminal.press("what?\n")
        terminal.until("allow it:")
        terminal.press("d not in this folder\n")
        terminal.until("That was it.")
        assert terminal.status() == 0
    assert not (deck.folder / "refused.txt").exists()
    [line] = [each for each in _all(deck) if each["args"].get("path") == "refused.txt"]
    assert (line["status"], line["words"]) == ("denied", "not in this folder")


def test_what_cannot_be_seen_is_written_out_and_wants_a_whole_word(deck: Deck) -> None:
    with chatting(deck, "hidden") as terminal:
        card = asked_in(terminal)
        assert "\\u{202e}txt.exe" in card
        assert "look twice" in card
        assert "\u202e" not in terminal.shown
        terminal.press("o\n")
        terminal.until("type `allow` in full")
        terminal.press("allow\n")
        terminal.until("That was it.")


def test_in_a_pipe_it_says_how_to_answer_and_another_command_does(deck: Deck) -> None:
    ident = waiting(deck, "piped")
    shown = deck.run("approvals", "show", ident)
    assert "file_write wants to do this" in shown.stdout
    assert json.loads(deck.run("approvals", "show", ident, "--json").stdout)["status"] == "pending"
    allowed = deck.run("approvals", "allow", ident)
    assert (allowed.returncode, allowed.stdout.startswith("Allowed once: file_write piped.txt")) == (0, True)
    task = json.loads(deck.run("approvals", "show", ident, "--json").stdout)["task_id"]
    assert "That was it." in deck.run("runs", "watch", task).stdout
    again = deck.run("approvals", "deny", ident)
    assert (again.returncode, "answered already" in again.stderr) == (1, True)
    assert (deck.folder / "piped.txt").exists()


def test_an_answer_from_elsewhere_is_seen_where_it_was_asked(deck: Deck) -> None:
    with chatting(deck, "elsewhere") as terminal:
        asked_in(terminal)
        [line] = [each for each in pending(deck) if each["args"].get("path") == "elsewhere.txt"]
        deck.run("approvals", "allow", line["approval_id"])
        terminal.until("no longer asked: allowed by person:owner")
        terminal.until("That was it.")
        assert terminal.status() == 0


def test_arguments_are_edited_from_the_command_line(deck: Deck) -> None:
    ident = waiting(deck, "edited")
    wrong = deck.run("approvals", "allow", ident, "--arguments", "[1]")
    assert wrong.returncode == 2
    mine = json.dumps({"path": "edited.txt", "content": "a person's\n"})
    done = deck.run("approvals", "allow", ident, "--arguments", mine, "--json")
    assert json.loads(done.stdout)["status"] in {"approved", "consumed"}
    deck.run("runs", "watch", json.loads(done.stdout)["task_id"])
    assert (deck.folder / "edited.txt").read_text() == "a person's\n"


def test_a_question_is_answered_with_the_next_line(deck: Deck) -> None:
    with chatting(deck, "colour") as terminal:
        asked_in(terminal, "the next line that you type is the answer")
        terminal.press("blue\n")
        terminal.until("That was it.")
        assert terminal.status() == 0


def test_a_password_is_asked_for_unseen_and_shown_nowhere(deck: Deck) -> None:
    with chatting(deck, "root") as terminal:
        card = asked_in(terminal)
        assert "sudo /usr/bin/id -u" in card
        assert "[r]un" not in card
        terminal.press("o\n")
        terminal.until("it is not shown, and kept nowhere")
        terminal.press(PASSWORD + "\n")
        terminal.until("That was it.")
        assert terminal.status() == 0
    assert PASSWORD not in terminal.shown
    [line] = json.loads(deck.run("audit", "list", "--limit", "1", "--json").stdout)
    assert (line["payload"]["command"], line["payload"]["ok"]) == ("sudo id -u", True)
    assert not any(PASSWORD.encode() in path.read_bytes() for path in deck.data.rglob("*") if path.is_file())


def test_output_of_a_command_is_shown_and_what_ran_is_in_the_audit(deck: Deck) -> None:
    with chatting(deck, "shell") as terminal:
        asked_in(terminal)
        terminal.press("o\n")
        terminal.until("counted")
        terminal.until("That was it.")
    assert deck.run("audit", "verify").returncode == 0
    exported = deck.run("audit", "export").stdout.splitlines()
    assert any("echo counted" in line for line in exported)


def test_a_rule_is_written_listed_and_revoked(deck: Deck) -> None:
    made = deck.run("approvals", "rule", "shell_exec_safe", "apt", "list", "--upgradable")
    assert "shell_exec_safe: apt list --upgradable" in made.stdout
    [rule] = json.loads(deck.run("approvals", "rules", "--json").stdout)
    assert rule["id"] in made.stdout
    assert deck.run("approvals", "rule", "shell_exec_safe", "sudo", "ls").returncode == 1
    assert deck.run("approvals", "revoke", rule["id"]).returncode == 0
    assert deck.run("approvals", "rules").stdout == "Nothing is allowed for always.\n"


def test_what_is_typed_while_it_answers_breaks_in_or_waits_for_the_end(deck: Deck) -> None:
    with chatting(deck, "slowly") as terminal:
        terminal.until("w3 ")
        terminal.press("+ and then\n")
        terminal.until("it is said after this answer")
        terminal.press("! be brief\n")
        terminal.until("heeded from step 2")
        terminal.until("Brief.")
        terminal.until("what you said for later comes now")
        terminal.until("Then.")
        assert terminal.status() == 0


def _all(deck: Deck) -> list[dict[str, Any]]:
    return list(json.loads(deck.run("approvals", "list", "--all", "--json").stdout))
