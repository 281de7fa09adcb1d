"""How often a run may try, how long it waits in between, and when it is kept from its own doom."""

from __future__ import annotations

MAX_TRIES = 6
MAX_SIDE_TRIES = 2
MAX_CRASHES = 3
MOST_MALFORMED = 3  # calls in a row that make no sense
MOST_REPEATS = 3  # of one call with one result
FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0
LONGEST_ASKED_S = 300.0
BLAMELESS = frozenset({"crashed", "interrupted", "server_stopped"})


def delay_after(failures: int, asked: float | None) -> float:
    """Doubling, unless the provider named a time."""
    if asked is not None:
        return max(0.0, asked)
    return min(FIRST_DELAY_S * 2.0 ** max(0, failures - 1), LONGEST_DELAY_S)


def worth_another(code: str, failures: int, *, retryable: bool, asked: float | None, tries: int = MAX_TRIES) -> bool:
    if code in BLAMELESS:
        return True
    return retryable and failures < tries and (asked is None or asked <= LONGEST_ASKED_S)
