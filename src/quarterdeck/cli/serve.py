"""`quarterdeck serve`: the server, in the foreground."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import uvloop

from quarterdeck import __version__
from quarterdeck.cli import logbook
from quarterdeck.cli.options import PORT, add_data_dir, port, settings_of
from quarterdeck.kernel.errors import Invalid, NotAllowed
from quarterdeck.server.serve import listen, server, settle
from quarterdeck.settings import Settings
from quarterdeck.wiring import LocalHouse, app_of

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[1-9][0-9]{0,4})?")
DESCRIPTION = """Start the server. It keeps everything in one folder and listens on this machine only, where nobody
needs a token; for others than this machine it asks for tokens and TLS.

Ctrl-C (or SIGTERM) lets it finish what runs, for a few seconds; what is left goes on with the next start. A second
Ctrl-C waits for nothing."""
EXAMPLES = """examples:
  quarterdeck serve
  quarterdeck serve --port 9000 --data-dir ~/quarterdeck
  quarterdeck serve --behind-proxy --allow-host deck.example.org
  OPENAI_API_KEY=… QUARTERDECK_MODEL=openai/gpt-4.1-mini quarterdeck serve"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (by default %(default)s)")
    parser.add_argument(
        "--port", type=port, default=PORT, help="port to listen on (by default %(default)s); 0 takes a free one"
    )
    add_data_dir(parser)
    shared = parser.add_argument_group("for others than this machine", "then everybody shows a token: docs/access.md")
    shared.add_argument("--tls-cert", type=Path, metavar="FILE", help="certificate, with its chain, to do TLS with")
    shared.add_argument("--tls-key", type=Path, metavar="FILE", help="its private key")
    shared.add_argument("--behind-proxy", action="store_true", help="a proxy in front of this server does TLS")
    shared.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name that the server goes by; repeatable"
    )
    parser.add_argument(
        "--log-level",
        default="warning",
        choices=["debug", "info", "warning", "error"],
        help="how much is said on stderr (by default %(default)s)",
    )
    parser.set_defaults(act=serve)


def serve(asked: argparse.Namespace) -> int:
    logbook.keep(asked.log_level)
    settings = guarded(asked, settings_of(asked))
    os.umask(0o077)
    house = LocalHouse(lambda: settings)
    listener = listen("127.0.0.1" if asked.host == "localhost" else asked.host, asked.port)
    house.ground()
    host = f"[{asked.host}]" if ":" in asked.host else asked.host
    url = f"{'http' if settings.tls_cert is None else 'https'}://{host}:{listener.getsockname()[1]}"

    async def going() -> None:
        print("Stopping: what runs may finish; Ctrl-C once more waits for nothing.", file=sys.stderr, flush=True)
        await house.drain()

    running = server(app_of(house), going, house.hurry, settings.tls_cert, settings.tls_key)
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


def guarded(asked: argparse.Namespace, settings: Settings) -> Settings:
    """Where others than this machine come, they show tokens, and nobody on the way reads them."""
    proxied = settings.proxied or asked.behind_proxy
    cert, key = asked.tls_cert or settings.tls_cert, asked.tls_key or settings.tls_key
    hosts = tuple(dict.fromkeys((*settings.hosts, *(name.lower() for name in asked.allow_host))))
    if (cert is None) != (key is None):
        raise Invalid("A certificate goes with its key: name both --tls-cert and --tls-key.", code="bad_setting")
    for file in (cert, key):
        if file is not None and not os.access(file, os.R_OK):
            raise Invalid(f"{file} cannot be read.", code="bad_setting")
    for name in hosts:
        if not HOST.fullmatch(name):
            raise Invalid(f"{name!r} is no name of a host; one looks like deck.example.org.", code="bad_setting")
    exposed = asked.host not in LOOPBACK
    if not (exposed or settings.guarded or proxied or cert):
        return settings
    if cert is None and not proxied:
        why = f"{asked.host} can be reached by others" if exposed else "QUARTERDECK_AUTH is on"
        help_ = "name --tls-cert and --tls-key, or say --behind-proxy where a proxy does TLS"
        raise NotAllowed(f"{why}, and tokens may not travel in the clear: {help_}.", code="no_tls")
    if not hosts and (exposed or proxied):
        raise NotAllowed("Say by which name people reach the server: --allow-host deck.example.org.", code="no_host")
    return replace(settings, guarded=True, proxied=proxied, hosts=hosts, tls_cert=cert, tls_key=key)


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
