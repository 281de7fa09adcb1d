"""`quarterdeck serve`: how it greets, how it refuses, how it goes."""

from __future__ import annotations

import asyncio
import signal
import socket

import pytest
from decks import Deck, stop

from quarterdeck.client import Client


def test_a_server_greets_with_its_address_who_answers_and_where_the_data_is(deck: Deck) -> None:
    process = deck.serve()
    assert process.stdout is not None
    greeting = ""
    while "data" not in greeting:
        greeting += process.stdout.readline().replace("\n", "")
    assert "QUARTERDECK_MODEL says so" in greeting
    assert str(deck.database) in greeting
    assert stop(process) == 0
    assert process.stderr is not None
    assert process.stderr.read().startswith("Stopping")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_a_run_that_can_finish_does_so_before_the_server_goes(deck: Deck, how: signal.Signals) -> None:
    deck.script({"content": [f"w{n} " for n in range(30)], "pace": 0.01})
    process = deck.serve()
    async with asyncio.timeout(30), Client(deck.url) as client:
        source = client.ask("go on")
        async for told in source:
            if told.event == "content_delta":
                process.send_signal(how)
                break
        rest = [told async for told in source]
        assert rest[-1].event == "done"
        assert rest[-1].data["status"] == "completed"
    assert await asyncio.to_thread(process.wait, 30) == 0


async def test_a_second_signal_waits_for_no_run(deck: Deck) -> None:
    deck.env["QUARTERDECK_DRAIN_S"] = "3600"
    process = deck.serve()
    async with asyncio.timeout(30), Client(deck.url) as client:
        async for told in client.ask("hang", loop="native"):
            if told.event == "content_delta":
                break
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert (await asyncio.to_thread(process.stderr.readline)).startswith("Stopping")
        process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(process.wait, 25) == 0


def test_a_taken_port_is_one_sentence(deck: Deck) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = deck.run("serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert done.stderr.startswith("quarterdeck: Port ")
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_in_use_is_one_sentence_that_names_the_process(deck: Deck) -> None:
    process = deck.serve()
    done = deck.run("serve", "--port", "0")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"process {process.pid}" in done.stderr


@pytest.mark.parametrize("words", [("--host", "0.0.0.0"), ("--data-dir", "script.json"), ("--data-dir", "/proc/no")])
def test_what_cannot_be_served_is_one_sentence(deck: Deck, words: tuple[str, ...]) -> None:
    done = deck.run("serve", "--port", "0", *words)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr


def test_a_database_that_is_none_is_one_sentence(deck: Deck) -> None:
    deck.data.mkdir()
    deck.database.write_bytes(b"this is no database " * 1000)
    done = deck.run("serve", "--port", "0")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "quarterdeck restore" in done.stderr


def test_without_any_model_the_server_starts_and_says_how_to_get_one(deck: Deck) -> None:
    deck.env["QUARTERDECK_MODEL"] = "scripted/nowhere.json"
    process = deck.serve()
    assert process.stdout is not None
    greeting = process.stdout.readline() + process.stdout.readline()
    assert "cannot be used" in greeting
    assert "OPENAI_API_KEY" in greeting
    done = deck.on("chat", "hi")
    assert (done.returncode, done.stdout) == (1, "")
    assert "OPENAI_API_KEY" in done.stderr
    assert stop(process) == 0


def test_the_embedded_model_comes_with_the_advice_how_to_connect_a_stronger_one(deck: Deck) -> None:
    pytest.importorskip("xllamacpp")
    deck.env["QUARTERDECK_MODEL"] = "local/smollm2"
    process = deck.serve()
    assert process.stdout is not None
    greeting = process.stdout.readline() + process.stdout.readline()
    assert "For a stronger model" in greeting
    assert stop(process) == 0


def test_a_server_that_others_can_reach_does_not_start_without_tls(deck: Deck) -> None:
    for how in (["--host", "0.0.0.0"], ["--host", "192.0.2.1"], ["--host", "::"]):
        done = deck.run("serve", "--port", "0", *how)
        assert done.returncode == 1
        assert "--tls-cert" in done.stderr
    deck.env["QUARTERDECK_AUTH"] = "on"
    assert "--behind-proxy" in deck.run("serve", "--port", "0").stderr


def test_a_server_behind_a_proxy_is_told_its_name(deck: Deck) -> None:
    assert "--allow-host" in deck.run("serve", "--port", "0", "--behind-proxy").stderr
    done = deck.run("serve", "--port", "0", "--behind-proxy", "--allow-host", "https://deck.example")
    assert "no name of a host" in done.stderr


def test_a_certificate_goes_with_its_key(deck: Deck) -> None:
    assert "--tls-key" in deck.run("serve", "--port", "0", "--tls-cert", "cert.pem").stderr
    done = deck.run("serve", "--port", "0", "--tls-cert", "nowhere.pem", "--tls-key", "nowhere.pem")
    assert "cannot be read" in done.stderr
