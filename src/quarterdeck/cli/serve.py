"""`quarterdeck serve`: the server, in the foreground."""

from __future__ import annotations

import argparse
import logging
import os
from pathlib import Path
from typing import Any

import uvloop

from quarterdeck import __version__
from quarterdeck.kernel.errors import NotAllowed
from quarterdeck.server.serve import listen, server
from quarterdeck.wiring import LocalHouse, app_of

PORT = 8101
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def add(commands: Any) -> None:
    parser = commands.add_parser("serve", help="start the server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=PORT, help="port to listen on (default: %(default)s)")
    parser.add_argument("--data-dir", type=Path, help="folder of the database (or QUARTERDECK_DATA_DIR)")
    parser.add_argument("--log-level", default="warning", choices=["debug", "info", "warning", "error"])
    parser.set_defaults(act=serve)


def serve(asked: argparse.Namespace) -> int:
    if asked.host not in LOOPBACK:
        raise NotAllowed(
            f"{asked.host} can be reached by others, and there is no access control yet: listen on 127.0.0.1 and "
            "let a tunnel or an authenticating proxy bring others in.",
            code="not_loopback",
        )
    logging.basicConfig(level=asked.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    use_data_dir(asked.data_dir)
    os.umask(0o077)
    house = LocalHouse()
    listener = listen("127.0.0.1" if asked.host == "localhost" else asked.host, asked.port)
    house.ground()
    port = listener.getsockname()[1]
    host = f"[{asked.host}]" if ":" in asked.host else asked.host
    running = server(app_of(house), house.drain, house.hurry)
    print(f"Quarterdeck {__version__} is at http://{host}:{port}  (Ctrl-C stops it)", flush=True)
    uvloop.run(running.serve([listener]))
    return 0 if running.started else 1


def use_data_dir(folder: Path | None) -> None:
    """A folder named on the command line goes before everything the environment says."""
    if folder is not None:
        os.environ["QUARTERDECK_DATA_DIR"] = str(folder)
        os.environ.pop("DUCK_DB_PATH", None)
