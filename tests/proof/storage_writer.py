"""A process that writes into a log and says on its standard output what was acknowledged, until it is killed.

Every line is `stream place` and is written only after the append was answered.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from logroom import Shelf, numbered, stream
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.log import Log


def told(name: StreamName, place: int) -> None:
    os.write(1, f"{name} {place}\n".encode())


async def head_of(log: Log, name: StreamName) -> int:
    state = await log.look(name)
    return 0 if state is None else state.head


async def append(log: Log, name: StreamName, life: str) -> None:
    """Texts say their own place, so that whoever reads them sees what is missing or doubled."""
    head = await head_of(log, name)
    for number in itertools.count(1):
        texts = [str(head + 1 + extra) for extra in range(number % 3 + 1)]
        ((first, head),) = (await log.append(numbered(name, number, *texts, who=life))).places
        assert first == int(texts[0])
        told(name, head)


async def pour(log: Log, name: StreamName) -> None:
    head = await head_of(log, name)
    spout = log.spout(name, fence=0, actor="model")
    while True:
        for _ in range(5):
            spout.pour("content", 1, [str(head + 1), str(head + 2)])
            head += 2
        await spout.below(0)
        told(name, head)


async def main(folder: Path, life: str) -> None:
    log = Shelf("sqlite", folder).open()
    log_writers = [append(log, stream(f"a{n}"), life) for n in range(3)]
    await asyncio.gather(*log_writers, *(pour(log, stream(f"p{n}", "run")) for n in range(3)))


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
