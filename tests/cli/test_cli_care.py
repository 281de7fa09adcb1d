"""`quarterdeck backup`, `restore` and `log verify`: copies under load, nothing thrown away, no damage unnoticed."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from pathlib import Path

import apsw
import pytest
from decks import Deck, stop

from quarterdeck.client import Client


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database that holds a finished run and that nobody uses, and a backup of it."""
    deck = Deck(tmp_path_factory.mktemp("filled"))
    deck.script({"content": ["An ", "answer."]})
    process = deck.serve()
    assert deck.on("chat", "please think").returncode == 0
    assert deck.run("backup", "copy.db").returncode == 0
    assert stop(process) == 0
    deck.close()
    return deck.folder


@pytest.fixture
def kept(deck: Deck, filled: Path) -> Deck:
    """That database and that backup, in a folder of the test's own."""
    shutil.copytree(filled / "data", deck.data)
    shutil.copy(filled / "copy.db", deck.folder)
    return deck


def flip(database: Path, what: bytes) -> None:
    """Change one byte where these bytes stand in the file."""
    data = bytearray(database.read_bytes())
    place = data.index(what)
    data[place] ^= 1
    database.write_bytes(bytes(data))


async def test_a_backup_under_load_is_whole_and_after_a_restore_an_old_cursor_is_told_to_begin_anew(deck: Deck) -> None:
    process = deck.serve()
    async with asyncio.timeout(60), Client(deck.url) as client:
        asked = [client.ask("slow", loop="native") for _ in range(4)]
        task = (await anext(asked[0])).data["task_id"]
        for source in asked:
            async for told in source:
                if told.event == "content_delta":
                    break
        done = await asyncio.to_thread(deck.run, "backup", "copy.db")
        assert done.returncode == 0, done.stderr
        for source in asked:
            await source.aclose()
    process.kill()
    process.wait(30)

    restored = await asyncio.to_thread(deck.run, "restore", "copy.db")
    assert restored.returncode == 0, restored.stderr
    assert (await asyncio.to_thread(deck.run, "log", "verify")).returncode == 0
    deck.script({"content": ["Anew."]})
    deck.serve()
    async with asyncio.timeout(60), Client(deck.url) as client:
        told = [told async for told in client.watch(task, after=f"v1.{old_epoch(deck)}.3")]
    assert told[0].event == "stream.reset"
    assert told[0].data["why"] == "epoch"
    assert told[-1].data["status"] == "completed"


def old_epoch(deck: Deck) -> str:
    (kept,) = [path for path in deck.data.glob("quarterdeck.db.before-*") if not path.name.endswith("-wal")]
    with contextlib.closing(apsw.Connection(str(kept))) as reader:
        return str(reader.execute("SELECT value FROM meta WHERE key = 'epoch'").get)


def test_the_database_that_is_replaced_is_kept_whole_and_nothing_else_stays_behind(kept: Deck) -> None:
    process = kept.serve()
    assert kept.on("chat", "--conversation", "later", "hi").returncode == 0
    process.kill()  # what it said last is in the write-ahead log alone
    process.wait(30)
    assert kept.run("restore", "copy.db").returncode == 0
    (old,) = kept.data.glob("quarterdeck.db.before-*")
    with contextlib.closing(apsw.Connection(str(old))) as reader:
        assert reader.execute("SELECT count(*) FROM view_conversation WHERE id = 'later'").get == 1
    assert {path.name for path in kept.data.iterdir()} == {"quarterdeck.db", "quarterdeck.db.lock", old.name}
    assert kept.database.stat().st_mode & 0o777 == 0o600


def test_a_restore_waits_for_no_server_and_touches_nothing_of_it(deck: Deck) -> None:
    deck.serve()
    assert deck.run("backup", "copy.db").returncode == 0
    done = deck.run("restore", "copy.db")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert not list(deck.data.glob("*before*"))
    assert deck.on("chat", "think").returncode == 0


def test_a_copy_with_one_flipped_byte_is_not_restored_and_the_database_stays(kept: Deck) -> None:
    flip(kept.folder / "copy.db", b'{"attempt":1,"texts"')
    before = kept.database.read_bytes()
    done = kept.run("restore", "copy.db")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "is not what was written" in done.stderr
    assert kept.database.read_bytes() == before
    assert not list(kept.data.glob("*restoring*"))


@pytest.mark.parametrize("content", [b"", b"no database at all " * 500, None], ids=["empty", "text", "of another"])
def test_what_is_no_backup_is_not_restored(deck: Deck, content: bytes | None) -> None:
    copy = deck.folder / "copy.db"
    if content is None:
        with contextlib.closing(apsw.Connection(str(copy))) as other:
            other.execute("CREATE TABLE stream(x); PRAGMA user_version = 0")
    else:
        copy.write_bytes(content)
    done = deck.run("restore", "copy.db")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert not deck.database.exists()


def test_a_backup_never_writes_over_a_file(kept: Deck) -> None:
    (kept.folder / "copy.db").write_text("mine")
    done = kept.run("backup", "copy.db")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert (kept.folder / "copy.db").read_text() == "mine"
    assert kept.run("backup", "no/such/folder/copy.db").returncode == 1


def test_verify_finds_a_flipped_byte_in_what_was_said_and_names_the_stream(kept: Deck) -> None:
    fine = kept.run("log", "verify")
    assert (fine.returncode, fine.stderr) == (0, "")
    flip(kept.database, b'{"attempt":1,"texts"')
    done = kept.run("log", "verify")
    assert done.returncode == 1
    (sentence,) = done.stdout.splitlines()
    assert sentence.startswith("local:run/")
    assert "is not what was written" in sentence


def test_verify_finds_a_file_that_is_torn(kept: Deck) -> None:
    data = kept.database.read_bytes()
    kept.database.write_bytes(data[:8192] + b"\xff" * 4096 + data[12288:])
    done = kept.run("log", "verify")
    assert done.returncode == 1
    assert "damaged" in done.stdout + done.stderr


def test_without_a_database_there_is_nothing_to_verify_or_to_copy_and_none_is_made(deck: Deck) -> None:
    for words in (("log", "verify"), ("backup", "copy.db")):
        done = deck.run(*words)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert not deck.database.exists()
