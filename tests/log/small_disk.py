"""A process on a disk of six megabytes: fills it through the log, reads on, makes room, writes on, starts again."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from logroom import TALK, Shelf, read_to, say, texts_of
from quarterdeck.kernel.errors import StorageFull

PIECE = "x" * 3000


async def main(folder: Path) -> None:
    ballast = folder / "ballast"
    ballast.write_bytes(b"\0" * 1_500_000)
    shelf = Shelf("sqlite", folder)
    log = shelf.open(tail=1)
    acked = 0
    try:
        while True:
            await say(log, TALK, f"{acked} {PIECE}")
            acked += 1
    except StorageFull as refused:
        print("refused after", acked, ":", refused.detail)
    assert log.broken is None
    assert acked > 20
    expected = [f"{number} {PIECE}" for number in range(acked)]
    assert texts_of(await read_to(log.follow(TALK), acked)) == expected
    assert await log.verify() == []
    ballast.unlink()
    place, _ = await say(log, TALK, "after")
    assert place == acked + 1
    shelf.close()
    again = shelf.open()
    assert texts_of(await read_to(again.follow(TALK), acked + 1)) == [*expected, "after"]
    assert await again.verify() == []
    shelf.close()
    print("in order")


asyncio.run(main(Path(sys.argv[1])))
