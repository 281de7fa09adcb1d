"""A place in a stream as clients hold it: `v1.<epoch>.<seq>`, or the bare seq where a client only knows integers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from quarterdeck.kernel.errors import Invalid

_WIRE = re.compile(r"v1\.([0-9a-f]{8})\.(0|[1-9][0-9]{0,15})")
_BARE = re.compile(r"0|[1-9][0-9]{0,15}")


@dataclass(frozen=True, slots=True)
class Place:
    """A seq and, where the client knew it, the incarnation of the log it was read from."""

    seq: int
    epoch: str | None = None


def parse_place(text: str) -> Place:
    if found := _WIRE.fullmatch(text):
        return Place(int(found[2]), found[1])
    if _BARE.fullmatch(text):
        return Place(int(text))
    raise Invalid(
        "The cursor is neither `v1.<epoch>.<seq>` as sent in an event's id nor a plain number.", code="bad_cursor"
    )


def print_place(epoch: str, seq: int) -> str:
    return f"v1.{epoch}.{seq}"
