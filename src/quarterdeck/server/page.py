"""The control room's files: read once, handed out with a strict policy, and only those that are there."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from quarterdeck.kernel.errors import NotFound

ROOT = Path(__file__).with_name("static")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
    "vary": "accept-encoding",
}


@dataclass(frozen=True, slots=True)
class Page:
    body: bytes
    packed: bytes
    kind: str
    etag: str


@cache
def pages() -> dict[str, Page]:
    """Every file by its path beneath `static`."""
    found = (path for path in ROOT.rglob("*") if path.suffix in TYPES and path.is_file())
    return {path.relative_to(ROOT).as_posix(): _page(path) for path in found}


def _page(path: Path) -> Page:
    body = path.read_bytes()
    return Page(body, gzip.compress(body, 9, mtime=0), TYPES[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')


def page(request: Request, name: str) -> Response:
    found = pages().get(name)
    if found is None:
        raise NotFound("There is no such page.", code="page_not_found")
    headers = {**HEADERS, "etag": found.etag}
    if request.headers.get("if-none-match") == found.etag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, headers={**headers, "content-encoding": "gzip"}, media_type=found.kind)
    return Response(found.body, headers=headers, media_type=found.kind)
