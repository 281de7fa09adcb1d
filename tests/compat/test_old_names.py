"""Programs of old import what they always did, and get the very objects that took their place."""

from __future__ import annotations

import ast
import importlib
import json
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import quarterdeck.runtime.roles
import quarterdeck.wiring
import quarterdeck_compat

ROOT = Path(__file__).parents[2]
SCRIPT = {"name": "scripted/old", "turns": [{"reasoning": ["thinking"], "content": ["ans", "wer"]}]}


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of old: a database by its old name, and a model that is scripted."""
    script, database = tmp_path / "script.json", tmp_path / "old" / "duck.sqlite3"
    script.write_text(json.dumps(SCRIPT))
    monkeypatch.setenv("QUARTERDECK_MODEL", f"scripted/{script}")
    monkeypatch.setenv("DUCK_DB_PATH", str(database))
    monkeypatch.delenv("QUARTERDECK_DATA_DIR", raising=False)
    return database


def asked(client: TestClient, **more: Any) -> str:
    body = {"message": "hello", "workspace": "./workspace", "debug": True, **more}
    with client.stream("POST", "/v1/chat/stream", json=body) as response:
        assert response.status_code == 200
        return "".join(response.iter_text())


@pytest.mark.parametrize(("old", "new"), quarterdeck_compat.MOVED.items())
def test_an_old_name_is_the_module_that_took_its_place(old: str, new: str) -> None:
    module = importlib.import_module(old)
    assert module is importlib.import_module(new)
    assert (module.__name__, module.__spec__ and module.__spec__.name) == (new, new)


def test_old_names_are_the_same_objects() -> None:
    from duck_core.api import create_app
    from duck_core.model_client import ModelClient, ModelResponse

    assert create_app is quarterdeck.wiring.create_app
    assert ModelClient is quarterdeck.runtime.roles.ModelClient
    assert ModelResponse is quarterdeck.runtime.roles.ModelResponse
    response = ModelResponse("thinker", "m", "hi", None, {}, 1.0)
    assert pickle.loads(pickle.dumps(response)) == response


def test_a_reload_of_an_old_name_does_not_make_a_second_module() -> None:
    old = importlib.import_module("duck_core.model_client")
    before = quarterdeck.runtime.roles.ModelClient
    assert importlib.import_module("duck_core.model_client") is old
    assert quarterdeck.runtime.roles.ModelClient is before


@pytest.mark.parametrize("first", ["duck_core.model_client", "quarterdeck.runtime.roles"])
def test_whichever_name_comes_first_in_a_fresh_process(first: str) -> None:
    code = (
        f"import sys, importlib; importlib.import_module({first!r});"
        "a = importlib.import_module('duck_core.model_client');"
        "b = importlib.import_module('quarterdeck.runtime.roles');"
        "assert a is b and a.__spec__.name == 'quarterdeck.runtime.roles', a.__spec__;"
        "assert a.ModelClient is sys.modules['quarterdeck.runtime.roles'].ModelClient"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=30, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_what_never_was_is_still_not_there() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("duck_core.nothing")


def test_the_wheel_does_not_carry_old_names() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    assert built["targets"]["wheel"]["packages"] == ["src/quarterdeck"]
    assert "compat" in built["dev-mode-dirs"]
    for file in (ROOT / "src").rglob("*.py"):
        imported = [
            node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom | ast.Import)
        ]
        names = [getattr(node, "module", None) or node.names[0].name for node in imported]
        assert not [name for name in names if name.startswith(("duck_core", "quarterdeck_compat"))], file


def test_the_app_of_old_works_without_a_lifespan_on_the_database_of_old(scripted: Path) -> None:
    from duck_core.api import create_app

    body = asked(TestClient(create_app()))
    names = [line[7:] for line in body.splitlines() if line.startswith("event: ")]
    assert [name for name in names if name.endswith("_delta") or name == "done"] == [
        "reasoning_delta",
        "content_delta",
        "content_delta",
        "done",
    ]
    assert '"delta": "thinking"' in body
    assert '"generation_stats":' in body
    assert scripted.exists()


def test_requests_one_after_the_other_each_on_a_loop_of_its_own_share_one_log(scripted: Path) -> None:
    """That is how a test client without a lifespan works: every request has a new event loop."""
    from duck_core.api import create_app

    client = TestClient(create_app())
    for _ in range(5):
        assert '"status": "completed"' in asked(client, conversation_id="mine")
    messages = client.get("/v1/conversations/mine").json()["messages"]
    assert [said["content"] for said in messages] == ["hello", "answer"] * 5
    assert len(client.get("/v1/tasks").json()) == 5


def test_the_app_of_old_works_with_a_lifespan_again_and_again(scripted: Path) -> None:
    from duck_core.api import create_app

    for nth in range(3):
        with TestClient(create_app()) as client:
            assert '"status": "completed"' in asked(client)
            assert len(client.get("/v1/tasks").json()) == nth + 1


def test_a_client_that_was_patched_under_its_old_name_is_the_one_that_is_used(
    scripted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it need not know of anything that came later."""
    from duck_core.api import create_app

    async def stream_chat(self: object, role: str, messages: object) -> Any:
        assert role == "thinker"
        yield {"type": "reasoning_delta", "delta": "patched thought"}
        yield {"type": "content_delta", "delta": "patched answer"}

    monkeypatch.setattr("duck_core.model_client.ModelClient.stream_chat", stream_chat)
    with TestClient(create_app()) as client:
        body = asked(client)
    assert '"delta": "patched thought"' in body
    assert '"delta": "patched answer"' in body
    assert '"status": "completed"' in body
