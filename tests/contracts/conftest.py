"""Every store behind the same log: what is promised of one is promised of all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from logroom import Shelf
from quarterdeck.log.log import Log


@pytest.fixture(params=["memory", "sqlite"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(request.param, tmp_path)
    yield shelf
    shelf.close()


@pytest.fixture
def log(shelf: Shelf) -> Log:
    return shelf.open()
