"""Start the server with constants of our own: `door_launch.py '{"server.sse.BEAT_S": 0.2}' serve --port 0`."""

import importlib
import json
import sys

from quarterdeck.cli import main


def set_constants(values: dict[str, object]) -> None:
    for name, value in values.items():
        module, _, constant = name.rpartition(".")
        room = importlib.import_module(f"quarterdeck.{module}")
        assert hasattr(room, constant), f"{name} is gone"
        setattr(room, constant, value)


if __name__ == "__main__":
    set_constants(json.loads(sys.argv[1]))
    main(sys.argv[2:])
