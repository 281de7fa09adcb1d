"""A team in the terminal: its plan drawn as it changes, and a person who steps in from the keyboard."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator

import pytest
from decks import Deck

PLAN = {
    "phases": [
        {"id": "facts", "name": "gather facts", "expert": "researcher", "task": "facts", "depends_on": []},
        {"id": "draft", "name": "draft", "expert": "builder", "task": "draft", "depends_on": ["facts"]},
    ]
}
TURNS = (
    {"when": "Hang", "content": ["half a ", "thought"], "hang": 2},
    {"when": "Divide the task", "json": PLAN},
    {"when": "the work is over", "content": ["the whole ", "answer"]},
    {"content": ["one ", "two ", "three"], "pace": 0.05},
)


@pytest.fixture(scope="module")
def teams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deck]:
    deck = Deck(tmp_path_factory.mktemp("teams"))
    deck.script(*TURNS)
    deck.serve()
    yield deck
    deck.close()


def test_into_a_pipe_goes_the_answer_alone_and_what_happens_beside_it(teams: Deck) -> None:
    done = teams.on("team", "run", "Which", "one?")
    assert (done.stdout, done.returncode) == ("the whole answer\n", 0)
    assert "plan 1: the lead's plan" in done.stderr
    assert "facts: completed" in done.stderr


def test_the_plan_is_drawn_as_it_changes_and_words_are_heeded(teams: Deck) -> None:
    with teams.terminal("team", "run", "Which one?", "--url", teams.url, "--approve") as terminal:
        terminal.until("○ facts: gather facts [researcher]")
        terminal.press("/debate up or down?\n")
        terminal.until("applied: researcher, builder, critic debate; facts wait for the verdict.")
        terminal.press("/approve\n")
        terminal.until("● debate1")
        terminal.until("verdict (")
        terminal.until("✓ debate1")
        terminal.until("✓ draft")
        terminal.until("the whole answer")
        assert terminal.status() == 0


def spoken(url: str, words: str) -> bool:
    """Whether a run of the server has said this by now."""
    with urllib.request.urlopen(f"{url}/v1/tasks?limit=5") as answer:
        tasks = [line["task_id"] for line in json.load(answer)]
    for task in tasks:
        with urllib.request.urlopen(f"{url}/v1/tasks/{task}/events?limit=500") as answer:
            said = [line["payload"].get("delta", "") for line in json.load(answer)]
        if words in "".join(said):
            return True
    return False


def test_ctrl_c_stops_the_team_and_keeps_what_is_there(teams: Deck) -> None:
    words = ("--expert", "lead: decides", "--url", teams.url)
    with teams.terminal("team", "run", "Hang on", *words) as terminal:
        terminal.until("● p1: lead [lead]")
        bound = time.monotonic() + 20
        while not spoken(teams.url, "half a thought"):
            assert time.monotonic() < bound, "the expert never spoke"
        terminal.press("\x03")
        terminal.until("stopping; Ctrl-C again leaves")
        terminal.until("■ p1")
        terminal.press("/stop\n")
        terminal.until("half a thought")
        assert terminal.status() == 130


def test_a_run_is_listed_and_watched_again_from_its_beginning(teams: Deck) -> None:
    teams.on("team", "run", "Which one?")
    listed = json.loads(teams.on("team", "list", "--json").stdout)
    team = next(one for one in listed if any(run["status"] == "completed" for run in one["runs"]))
    run = next(run for run in team["runs"] if run["status"] == "completed")
    assert run["id"] in teams.on("team", "list").stdout
    again = teams.on("team", "watch", team["id"], run["id"])
    assert (again.stdout, again.returncode) == ("the whole answer\n", 0)


@pytest.mark.parametrize(
    "words",
    [
        ("team", "watch", "nobody", "nothing"),
        ("team", "run", "x", "--team", "nobody"),
        ("team", "run", "x", "--expert", ": nameless"),
        ("team", "run", "x", "--budget", "-1"),
    ],
)
def test_what_cannot_be_is_one_sentence(teams: Deck, words: tuple[str, ...]) -> None:
    done = teams.on(*words)
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr.startswith("quarterdeck: ")
