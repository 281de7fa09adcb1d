"""`quarterdeck serve`: the server, in the foreground."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import textwrap

import uvloop

from quarterdeck import __version__
from quarterdeck.cli.options import PORT, add_data_dir, port, settings_of
from quarterdeck.kernel.errors import NotAllowed
from quarterdeck.server.serve import listen, server, settle
from quarterdeck.wiring import LocalHouse, app_of

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
DESCRIPTION = """Start the server. It listens on this machine only and keeps everything in one folder.

Ctrl-C (or SIGTERM) lets it finish what runs, for a few seconds; what is left goes on with the next start. A second
Ctrl-C waits for nothing."""
EXAMPLES = """examples:
  quarterdeck serve
  quarterdeck serve --port 9000 --data-dir ~/quarterdeck
  OPENAI_API_KEY=… QUARTERDECK_MODEL=openai/gpt-4.1-mini quarterdeck serve"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (by default %(default)s)")
    parser.add_argument(
        "--port", type=port, default=PORT, help="port to listen on (by default %(default)s); 0 takes a free one"
    )
    add_data_dir(parser)
    parser.add_argument(
        "--log-level",
        default="warning",
        choices=["debug", "info", "warning", "error"],
        help="how much is said on stderr (by default %(default)s)",
    )
    parser.set_defaults(act=serve)


def serve(asked: argparse.Namespace) -> int:
    if asked.host not in LOOPBACK:
        raise NotAllowed(
            f"{asked.host} can be reached by others, and there is no access control yet: listen on 127.0.0.1 and "
            "let a tunnel or an authenticating proxy bring others in.",
            code="not_loopback",
        )
    logging.basicConfig(level=asked.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    settings = settings_of(asked)
    os.umask(0o077)
    house = LocalHouse(lambda: settings)
    listener = listen("127.0.0.1" if asked.host == "localhost" else asked.host, asked.port)
    house.ground()
    host = f"[{asked.host}]" if ":" in asked.host else asked.host
    url = f"http://{host}:{listener.getsockname()[1]}"

    async def going() -> None:
        print("Stopping: what runs may finish; Ctrl-C once more waits for nothing.", file=sys.stderr, flush=True)
        await house.drain()

    running = server(app_of(house), going, house.hurry)
    settle()

    async def served() -> None:
        greeting = asyncio.ensure_future(_greet(house, url))
        try:
            await running.serve([listener])
        finally:
            greeting.cancel()
            await asyncio.gather(greeting, return_exceptions=True)

    uvloop.run(served())
    return 0 if running.started else 1


async def _greet(house: LocalHouse, url: str) -> None:
    """Where it is, at once; then who answers, which takes a look around; then the embedded model begins to load."""
    print(f"Quarterdeck {__version__} is at {url}  (Ctrl-C stops it)", flush=True)
    about = await house.about()
    who = f"{about.source} {about.advice}"
    print(textwrap.fill(who, 100, initial_indent="  model  ", subsequent_indent=" " * 9, break_long_words=False))
    print(f"  data   {kept_where(about.storage)}")
    print(
        f'  try    quarterdeck chat{"" if url.endswith(f":{PORT}") else f" --url {url}"} "Hello! Who are you?"',
        flush=True,
    )
    await house.preload()


def kept_where(storage: str) -> str:
    return "in memory; all is forgotten at the end" if storage == "memory" else storage
