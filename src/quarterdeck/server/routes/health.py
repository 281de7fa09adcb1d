"""Is it alive, is it ready, and what is it?"""

from __future__ import annotations

import html

from fastapi import APIRouter
from starlette.responses import HTMLResponse, JSONResponse, Response

from quarterdeck.kernel.errors import Unavailable
from quarterdeck.server.station import About, Here

router = APIRouter(tags=["health"])

POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.get("/readyz")
async def readyz(here: Here) -> Response:
    """It takes requests: the log can be written to, and the server is not about to stop."""
    if here.desk.log.broken is not None:
        raise here.desk.log.broken
    if here.streams.draining:
        raise Unavailable("The server is shutting down.", code="draining")
    about = await here.about()
    return JSONResponse({"status": "ready", "version": about.version, "model": about.model, "storage": about.storage})


@router.get("/", include_in_schema=False)
async def home(here: Here) -> HTMLResponse:
    """A page for whoever opens the address in a browser."""
    return HTMLResponse(_page(await here.about()), headers={"content-security-policy": POLICY})


def _page(about: About) -> str:
    source, advice = html.escape(about.source), html.escape(about.advice)
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Quarterdeck</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><style>
:root{{color-scheme:light dark}}
body{{font:16px/1.6 system-ui,sans-serif;max-width:44rem;margin:4rem auto;padding:0 1.25rem}}
pre{{padding:1rem;overflow-x:auto;border:1px solid color-mix(in srgb,currentColor 25%,transparent);border-radius:.5rem}}
</style></head><body><h1>Quarterdeck is running</h1>
<p><strong>Who answers:</strong> {source}</p><p>{advice}</p>
<h2>Say something</h2><p>In a terminal:</p><pre>quarterdeck chat</pre><p>or with any HTTP client:</p>
<pre>curl -N http://127.0.0.1:8101/v1/chat/stream \\
  -H 'content-type: application/json' \\
  -d '{{"message": "Hello! Who are you?"}}'</pre>
<p>The whole interface is described at <a href="/openapi.json">/openapi.json</a>.</p>
<p>Version {html.escape(about.version)}</p></body></html>"""
