"""What it costs to open lists, pages and turns as conversations pile up: a table of medians, and of how they grow.

    python bench/growth.py                              10x10 and 100x100: a hundred messages, ten thousand
    python bench/growth.py 10x10 1000x1000              conversations times messages in each
    python bench/growth.py 100x100 10000x1000           ten million: some minutes and ten gigabytes of disk

A real server answers over a real socket, on a log that was written through our own front door. The figures are of this
machine at this moment; what is to be read is the last line, how much dearer the largest is than the smallest.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quarterdeck.actions.desk import Desk
from quarterdeck.actions.staff import hire
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock, SystemIds
from quarterdeck.events.staff import Profile
from quarterdeck.events.talk import ConversationOpened, MessageAdded
from quarterdeck.kernel.ids import ConversationId, conversation_stream
from quarterdeck.kernel.scope import LOCAL_OWNER, LOCAL_TENANT
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.views.tables import TABLES, VIEWS

PLACE = "/api/v1/conversations"
AT_ONCE = 20_000  # messages in one transaction
USERS = 100
TEXT = "What was said in this message is neither short nor long, but about as long as people write. "


async def write(path: Path, conversations: int, messages: int) -> tuple[str, str]:
    """The log; returns the employee, and a conversation in the middle."""
    log, ids = Log(SqliteStore(path, synchronous="OFF"), SystemClock(), TABLES, VIEWS), SystemIds()
    employee = await hire(Desk(log, ids, SystemClock()), LOCAL_OWNER, Profile("Anna"))
    said = tuple(
        MessageAdded("user" if n % 2 == 0 else "assistant", f"{n}: {TEXT}", status="completed") for n in range(messages)
    )
    names = [ConversationId(ids.mint()) for _ in range(conversations)]
    step = max(1, AT_ONCE // messages)
    for begin in range(0, conversations, step):
        entries = [
            Entry(
                conversation_stream(LOCAL_TENANT, name),
                said,
                opening=(ConversationOpened(f"Talk number {at}", None, employee, f"user-{at % USERS}"),),
            )
            for at, name in enumerate(names[begin : begin + step], begin)
        ]
        await log.append(*entries)
    await log.close()
    return employee, names[conversations // 2]


@contextmanager
def served(folder: Path) -> Iterator[http.client.HTTPConnection]:
    script = folder / "script.json"
    script.write_text(json.dumps({"turns": [{"content": ["ok"]}]}))
    environ = {**os.environ, "QUARTERDECK_DATA_DIR": str(folder), "QUARTERDECK_MODEL": f"scripted/{script}"}
    command = [sys.executable, "-m", "quarterdeck", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        found = None
        while found is None:
            line = process.stdout.readline()
            assert line, "the server did not start"
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
        yield http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=600)
    finally:
        process.terminate()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


def median_ms(act: Callable[[], Any], times: int) -> float:
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        act()
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken)


def measure(conversations: int, messages: int, times: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        begun = time.perf_counter()
        employee, middle = asyncio.run(write(folder / "quarterdeck.db", conversations, messages))
        print(f"{conversations}x{messages}: written in {time.perf_counter() - begun:.1f} s", file=sys.stderr)
        with served(folder) as wire:

            def ask(method: str, path: str, body: object = None) -> bytes:
                headers = {} if body is None else {"Content-Type": "application/json"}
                wire.request(method, path, None if body is None else json.dumps(body), headers)
                answer = wire.getresponse()
                told = answer.read()
                assert answer.status < 300, told
                return told

            talk = f"{PLACE}/{middle}"
            acts: dict[str, Callable[[], Any]] = {
                "list": lambda: ask("GET", f"{PLACE}?limit=50"),
                "by employee": lambda: ask("GET", f"{PLACE}?employee_id={employee}&limit=50"),
                "by user": lambda: ask("GET", f"{PLACE}?tenant_id=local&user_id=user-1&limit=50"),
                "search": lambda: ask("GET", f"{PLACE}?tenant_id=local&q=number+{conversations // 2}&limit=50"),
                "open one": lambda: ask("GET", talk),
                "last page": lambda: ask("GET", f"{talk}/messages?order=desc&limit=50"),
                "say": lambda: ask("POST", f"{talk}/messages", {"content": "And now?"}),
                "turn": lambda: ask("POST", f"{talk}/messages/stream", {"content": "And now?"}),
            }
            found = {}
            for name, act in acts.items():
                act()
                found[name] = median_ms(act, times)
            found["delete"] = median_ms(lambda: ask("DELETE", talk), 1)
    return found


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("sizes", nargs="*", default=["10x10", "100x100"], help="conversations x messages in each")
    reader.add_argument("--times", type=int, default=50, help="how often each is asked for")
    asked = reader.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in asked.sizes]
    rows = {f"{c}x{m}": measure(c, m, asked.times) for c, m in sizes}
    names = list(next(iter(rows.values())))
    print("| median ms | " + " | ".join(names) + " |")
    print("|---|" + "---|" * len(names))
    for size, row in rows.items():
        print(f"| {size} | " + " | ".join(f"{row[name]:.1f}" for name in names) + " |")
    first, *_, last = [next(iter(rows.values())), *rows.values()]
    print("| largest / smallest | " + " | ".join(f"{last[name] / first[name]:.1f}" for name in names) + " |")


if __name__ == "__main__":
    main()
