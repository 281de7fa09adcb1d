"""Problems: each has a stable code, and a sentence."""

from __future__ import annotations

import pytest

from quarterdeck.kernel import errors
from quarterdeck.kernel.errors import Conflict, Fenced, Problem, StorageFull, Unavailable

PROBLEMS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Problem)]


def test_every_kind_of_problem_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in PROBLEMS]
    assert len(set(codes)) == len(codes)
    assert all(code.replace("_", "").isalpha() and code.islower() for code in codes)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_problem_says_what_it_was_told(kind: type[Problem]) -> None:
    problem = kind("This helps.", extra={"expected": 2})
    assert (problem.detail, str(problem), problem.code) == ("This helps.", "This helps.", kind.code)
    assert problem.extra == {"expected": 2}
    assert kind("x", code="special").code == "special"
    assert kind.code != "special"


def test_what_is_caught_as_its_wider_kind_is_still_itself() -> None:
    assert issubclass(Fenced, Conflict)
    assert issubclass(StorageFull, Unavailable)
