"""Every event of the vocabulary, drawn from the types of its fields."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, Literal

from hypothesis import strategies as st

from quarterdeck.events.base import Event
from quarterdeck.events.codec import VOCABULARY

LARGEST = 2**53


def of_type(kind: Any) -> st.SearchStrategy[Any]:
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return st.builds(kind, **{field.name: of_type(hints[field.name]) for field in dataclasses.fields(kind)})
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(of_type(arguments[0]), min_size=1, max_size=6).map(tuple)
    if origin in {typing.Union, types.UnionType}:
        return st.one_of(*map(of_type, arguments))
    return _PLAIN[kind]


_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=40),
    bool: st.booleans(),
    int: st.integers(-LARGEST, LARGEST),
    float: st.floats(allow_nan=False, allow_infinity=False),
    type(None): st.none(),
}


def events() -> st.SearchStrategy[Event]:
    return st.one_of(*map(of_type, VOCABULARY))


def events_of_runs() -> st.SearchStrategy[Event]:
    return st.one_of(*(of_type(event) for event in VOCABULARY if event.KIND.startswith("run.") and not event.TERMINAL))
