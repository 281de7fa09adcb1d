"""Asks a server of its own for everything that its description offers, with what schemathesis can think of.

    make fuzz                              or: tools/fuzz.py .venv/fuzz/bin/schemathesis
    make fuzz FUZZ="-n 200"                more examples for each operation; whatever schemathesis takes

A tenant, an employee, a conversation and the like are there first, so that it does not only meet what is not.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
# Streams without an end, and what would take away what the others are asked about.
LEFT_OUT = ("--exclude-path", "/v1/news", "--exclude-method", "DELETE")


def asker(base: str) -> Any:
    def ask(method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(base + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            told = answer.read()
            return json.loads(told) if answer.headers.get_content_type() == "application/json" else told

    return ask


def known(base: str) -> dict[str, str]:
    """One of each thing that a path can name."""
    ask = asker(base)
    tenant = ask("POST", "/api/v1/tenants", {"name": "Fuzz", "slug": "fuzz"})["id"]
    ask("PUT", f"/api/v1/tenants/{tenant}/config", {"server_default": "when_unset"})
    employee = ask("POST", "/api/v1/employees", {"tenant_id": tenant, "name": "Fuzz"})["id"]
    talk = ask("POST", "/api/v1/conversations", {"employee_id": employee, "user_id": "fuzz"})["id"]
    ask("POST", f"/api/v1/conversations/{talk}/messages/stream", {"content": "hello"})
    project = ask("POST", "/api/v1/projects", {"name": "Fuzz"})
    member = ask("POST", "/api/v1/members", {"name": "Fuzz", "type": "agent", "slug": "fuzz"})
    return {
        "tenant_id": tenant,
        "employee_id": employee,
        "conversation_id": talk,
        "message_id": ask("GET", f"/api/v1/conversations/{talk}/messages")[0]["id"],
        "memory_id": ask("POST", "/v1/memory", {"text": "Tea is green."})["id"],
        "project_id": project["id"],
        "chat_id": project["chat_id"],
        "member_id": member["id"],
        "task_id": ask("GET", "/v1/tasks")[0]["task_id"],
        "card_id": ask("POST", f"/api/v1/projects/{project['id']}/tasks", {"title": "Fuzz"})["id"],
    }


def configured(things: dict[str, str]) -> str:
    """For schemathesis. A task is another thing on the board than at the runtime door."""
    lines = ["[parameters]", *(f'"path.{name}" = "{ident}"' for name, ident in things.items())]
    board = ["", "[[operations]]", 'include-path-regex = "^/api/v1/tasks"']
    return "\n".join([*lines, *board, f'parameters = {{ "path.task_id" = "{things["card_id"]}" }}', ""])


def main() -> int:
    schemathesis, *more = sys.argv[1:]
    with tempfile.TemporaryDirectory() as home:
        script = Path(home) / "script.json"
        script.write_text('{"turns": [{"content": ["ok"]}]}')
        environ = {**os.environ, "QUARTERDECK_DATA_DIR": home, "QUARTERDECK_MODEL": f"scripted/{script}", "HOME": home}
        serve = [sys.executable, "-m", "quarterdeck", "serve", "--port", "0"]
        server = subprocess.Popen(serve, env=environ, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
            assert found is not None, "the server did not start"
            config = Path(home) / "schemathesis.toml"
            config.write_text(configured(known(found[0])))
            options = ["--checks", ",".join(CHECKS), *LEFT_OUT, "--request-timeout", "30", "--continue-on-failure"]
            run = [schemathesis, "--config-file", str(config), "run", f"{found[0]}/openapi.json", *options, *more]
            return subprocess.run(run, check=False, cwd=home).returncode
        finally:
            server.terminate()
            server.wait(60)
            if server.stdout is not None:
                server.stdout.close()


if __name__ == "__main__":
    sys.exit(main())
