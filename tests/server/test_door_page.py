"""The control room as files: small, strict, and nothing beside them."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from door_client import ask
from door_serving import Serving

import quarterdeck.server.page as room

STATIC = Path(room.__file__).with_name("static")
IMPORT = re.compile(r"""(?:from|import)\s*\(?["'](\.[^"']+)["']""")
FIRST_VIEW = 100 * 1024


def loaded_at_first(name: str, found: set[str]) -> set[str]:
    """A module and all that it imports before anything is shown; what is imported in functions comes later."""
    if name not in found:
        found.add(name)
        text = (STATIC / name).read_text("utf-8")
        for place in re.findall(r"""^(?:import|export)\b[^;]*?from\s*["'](\.[^"']+)["']""", text, re.MULTILINE):
            loaded_at_first(str(((STATIC / name).parent / place).resolve().relative_to(STATIC.resolve())), found)
        if name.startswith("vendor/"):
            for place in IMPORT.findall(text):
                loaded_at_first(str(((STATIC / name).parent / place).resolve().relative_to(STATIC.resolve())), found)
    return found


def test_the_first_view_is_below_100_kb_of_script() -> None:
    files = loaded_at_first("app/main.js", set())
    assert {"vendor/preact.js", "vendor/marked.js", "app/pages/conversations.js"} <= files
    assert sum(len(gzip.compress((STATIC / name).read_bytes(), 9)) for name in files) < FIRST_VIEW


async def test_every_file_comes_with_a_policy_that_lets_nothing_in(server: Serving) -> None:
    for path in ("/", "/static/app/main.js", "/static/style.css", "/static/icon.svg"):
        told = await ask(server, "GET", path)
        assert told.status == 200, path
        policy = told.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert told.headers["x-content-type-options"] == "nosniff"


async def test_a_file_that_is_known_is_not_sent_again(server: Serving) -> None:
    first = await ask(server, "GET", "/static/app/main.js")
    again = await ask(server, "GET", "/static/app/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


async def test_a_file_is_packed_for_whoever_can_unpack_it(server: Serving) -> None:
    plain = await ask(server, "GET", "/static/style.css")
    packed = await ask(server, "GET", "/static/style.css", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body


async def test_nothing_else_is_handed_out(server: Serving) -> None:
    for path in ("jsconfig.json", "vendor/MANIFEST.json", "vendor/preact.d.ts", "../page.py", "%2e%2e/page.py", ""):
        told = await ask(server, "GET", f"/static/{path}")
        assert told.status == 404, path
        assert told.headers["content-type"].startswith("application/problem+json")
