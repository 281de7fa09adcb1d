"""A stage for runs: a real log, on memory and on SQLite, whose supervisors are let go at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from staging import Stage

from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.log.memory import MemoryStore


@pytest.fixture(params=["memory", "sqlite"])
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "runs.db"))
    yield stage
    await stage.close()
