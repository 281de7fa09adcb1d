"""The real command as a process, in a folder of its own: piped, serving, or at a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

PATIENCE_S = 30.0
COMMAND = [sys.executable, "-m", "quarterdeck"]


class Deck:
    """A data folder, a scripted model, and whatever was started with them. `url` is the last server's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.database = self.data / "quarterdeck.db"
        self.url = "http://127.0.0.1:1"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "QUARTERDECK_DATA_DIR": str(self.data),
        }
        self._processes: list[subprocess.Popen[str]] = []

    def script(self, *turns: Mapping[str, Any], name: str = "scripted/demo") -> None:
        path = self.folder / "script.json"
        path.write_text(json.dumps({"name": name, "turns": turns}))
        self.env["QUARTERDECK_MODEL"] = f"scripted/{path}"

    def run(self, *words: str, said: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """To its end, with nothing or `said` piped in; never with a traceback."""
        done = subprocess.run(
            [*COMMAND, *words],
            input=said or "",
            capture_output=True,
            text=True,
            env={**self.env, **env},
            timeout=PATIENCE_S,
            check=False,
            cwd=self.folder,
        )
        assert "Traceback" not in done.stderr + done.stdout, done.stderr
        return done

    def on(self, *words: str, said: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """The same, with the server that was started."""
        return self.run(*words, said=said, QUARTERDECK_URL=self.url, **env)

    def serve(self, *words: str, port: int = 0, launch: Sequence[str] = COMMAND) -> subprocess.Popen[str]:
        command = [*launch, "serve", "--port", str(port), *words]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.env)
        self._processes.append(process)
        assert process.stdout is not None
        assert process.stderr is not None
        greeting = process.stdout.readline()
        assert "is at http" in greeting, process.stderr.read()
        self.url = greeting.split(" is at ")[1].split()[0]
        return process

    @contextlib.contextmanager
    def terminal(self, *words: str, **env: str) -> Iterator[Terminal]:
        terminal = Terminal([*COMMAND, *words], {**self.env, **env})
        try:
            yield terminal
        finally:
            terminal.close()

    def asked_for(self) -> str:
        """The loops of the runs that are in the database."""
        with contextlib.closing(apsw.Connection(str(self.database), flags=apsw.SQLITE_OPEN_READONLY)) as reader:
            return str([loop for (loop,) in reader.execute("SELECT loop FROM view_run")])

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE_S)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


class Terminal:
    """A command at a terminal of its own: what it shows, and the keys pressed."""

    def __init__(self, command: list[str], env: Mapping[str, str]) -> None:
        self._master, slave = os.openpty()
        name = os.ttyname(slave)
        # The shell opens the terminal as the first of its session, so that it is the one Ctrl-C belongs to.
        opened = ["sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', name, *command]
        self.process = subprocess.Popen(opened, env=env, start_new_session=True)
        self._slave: int | None = slave
        self.shown = ""
        self._told = 0

    def until(self, text: str) -> str:
        """Wait for a text behind what was waited for before; what was shown up to it."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.shown.find(text, self._told)) < 0:
            assert time.monotonic() < deadline, f"{text!r} never came:\n{self.shown}"
            self._more(deadline)
        begin, self._told = self._told, found + len(text)
        return self.shown[begin : self._told]

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def status(self) -> int:
        """Wait for its end, and take all that it showed."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.shown
            self._more(time.monotonic() + 0.02)
        if self._slave is not None:  # ours kept the terminal from ending before the command had opened it
            os.close(self._slave)
            self._slave = None
        while self._more(deadline):
            assert time.monotonic() < deadline, self.shown
        return self.process.returncode

    def left(self) -> int:
        """Press Ctrl-C at a prompt, again where it went by unheard: between showing the prompt and reading, `input`
        has an instant in which it hears nothing."""
        for _ in range(10):
            self.press("\x03")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE_S / 10)
                break
        return self.status()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        for descriptor in (self._master, self._slave):
            if descriptor is not None:
                os.close(descriptor)

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other end was closed
            return False
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)


def stop(process: subprocess.Popen[str], how: signal.Signals = signal.SIGTERM) -> int:
    process.send_signal(how)
    return process.wait(PATIENCE_S)
