"""`quarterdeck chat`: in a pipe, at a terminal, over a server's death, and where there is no server."""

from __future__ import annotations

import os
import signal
import socket

import pytest
from decks import Deck, stop

PROMPT = "› "


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_into_a_pipe_goes_the_answer_alone(served: Deck) -> None:
    done = served.on("chat", "please", "think")
    assert (done.returncode, done.stdout) == (0, "An answer.\n")
    assert done.stderr.startswith("4 tokens · ")
    assert "\x1b" not in done.stderr


def test_what_is_piped_in_is_the_message_or_stands_below_it(served: Deck) -> None:
    assert served.on("chat", said="please think\n").stdout == "An answer.\n"
    assert served.on("chat", "about this:", "--conversation", "piped", said="please think\n").stdout == "An answer.\n"
    runs = served.on("runs", "list", "--conversation", "piped", "--json").stdout
    assert "about this:\\n\\nplease think" in runs


def test_an_empty_message_is_refused_without_asking_anybody(deck: Deck) -> None:
    done = deck.run("chat", said="  \n")
    assert (done.returncode, done.stdout) == (1, "")
    assert "empty" in done.stderr


def test_text_that_was_taken_back_never_reaches_a_pipe(served: Deck) -> None:
    done = served.on("chat", "cut in a pipe")
    assert done.stdout == "A whole sentence.\n"
    assert "(the model was cut off; trying again)" in done.stderr


def test_text_that_was_taken_back_is_visibly_so_at_a_terminal(served: Deck) -> None:
    with served.terminal("chat", "--url", served.url, "cut at a terminal") as terminal:
        assert terminal.status() == 0
    assert (
        "half a sentence\n\x1b[2m(the model was cut off; trying again)\x1b[22m\nA whole sentence.\n" in terminal.shown
    )


def test_reasoning_is_dimmed_and_the_answer_is_plain(served: Deck) -> None:
    with served.terminal("chat", "--url", served.url, "think") as terminal:
        assert terminal.status() == 0
    assert terminal.shown.startswith("\x1b[2mLet me \x1b[22m\x1b[2msee.\x1b[22m\n\nAn answer.\n\x1b[2m4 tokens · ")


def test_no_color_is_heeded(served: Deck) -> None:
    with served.terminal("chat", "--url", served.url, "think", NO_COLOR="1") as terminal:
        assert terminal.status() == 0
    assert "\x1b" not in terminal.shown


def test_a_model_cannot_command_the_terminal(served: Deck) -> None:
    with served.terminal("chat", "--url", served.url, "hostile", NO_COLOR="1") as terminal:
        assert terminal.status() == 0
    assert "\x1b" not in terminal.shown
    assert "\u202e" not in terminal.shown
    assert "␛]0;title␇gnihton" in terminal.shown


def test_a_conversation_goes_on_until_somebody_leaves(served: Deck) -> None:
    with served.terminal("chat", "--url", served.url, "--conversation", "trip") as terminal:
        terminal.until(PROMPT)
        terminal.press("hi\n")
        terminal.until("Hello there, 猫.")
        terminal.until(PROMPT)
        terminal.press("fail\n")
        terminal.until("The model says no.")
        terminal.until(PROMPT)
        terminal.press("\x04")
        terminal.until("--conversation trip")
        assert terminal.status() == 0
    runs = served.on("runs", "list", "--conversation", "trip", "--json").stdout
    assert runs.count('"task_id"') == 2


def test_ctrl_c_stops_the_answer_and_keeps_it_and_ctrl_c_at_the_prompt_leaves(served: Deck) -> None:
    with served.terminal("chat", "--url", served.url, "--conversation", "stopped") as terminal:
        terminal.until(PROMPT)
        terminal.press("hang\n")
        terminal.until("Begun here")
        terminal.press("\x03")
        terminal.until("stopped · 2 tokens")
        terminal.until(PROMPT)
        terminal.press("hi\n")
        terminal.until("Hello there, 猫.")
        terminal.until(PROMPT)
        assert terminal.left() == 0
    runs = served.on("runs", "list", "--conversation", "stopped", "--json").stdout
    assert '"status": "stopped"' in runs
    assert '"answer": "Begun here"' in runs


