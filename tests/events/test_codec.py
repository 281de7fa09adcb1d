"""Events as bytes: what was stored once is read for ever, and what a later release wrote is passed on."""

from __future__ import annotations

import dataclasses
from typing import Any

import orjson
import pytest
from examples import EXAMPLES, GOLDEN, golden, stored

from quarterdeck.events.base import Event, Unknown
from quarterdeck.events.codec import BY_KIND, VOCABULARY, decode, encode
from quarterdeck.events.run import RunClaimed, RunFinished, StageChanged
from quarterdeck.events.upcast import upcast


def told(event: Event) -> Any:
    return orjson.loads(orjson.dumps(dataclasses.asdict(event)))


def holds(value: Any, expected: Any) -> bool:
    """Whether all that was stored is still there; fields that were added since do not matter."""
    if isinstance(expected, dict):
        return isinstance(value, dict) and all(key in value and holds(value[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return isinstance(value, list) and len(value) == len(expected) and all(map(holds, value, expected))
    return type(value) is type(expected) and value == expected


@pytest.mark.parametrize("line", golden(), ids=lambda line: f"{line['kind']}-{line['version']}")
def test_what_was_stored_then_is_read_as_it_was_meant(line: dict[str, Any]) -> None:
    event = decode(line["kind"], line["version"], line["data"].encode())
    assert isinstance(event, BY_KIND[line["kind"]])
    assert holds(told(event), line["value"])


@pytest.mark.parametrize("line", golden(), ids=lambda line: f"{line['kind']}-{line['version']}")
def test_what_is_of_todays_version_is_stored_as_it_was_then(line: dict[str, Any]) -> None:
    data = line["data"].encode()
    if line["version"] == BY_KIND[line["kind"]].VERSION:
        assert encode(decode(line["kind"], line["version"], data)) == data


def test_the_golden_log_has_every_kind_as_it_is_stored_today() -> None:
    kept = {(line["kind"], line["version"]) for line in golden()}
    missing = [event.KIND for event in VOCABULARY if (event.KIND, event.VERSION) not in kept]
    assert not missing, f"add an example and run `python tests/events/examples.py`: {missing}"


def test_the_golden_log_ends_in_whole_lines() -> None:
    assert GOLDEN.read_bytes().endswith(b"}\n")


def test_every_kind_has_an_example_that_comes_back_equal() -> None:
    assert [type(event) for event in EXAMPLES] == list(VOCABULARY)
    for event in EXAMPLES:
        assert decode(event.KIND, event.VERSION, encode(event)) == event
        assert stored(event)["value"] == told(event)


def test_every_field_of_an_example_differs_from_its_default() -> None:
    """Else the golden log would not show whether the field is stored at all."""
    for event in EXAMPLES:
        for field in dataclasses.fields(event):
            made = None if field.default_factory is dataclasses.MISSING else field.default_factory()
            default = made if field.default is dataclasses.MISSING else field.default
            assert getattr(event, field.name) != default, f"{event.KIND}: {field.name}"


def test_kinds_are_names_of_their_own() -> None:
    assert len(BY_KIND) == len(VOCABULARY)
    assert all(event.KIND.count(".") == 1 and event.KIND.islower() for event in VOCABULARY)


def test_every_event_of_the_house_is_in_the_vocabulary() -> None:
    ours = [event for event in Event.__subclasses__() if event.__module__.startswith("quarterdeck.events.")]
    assert {event.KIND for event in ours} - {Unknown.KIND} == set(BY_KIND)


@pytest.mark.parametrize(("kind", "version"), [("run.dreamed", 1), ("run.claimed", 2), ("run.claimed", 99)])
def test_what_a_later_release_wrote_is_kept_as_it_is(kind: str, version: int) -> None:
    data = b'{"worker":"w","epoch":1,"mood":"fine"}'
    event = decode(kind, version, data, places=4)
    assert event == Unknown(kind, data, 4)
    assert event.span == 4
    assert encode(event) == data


def test_a_field_that_an_old_event_lacks_has_its_default() -> None:
    assert decode("run.finished", 1, b'{"outcome":"completed"}') == RunFinished("completed")


def test_an_old_shape_goes_through_every_step_up_to_today() -> None:
    steps = {
        ("run.stage_changed", -1): lambda shape: {"phase": shape["p"]},
        ("run.stage_changed", 0): lambda shape: {"stage": shape["phase"]},
    }
    assert decode("run.stage_changed", -1, b'{"p":"planning"}', steps=steps) == StageChanged("planning")
    assert decode("run.stage_changed", 0, b'{"phase":"planning"}', steps=steps) == StageChanged("planning")
    assert decode("run.stage_changed", 1, b'{"stage":"planning"}', steps=steps) == StageChanged("planning")


def test_a_missing_step_is_named() -> None:
    with pytest.raises(LookupError, match=r"run\.claimed.* from version 0 to 1"):
        decode(RunClaimed.KIND, 0, b"{}")
    with pytest.raises(LookupError, match="from version 2 to 3"):
        upcast("x", 1, 3, {}, {("x", 1): dict})
