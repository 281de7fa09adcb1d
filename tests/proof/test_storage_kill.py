"""A process that writes is killed at random moments, again and again: what it had acknowledged is all there."""

from __future__ import annotations

import asyncio
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from logroom import Shelf, gapless, kept, rebuilt, stored_rows, stream, texts_of

pytestmark = pytest.mark.proof
KILLS = 10
WRITER = Path(__file__).with_name("storage_writer.py")
NAMES = [*(stream(f"a{n}") for n in range(3)), *(stream(f"p{n}", "run") for n in range(3))]
LIVES = 25  # of one log, before a fresh one is begun


def written_until_killed(folder: Path, life: int, chance: random.Random) -> dict[str, int]:
    """Start a writer, let it write for a while, kill it without a word; returns the places it acknowledged."""
    command = [sys.executable, str(WRITER), str(folder), f"life {life}"]
    told, acked = bytearray(), {}
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = chance.randrange(1, 400)  # counted in answers, not in seconds: a slow machine is killed as deep
        until = time.monotonic() + 30
        while told.count(b"\n") < lines:
            assert select.select([process.stdout], [], [], until - time.monotonic())[0], "the writer fell silent"
            piece = os.read(process.stdout.fileno(), 1 << 16)
            assert piece, "the writer ended by itself"
            told += piece
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read()
    for line in told.split(b"\n")[:-1]:
        name, place = line.decode().split()
        acked[name] = int(place)
    return acked


def check(shelf: Shelf, acked: dict[str, int]) -> int:
    """Open what the killed process left; returns how many places it holds."""
    log, total = shelf.open(), 0
    assert asyncio.run(log.verify()) == []
    for name in NAMES:
        rows = stored_rows(shelf.store, name)
        texts = texts_of(rows)
        assert gapless(rows)
        assert texts == [str(place) for place in range(1, len(texts) + 1)]
        assert len(texts) >= acked.get(str(name), 0), f"{name} lost places"
        total += len(texts)
    assert kept(shelf.store) == rebuilt(shelf.store)
    shelf.close()
    return total


def test_nothing_that_was_acknowledged_is_lost_when_the_process_is_killed(tmp_path: Path, rounds: int) -> None:
    chance, total = random.Random(11), 0
    for life in range(KILLS * rounds):
        folder = tmp_path / str(life // LIVES)
        total = check(Shelf("sqlite", folder), written_until_killed(folder, life, chance))
    print(f"{KILLS * rounds} kills, {total} places in the last log, none lost")
