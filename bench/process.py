"""Processes of the benchmark: pinned, started, weighed by their whole tree, and ended by their ids."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from targets import Target
from wire import ask

CORES = sorted(os.sched_getaffinity(0))
SERVER_CORES = set(CORES[:1])
OTHER_CORES = set(CORES[1:]) or SERVER_CORES
START_S = 30.0
# Settings of the one who runs this, which would leak in. Modules are kept compiled, as they are where one is installed.
FOREIGN = ("QUARTERDECK_", "DUCK_", "OPENAI_", "ANTHROPIC_", "PYTHONDONTWRITEBYTECODE")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def cpu_clock(pid: int) -> int:
    """The CPU clock of another process, see clock_getcpuclockid(3): nanoseconds where psutil has ticks of 10 ms."""
    return (~pid << 3) | 2


@contextmanager
def pinned(cores: set[int]) -> Iterator[None]:
    """What is started inside inherits these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def environment(extra: dict[str, str]) -> dict[str, str]:
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(FOREIGN) and not key.lower().endswith("_proxy")
    }
    return kept | extra


class Process:
    """A started process and its descendants."""

    def __init__(self, argv: list[str], env: dict[str, str], cores: set[int], folder: Path) -> None:
        self.log = folder / "log.txt"
        with self.log.open("wb") as log, pinned(cores):
            self.begin = time.monotonic()
            self.popen = subprocess.Popen(
                argv, cwd=folder, env=environment(env), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.root = psutil.Process(self.popen.pid)

    def tree(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            return [self.root, *self.root.children(recursive=True)]
        return []

    def cpu_s(self) -> float:
        total = 0.0
        for process in self.tree():
            with suppress(psutil.NoSuchProcess, OSError):
                times = process.cpu_times()
                total += time.clock_gettime(cpu_clock(process.pid)) + times.children_user + times.children_system
        return total

    def rss_mb(self) -> float:
        total = 0.0
        for process in self.tree():
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss / 1e6
        return total

    def healthy(self, port: int, path: str) -> float:
        """Waits for the first good answer; seconds since the start."""
        while time.monotonic() - self.begin < START_S and self.popen.poll() is None:
            with suppress(OSError):
                if ask(port, path)[0] == 200:
                    return time.monotonic() - self.begin
            time.sleep(0.005)
        tail = self.log.read_text(errors="replace")[-1500:]
        ended = self.popen.poll()
        what = (
            f"gave no good answer within {START_S:.0f} s" if ended is None else f"ended with {ended} before it answered"
        )
        raise RuntimeError(f"{what}: {tail}")

    def stop(self) -> None:
        tree = self.tree()
        for process in tree:
            with suppress(psutil.NoSuchProcess):
                process.terminate()
        _, alive = psutil.wait_procs(tree, timeout=5)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.popen.wait(timeout=5)


class Server:
    """A running target: where it listens, where its model is set, and what it has used."""

    def __init__(self, target: Target, process: Process, port: int, upstream: int) -> None:
        self.target, self.process, self.port = target, process, port
        self.model_port = port if target.direct else upstream
        self.cold_start_s = process.healthy(port, target.health)


@contextmanager
def running(target: Target, upstream: int) -> Iterator[Server]:
    """A fresh server on a fresh folder, alone on its core."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        env = target.env(Path(folder), upstream)
        process = Process(target.argv(port), env, SERVER_CORES, Path(folder))
        try:
            yield Server(target, process, port, upstream)
        finally:
            process.stop()


@contextmanager
def mock_model() -> Iterator[int]:
    """The mock model beside the load generator; its port."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        argv = [sys.executable, str(Path(__file__).with_name("upstream.py")), "--port", str(port)]
        process = Process(argv, {}, OTHER_CORES, Path(folder))
        try:
            process.healthy(port, "/v1/models")
            yield port
        finally:
            process.stop()


def import_ms(package: str, path: Path, tries: int = 5) -> float:
    """The fastest of several imports, each in an interpreter of its own and without that interpreter's start."""
    code = f"import time; t = time.perf_counter(); import {package}; print((time.perf_counter() - t) * 1000)"
    env = environment({"PYTHONPATH": str(path)})
    with pinned(SERVER_CORES):
        runs = [subprocess.check_output([sys.executable, "-c", code], env=env, timeout=30) for _ in range(tries)]
    return min(float(run) for run in runs)
