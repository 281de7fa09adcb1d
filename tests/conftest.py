"""What every test may use: how often the proofs repeat, and a free port."""

from __future__ import annotations

import pytest
from hypothesis import settings

# How long an example takes depends on what else the machine does, and is nothing that a test may fail for.
settings.register_profile("house", deadline=None)
settings.load_profile("house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rounds", type=int, default=1, help="how often the proofs of the long programme repeat")


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--rounds"))
