"""`quarterdeck memory` and `quarterdeck experience`, for people and for scripts."""

from __future__ import annotations

import json

import pytest
from decks import Deck


def said(deck: Deck, *words: str) -> str:
    done = deck.on(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_memory_is_added_listed_found_corrected_taken_along_and_forgotten(served: Deck) -> None:
    memory = json.loads(said(served, "memory", "add", "The user's name is Vladimir", "--type", "fact", "--json"))
    ident = memory["id"]
    titles, line = said(served, "memory", "list").splitlines()
    assert titles.split() == ["ID", "TYPE", "SCOPE", "AGE", "TEXT"]
    assert line.split()[:3] == [ident, "fact", "global"]
    assert line.endswith("The user's name is Vladimir")
    assert ident in said(served, "memory", "search", "what is my name")
    assert json.loads(said(served, "memory", "search", "giraffe", "--json")) == []
    assert ident in said(served, "memory", "edit", ident, "--text", "叫李雷", "--importance", "0.9")
    [exported] = [json.loads(each) for each in said(served, "memory", "export").splitlines()]
    assert (exported["text"], exported["importance"], exported["memory_type"]) == ("叫李雷", 0.9, "fact")
    assert said(served, "memory", "forget", ident) == f"Memory {ident} is forgotten.\n"
    assert said(served, "memory", "list") == "Nothing is remembered.\n"


def test_a_workspace_is_the_folder_that_the_terminal_means(served: Deck) -> None:
    memory = json.loads(said(served, "memory", "add", "zebra here", "--workspace", ".", "--json"))
    assert (memory["scope"], memory["workspace"]) == ("workspace", str(served.folder.resolve()))
    assert "zebra here" in said(served, "memory", "list", "--workspace", str(served.folder))
    assert "zebra here" not in said(served, "memory", "list", "--workspace", "/")
    said(served, "memory", "forget", memory["id"])


def test_a_memory_cannot_command_the_terminal(served: Deck) -> None:
    memory = json.loads(said(served, "memory", "add", "\x1b]0;title\x07 zebra", "--json"))
    assert "\x1b" not in said(served, "memory", "list")
    said(served, "memory", "forget", memory["id"])


@pytest.mark.parametrize(
    "words",
    [
        ("memory", "forget", "nobody"),
        ("memory", "accept", "nobody"),
        ("memory", "edit", "nobody", "--text", "x"),
        ("memory", "add", " "),
        ("memory", "add", "x", "--scope", "workspace"),
        ("experience", "accept", "nobody"),
        ("experience", "reject", "nobody"),
        ("experience", "reflect", "nobody"),
    ],
    ids=" ".join,
)
def test_what_there_is_not_is_one_sentence(served: Deck, words: tuple[str, ...]) -> None:
    done = served.on(*words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)


def test_lessons_are_listed_also_where_there_are_none(served: Deck) -> None:
    assert said(served, "experience", "list") == "There are no lessons yet.\n"
    assert json.loads(said(served, "experience", "list", "--json")) == []
