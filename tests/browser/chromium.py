"""A real Chromium for the tests: the one that npm carries, unpacked once, or the system's."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tarfile
from pathlib import Path

import brotli

PACKED = Path(__file__).parent / "node_modules/@sparticuz/chromium"
HOME = Path(sys.prefix) / "chromium"
SYSTEM = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
MISSING = "no Chromium: neither the npm package (make setup, where npm is installed) nor the system's is there"
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def found() -> tuple[str, dict[str, str]] | None:
    """The program and the environment it needs; None where there is none."""
    if (PACKED / "bin/chromium.br").is_file():
        return _unpacked()
    for name in SYSTEM:
        if (program := shutil.which(name)) is not None:
            return program, dict(os.environ)
    return None


def _unpacked() -> tuple[str, dict[str, str]]:
    stamp = HOME / "unpacked"
    if not stamp.is_file():
        making = HOME.with_name(f"chromium.{os.getpid()}")
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        for name in ("al2023", "fonts"):
            with tarfile.open(fileobj=io.BytesIO(_inflated(f"{name}.tar.br"))) as files:
                files.extractall(making / name, filter="data")
        (making / "chromium").write_bytes(_inflated("chromium.br"))
        (making / "chromium").chmod(0o755)
        fonts = making / "fonts/fonts.conf"
        ours = f"<dir>{HOME}/fonts</dir><dir>/usr/share/fonts</dir>"
        fonts.write_text(fonts.read_text().replace("<dir>/tmp/fonts</dir>", ours))
        (making / "unpacked").touch()
        shutil.rmtree(HOME, ignore_errors=True)
        try:
            making.rename(HOME)
        except OSError:  # somebody was quicker
            shutil.rmtree(making)
    ours = {"LD_LIBRARY_PATH": str(HOME / "al2023/lib"), "FONTCONFIG_PATH": str(HOME / "fonts"), "HOME": str(HOME)}
    return str(HOME / "chromium"), {**os.environ, **ours}


def _inflated(name: str) -> bytes:
    return bytes(brotli.decompress((PACKED / "bin" / name).read_bytes()))