def test_ctrl_c_in_a_single_question_stops_it_and_says_so_by_its_status(served: Deck) -> None:
    with served.terminal("chat", "--url", served.url, "--conversation", "once", "hang") as terminal:
        terminal.until("Begun here")
        terminal.press("\x03")
        assert terminal.status() == 130
    assert '"status": "stopped"' in served.on("runs", "list", "--conversation", "once", "--json").stdout


def test_a_second_ctrl_c_leaves_where_the_server_does_not_listen(deck: Deck) -> None:
    server = deck.serve()
    with deck.terminal("chat", "--url", deck.url, "hang") as terminal:
        terminal.until("Begun here")
        os.kill(server.pid, signal.SIGSTOP)
        try:
            terminal.press("\x03")
            terminal.until("stopping")
            terminal.press("\x03")
            assert terminal.status() == 130
        finally:
            os.kill(server.pid, signal.SIGCONT)


def test_an_answer_goes_on_where_a_killed_server_comes_back(deck: Deck) -> None:
    port = free_port()
    first = deck.serve(port=port)
    with deck.terminal("chat", "--url", deck.url, "slow") as terminal:
        terminal.until("w10 ")
        first.kill()
        first.wait(30)
        deck.script({"content": ["All ", "of it."]})
        deck.serve(port=port)
        terminal.until("All of it.")
        assert terminal.status() == 0
    assert terminal.shown.count("w10 ") == 1
    assert "(the model was cut off; trying again)" in terminal.shown


def test_a_failed_run_is_a_sentence_and_a_status(served: Deck) -> None:
    done = served.on("chat", "fail")
    assert (done.returncode, done.stdout) == (1, "")
    assert "quarterdeck: The model says no." in done.stderr


def test_where_no_server_answers_the_command_runs_one_of_its_own_and_leaves_the_data(deck: Deck) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    done = deck.run("chat", "--url", url, "--conversation", "mine", "hi")
    assert (done.returncode, done.stdout) == (0, "Hello there, 猫.\n")
    assert done.stderr.startswith(
        f"(no server answers at {url}; this command runs one of its own, at http://127.0.0.1:"
    )
    deck.serve()
    assert '"conversation_id": "mine"' in deck.on("runs", "list", "--json").stdout


def test_a_server_of_its_own_obeys_ctrl_c_as_well(deck: Deck) -> None:
    with deck.terminal("chat", "--url", f"http://127.0.0.1:{free_port()}", "hang") as terminal:
        terminal.until("Begun here")
        terminal.press("\x03")
        terminal.until("stopped · 2 tokens")
        assert terminal.status() == 130


def test_a_folder_in_use_elsewhere_is_told_with_the_process_and_the_way_to_reach_it(deck: Deck) -> None:
    server = deck.serve()
    done = deck.run("chat", "--url", f"http://127.0.0.1:{free_port()}", "hi")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"process {server.pid}" in done.stderr
    assert "--url" in done.stderr
    assert stop(server) == 0


def test_a_server_elsewhere_that_does_not_answer_is_not_replaced_by_one_here(deck: Deck) -> None:
    done = deck.run("chat", "--url", "http://nowhere.invalid:8101", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("quarterdeck: No server answers at http://nowhere.invalid:8101.")
    assert not deck.data.exists()


@pytest.mark.parametrize(
    ("name", "loop"), [("scripted/big", "native"), ("local/tiny", "roles")], ids=["strong", "embedded"]
)
def test_the_loop_is_native_unless_the_model_is_the_embedded_one(deck: Deck, name: str, loop: str) -> None:
    deck.script({"content": ["Yes."]}, name=name)
    deck.serve()
    deck.on("chat", "hi")
    assert f"'{loop}'" in deck.asked_for()
