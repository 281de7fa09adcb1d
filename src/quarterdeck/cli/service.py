"""Finding the server a command speaks to; where there is none, a command may start one inside itself."""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from quarterdeck.cli.backstage import Backstage
from quarterdeck.cli.options import settings_of, url_of
from quarterdeck.cli.screen import Screen
from quarterdeck.client import Client, Unreachable
from quarterdeck.kernel.errors import Unavailable

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
FIRST_ANSWER_S = 30.0


@dataclass(frozen=True, slots=True)
class Service:
    """A server that answered, and what it said of itself."""

    client: Client
    about: dict[str, Any]
    inside: bool = False  # it ends with this command


@contextmanager
def connected(stage: Backstage, asked: argparse.Namespace) -> Iterator[Service]:
    """The server at the address asked for, which must be there."""
    url = url_of(asked)
    service = _at(stage, url, settings_of(asked).token)
    if service is None:
        raise Unreachable(
            f"No server answers at {url}. Start one with `quarterdeck serve`, or name another with --url."
        )
    try:
        yield service
    finally:
        stage.run(service.client.aclose())


@contextmanager
def connected_or_started(stage: Backstage, asked: argparse.Namespace, screen: Screen) -> Iterator[Service]:
    """The server at the address asked for; where that is on this machine and silent, one inside this process."""
    url = url_of(asked)
    if urlsplit(url).hostname not in LOOPBACK or _at(stage, url, settings_of(asked).token, keep=False) is not None:
        with connected(stage, asked) as service:
            yield service
        return
    inside = _inside(asked, url)
    screen.note(f"(no server answers at {url}; this command runs one of its own, at {inside.url})")
    stage.run(inside.open())
    client = Client(inside.url, token=settings_of(asked).token)
    try:
        yield Service(client, stage.run(client.ready(FIRST_ANSWER_S)), inside=True)
    except KeyboardInterrupt:
        inside.hurry()
        raise
    finally:
        stage.run(client.aclose())
        _close(stage, inside)


def _at(stage: Backstage, url: str, token: str | None, *, keep: bool = True) -> Service | None:
    client = Client(url, token=token)
    about = None
    try:
        about = stage.run(client.ready())
    except Unreachable:
        return None
    finally:
        if about is None or not keep:
            stage.run(client.aclose())
    return Service(client, about)


def _inside(asked: argparse.Namespace, url: str) -> Any:
    """The server's rooms take a moment to load, so they are loaded only here, where one is needed."""
    os.umask(0o077)
    try:
        return importlib.import_module("quarterdeck.cli.inside").Inside(settings_of(asked))
    except Unavailable as locked:
        if locked.code != "data_folder_locked":
            raise
        raise Unavailable(
            f"Another Quarterdeck (process {locked.extra.get('process')}) is using the data folder, but does not "
            f"answer at {url}. Name the address that it printed when it started with --url, or choose another folder "
            "with --data-dir.",
            code=locked.code,
        ) from None


def _close(stage: Backstage, inside: Any) -> None:
    closing = inside.close()
    try:
        stage.run(closing)
    except KeyboardInterrupt:
        inside.hurry()
        raise
