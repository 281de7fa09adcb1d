"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from quarterdeck.settings import Settings, read_settings

PORT = 8101
DEFAULT_URL = f"http://127.0.0.1:{PORT}"


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir", type=Path, metavar="FOLDER", help="folder of the database (or QUARTERDECK_DATA_DIR)"
    )


def use_data_dir(folder: Path | None) -> None:
    """A folder named on the command line goes before everything the environment says."""
    if folder is not None:
        os.environ["QUARTERDECK_DATA_DIR"] = str(folder)
        os.environ.pop("DUCK_DB_PATH", None)


def settings_of(asked: argparse.Namespace) -> Settings:
    use_data_dir(getattr(asked, "data_dir", None))
    return read_settings()


def add_url(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--url", help=f"address of the server (or QUARTERDECK_URL; by default {DEFAULT_URL})", metavar="URL"
    )


def url_of(asked: argparse.Namespace) -> str:
    return asked.url or read_settings().url or DEFAULT_URL


def port(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) <= 5 else -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; it must be a number from 0 to 65535")
    return number


def count(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) <= 3 else 0
    if not 1 <= number <= 500:
        raise argparse.ArgumentTypeError(f"{text!r} is no count; it must be a number from 1 to 500")
    return number
