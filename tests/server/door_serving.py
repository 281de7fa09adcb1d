"""A server of our own: a real process on a port of its own, with a script for a model."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import psutil

BOUND_S = 20
LAUNCH = Path(__file__).with_name("door_launch.py")
# What a test's environment may not bring along.
OURS = ("QUARTERDECK_", "DUCK_", "OPENAI_", "ANTHROPIC_", "OLLAMA_", "PYTHON", "COV_")


def script(folder: Path, *turns: Mapping[str, Any], name: str = "script.json") -> str:
    """The setting that makes a server speak these turns."""
    path = folder / name
    path.write_text(json.dumps({"turns": list(turns)}), "utf-8")
    return f"scripted/{path}"


class Serving:
    """`environ` is added to a clean one; `constants` of modules in `quarterdeck` may be set."""

    def __init__(self, folder: Path, environ: Mapping[str, str], constants: Mapping[str, object] | None = None) -> None:
        self.folder = folder
        clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        clean |= {"PYTHONUNBUFFERED": "1", "QUARTERDECK_DRAIN_S": "0", "HOME": str(folder)}
        self._environ = {**clean, "QUARTERDECK_DATA_DIR": str(folder), **environ}
        self._constants = json.dumps(dict(constants or {}))
        self.log: list[str] = []
        self.start()

    def start(self, port: int = 0) -> None:
        arguments = [sys.executable, str(LAUNCH), self._constants, "serve", "--port", str(port)]
        self._process = subprocess.Popen(
            arguments, env=self._environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.port = self._announced()
        self._listener = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._listener.start()

    def _announced(self) -> int:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], BOUND_S)
        line = self._process.stdout.readline() if ready else ""
        found = re.search(r"(https?)://127\.0\.0\.1:(\d+)", line)
        assert found, f"the server said {line!r} {self._process.stdout.read() if ready else ''}"
        self.scheme = found[1]
        return int(found[2])

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            self.log.extend(process.stdout)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def database(self) -> Path:
        return self.folder / "quarterdeck.db"

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def memory(self) -> int:
        return int(psutil.Process(self._process.pid).memory_info().rss)

    def clients(self) -> set[int]:
        """The ports of those it holds a connection with."""
        held = psutil.Process(self._process.pid).net_connections("tcp4")
        return {each.raddr.port for each in held if each.raddr}

    def terminate(self) -> None:
        """Ask it to go; returns when it is gone."""
        self.ask_to_go()
        self.wait()

    def ask_to_go(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self._process.kill()
        self.wait()

    def wait(self) -> int:
        status = self._process.wait(BOUND_S)
        self._listener.join(BOUND_S)
        return status

    def stop(self) -> None:
        if self.running:
            self.terminate()

    def complaints(self) -> list[str]:
        """What it logged that no request may ever cause."""
        return [line for line in self.log if "Traceback" in line or " ERROR " in line or "Exception" in line]

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What is committed, seen by somebody else."""
        reader = apsw.Connection(str(self.database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            reader.set_busy_timeout(5000)
            return list(reader.execute(statement, values))
        finally:
            reader.close()

    def heads(self) -> dict[str, int]:
        """The last committed place of every run."""
        found = self.rows(
            "SELECT stream.key, max(row.last) FROM row JOIN stream ON row.stream = stream.id "
            "WHERE stream.kind = 'run' GROUP BY stream.key"
        )
        return dict(found)


Start = Callable[..., Serving]
