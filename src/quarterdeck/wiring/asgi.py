"""The application under a name of its own, for whoever runs it in a server or a client of theirs: `app`.

It opens nothing until it is asked something, or its lifespan begins.
"""

from __future__ import annotations

from quarterdeck.wiring.house import create_app

app = create_app()
