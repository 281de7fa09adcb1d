"""A real server process on a folder, started and killed as often as need be."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

KEY = "sk-live-3fA9xQ7zT1bN5mK8cV2e"
LAUNCHER = Path(__file__).with_name("proof_launcher.py")
ADDRESS = re.compile(rb"is at (http://\S+)")
START_S = 20.0


class ServerProcess:
    """`generation` counts the starts; a client that was cut waits for the next one."""

    def __init__(self, folder: Path, model_url: str, **settings: str) -> None:
        self.folder, self.log = folder, folder / "server.log"
        self.settings = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
            "HOME": str(folder),
            "QUARTERDECK_MODEL": "openai/told",
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": KEY,
            **settings,
        }
        self.url = ""
        self.generation = 0
        self._started = asyncio.Condition()
        self._process: asyncio.subprocess.Process | None = None
        folder.mkdir(exist_ok=True)

    @property
    def database(self) -> Path:
        return self.folder / "quarterdeck.db"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self, kill_at: str | None = None) -> None:
        """Start it; with `kill_at` through the launcher, which kills it from within, there and nowhere else."""
        how = ["-m", "quarterdeck"] if kill_at is None else [str(LAUNCHER), kill_at]
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *how,
                *("serve", "--port", "0", "--data-dir", str(self.folder), "--log-level", "info"),
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=self.settings,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(START_S):
            line = await self._process.stdout.readline()
        found = ADDRESS.search(line)
        assert found, f"{line!r}\n{self.log.read_text()}"
        async with self._started:
            self.url = found[1].decode()
            self.generation += 1
            self._started.notify_all()

    async def says(self, word: str) -> None:
        """Wait until its log says so; a file has no bell, so it is looked at each time another thread had a turn."""
        while word not in self.log.read_text():
            await asyncio.to_thread(self.log.stat)

    async def started_again(self, after: int) -> None:
        async with self._started:
            await self._started.wait_for(lambda: self.generation > after)

    async def gone(self) -> int:
        assert self._process is not None
        return await self._process.wait()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    async def stop(self) -> int:
        """In good order, if it still runs; what it wrote until now tells of no mistake of its own."""
        assert "Traceback" not in self.log.read_text()
        assert self._process is not None
        if self._process.returncode is None:
            self.terminate()
        return await self.gone()

    async def close(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
