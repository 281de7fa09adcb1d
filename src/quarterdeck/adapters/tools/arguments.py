"""A tool's arguments: a frozen dataclass, from which the JSON schema and the strict reader follow.

    @dataclass(frozen=True, slots=True)
    class ReadFile:
        path: Annotated[str, Says("the file, relative to the workspace")]
        limit: Annotated[int, Says("at most so many bytes", least=1, most=65_536)] = 65_536

A field may be `str`, `int`, `bool` or `tuple[str, ...]`. One without a default must be given.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, Field, dataclass, fields
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import orjson

from quarterdeck.kernel.errors import ToolFailed

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LONGEST_ARGUMENTS = 2 << 20
LONGEST_TEXT = 1 << 20
MOST_TEXTS = 100
KINDS = {str: "string", int: "integer", bool: "boolean", tuple: "array"}
NAMED = {str: "a text", int: "a whole number", bool: "true or false", tuple: "a list of texts"}

A = TypeVar("A", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Says:
    """What a model is told about an argument. `least` and `most` bound a number, or the length of a text."""

    what: str
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class _Slot:
    name: str
    kind: type
    says: Says
    default: object

    @property
    def needed(self) -> bool:
        return self.default is MISSING


def schema(arguments: type[A]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    slots = _slots(arguments)
    return {
        "type": "object",
        "properties": {slot.name: _property(slot) for slot in slots},
        "required": [slot.name for slot in slots if slot.needed],
        "additionalProperties": False,
    }


def read(arguments: type[A], text: str) -> A:
    """What a model wrote, checked. Raises `ToolFailed` with a sentence that names the argument."""
    given = _document(text)
    slots = {slot.name: slot for slot in _slots(arguments)}
    for name in given:
        if name not in slots:
            near = get_close_matches(name, slots, 1)
            meant = f"did you mean {near[0]!r}?" if near else f"It takes {_listed(slots)}."
            raise ToolFailed(f"There is no argument {name!r}; {meant}")
    missing = [slot.name for slot in slots.values() if slot.needed and given.get(slot.name) is None]
    if missing:
        raise ToolFailed(f"The argument {missing[0]!r} is missing: {slots[missing[0]].says.what}.")
    # A null for what need not be given means that it was not given; models write it.
    checked = {name: _checked(slots[name], value) for name, value in given.items() if value is not None}
    return arguments(**checked)


def written(arguments: DataclassInstance) -> str:
    """The same arguments as one fixed JSON text: sorted, and without what is as it would be anyway."""
    said = {
        each.name: value
        for each in fields(arguments)
        if (value := getattr(arguments, each.name)) != each.default or each.default is MISSING
    }
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode()


@cache
def _slots(arguments: type[DataclassInstance]) -> tuple[_Slot, ...]:
    hints = get_type_hints(arguments, include_extras=True)
    return tuple(_slot(each, hints[each.name]) for each in fields(arguments))


def _slot(each: Field[Any], hint: Any) -> _Slot:
    kind, says = get_args(hint)[:2]
    return _Slot(each.name, get_origin(kind) or kind, says, each.default)


def _property(slot: _Slot) -> dict[str, Any]:
    said: dict[str, Any] = {"type": KINDS[slot.kind], "description": slot.says.what}
    least, most = ("minLength", "maxLength") if slot.kind is str else ("minimum", "maximum")
    if slot.kind is tuple:
        said["items"] = {"type": "string"}
        least, most = "minItems", "maxItems"
    if slot.says.least is not None:
        said[least] = slot.says.least
    if slot.says.most is not None:
        said[most] = slot.says.most
    if slot.default not in (MISSING, "", ()):
        said["default"] = slot.default
    return said


def _document(text: str) -> dict[str, Any]:
    if len(text) > LONGEST_ARGUMENTS:
        raise ToolFailed(f"The arguments are longer than {LONGEST_ARGUMENTS:,} characters.")
    try:
        # The first reader refuses what JSON does not have; the second sees names that stand there twice.
        orjson.loads(text or "{}")
        document = json.loads(text or "{}", object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError):
        raise ToolFailed('The arguments are not a JSON object; send one, such as {"path": "notes.txt"}.') from None
    if not isinstance(document, dict):
        raise ToolFailed("The arguments must be a JSON object, with a name for each argument.")
    return document


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a name is there twice")
    return document


def _checked(slot: _Slot, value: object) -> object:
    if slot.kind is tuple and isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = tuple(value)
    if type(value) is not slot.kind:
        raise ToolFailed(f"The argument {slot.name!r} must be {NAMED[slot.kind]}: {slot.says.what}.")
    _bounded(slot, value)
    return value


def _bounded(slot: _Slot, value: object) -> None:
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        size, most, of = value, slot.says.most, ""
    else:
        size, most = len(cast(str, value)), slot.says.most or (MOST_TEXTS if slot.kind is tuple else LONGEST_TEXT)
        of = " entries" if slot.kind is tuple else " characters"
    if slot.says.least is not None and size < slot.says.least:
        raise ToolFailed(f"The argument {slot.name!r} must be at least {slot.says.least:,}{of}; it is {size:,}.")
    if most is not None and size > most:
        raise ToolFailed(f"The argument {slot.name!r} can be at most {most:,}{of}; it is {size:,}.")


def _listed(slots: dict[str, _Slot]) -> str:
    return ", ".join(repr(name) for name in slots) or "no arguments"
