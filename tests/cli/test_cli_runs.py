"""`quarterdeck runs`: list, watch, stop."""

from __future__ import annotations

import json
import socket

import pytest
from decks import Deck


@pytest.fixture(scope="module")
def run_id(served: Deck) -> str:
    """A run that has ended, in a conversation of its own."""
    served.on("chat", "--conversation", "ended", "please think")
    listed = json.loads(served.on("runs", "list", "--conversation", "ended", "--json").stdout)
    return str(listed[0]["task_id"])


def test_the_list_is_a_table_with_whole_ids_and_the_first_words(served: Deck, run_id: str) -> None:
    done = served.on("runs", "list", "--conversation", "ended")
    titles, line = done.stdout.splitlines()
    assert titles.split() == ["ID", "STATUS", "AGE", "CONVERSATION", "SAID"]
    assert line.split()[:2] == [run_id, "completed"]
    assert line.split()[-3:] == ["ended", "please", "think"]
    assert titles.index("SAID") == line.index("please think")


def test_watching_an_ended_run_tells_it_again_from_the_start_or_from_behind_a_place(served: Deck, run_id: str) -> None:
    whole = [json.loads(line) for line in served.on("runs", "watch", run_id, "--json").stdout.splitlines()]
    assert [told["seq"] for told in whole] == list(range(1, len(whole) + 1))
    assert whole[-1]["event"] == "done"
    rest = served.on("runs", "watch", run_id, "--after", "5", "--json").stdout.splitlines()
    assert [json.loads(line) for line in rest] == whole[5:]
    assert served.on("runs", "watch", run_id).stdout == "An answer.\n"


def test_a_run_that_is_watched_at_a_terminal_goes_on_when_its_watcher_leaves_and_can_be_stopped(served: Deck) -> None:
    with served.terminal("chat", "--url", served.url, "--conversation", "live", "hang") as asker:
        asker.until("Begun here")
        task = json.loads(served.on("runs", "list", "--conversation", "live", "--json").stdout)[0]["task_id"]
        with served.terminal("runs", "watch", "--url", served.url, task) as watcher:
            watcher.until("Begun here")
            watcher.press("\x03")
            watcher.until(f"quarterdeck runs stop {task}")
            assert watcher.status() == 130
        assert "running" in served.on("runs", "list", "--conversation", "live").stdout
        assert served.on("runs", "stop", task, "--reason", "enough").returncode == 0
        asker.until("stopped · 2 tokens")
        assert asker.status() == 0
    again = served.on("runs", "stop", task)
    assert (again.returncode, len(again.stderr.splitlines())) == (1, 1)


@pytest.mark.parametrize("words", [("watch", "no-such-run"), ("stop", "no-such-run"), ("watch", "x", "--after", "y")])
def test_what_there_is_not_is_one_sentence(served: Deck, words: tuple[str, ...]) -> None:
    done = served.on("runs", *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)


def test_without_a_server_the_way_to_one_is_told(deck: Deck) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    done = deck.run("runs", "list", "--url", url)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "quarterdeck serve" in done.stderr
