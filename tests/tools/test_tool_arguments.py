"""Arguments are typed, and what does not fit is said in a sentence that names the argument."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.adapters.tools.arguments import Says, read, schema, written
from quarterdeck.kernel.errors import ToolFailed


@dataclass(frozen=True, slots=True)
class Sample:
    path: Annotated[str, Says("where", least=1, most=20)]
    limit: Annotated[int, Says("how much", least=1, most=100)] = 10
    loud: Annotated[bool, Says("whether it is heard")] = False
    words: Annotated[tuple[str, ...], Says("some words", most=3)] = ()


def test_the_schema_says_what_may_be_given() -> None:
    assert schema(Sample) == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "where", "minLength": 1, "maxLength": 20},
            "limit": {"type": "integer", "description": "how much", "minimum": 1, "maximum": 100, "default": 10},
            "loud": {"type": "boolean", "description": "whether it is heard", "default": False},
            "words": {"type": "array", "description": "some words", "items": {"type": "string"}, "maxItems": 3},
        },
        "required": ["path"],
        "additionalProperties": False,
    }


def test_what_fits_is_read() -> None:
    assert read(Sample, '{"path": "a"}') == Sample("a")
    assert read(Sample, '{"words": ["x", "y"], "limit": 3, "loud": true, "path": "a"}') == Sample(
        "a", 3, loud=True, words=("x", "y")
    )
    assert read(Sample, '{"path": "a", "limit": null}') == Sample("a")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The argument 'path' is missing: where."),
        ("{}", "The argument 'path' is missing: where."),
        ('{"path": null}', "The argument 'path' is missing: where."),
        ('{"path": "a", "pth": "b"}', "There is no argument 'pth'; did you mean 'path'?"),
        ('{"path": "a", "zzzz": 1}', "There is no argument 'zzzz'; It takes 'path', 'limit', 'loud', 'words'."),
        ('{"path": 1}', "The argument 'path' must be a text: where."),
        ('{"path": ""}', "The argument 'path' must be at least 1 characters; it is 0."),
        (json.dumps({"path": "x" * 21}), "The argument 'path' can be at most 20 characters; it is 21."),
        ('{"path": "a", "limit": "3"}', "The argument 'limit' must be a whole number: how much."),
        ('{"path": "a", "limit": 3.0}', "The argument 'limit' must be a whole number: how much."),
        ('{"path": "a", "limit": true}', "The argument 'limit' must be a whole number: how much."),
        ('{"path": "a", "limit": 0}', "The argument 'limit' must be at least 1; it is 0."),
        ('{"path": "a", "limit": 101}', "The argument 'limit' can be at most 100; it is 101."),
        ('{"path": "a", "loud": 1}', "The argument 'loud' must be true or false: whether it is heard."),
        ('{"path": "a", "words": "x"}', "The argument 'words' must be a list of texts: some words."),
        ('{"path": "a", "words": [1]}', "The argument 'words' must be a list of texts: some words."),
        ('{"path": "a", "words": ["", "", "", ""]}', "The argument 'words' can be at most 3 entries; it is 4."),
    ],
)
def test_what_does_not_fit_is_named(text: str, said: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        read(Sample, text)
    assert str(failed.value) == said


@pytest.mark.parametrize(
    "text",
    [
        "[]", '"path"', "nonsense", '{"path": NaN}', '{"path": "a", "path": "b"}', '{"path": "\\ud800"}', "{" * 3000,
        '{"path":' + "[" * 900 + "]" * 900 + "}", '{"path": "a"} x', "\ufeff{}", '{"path": "' + "x" * (3 << 20) + '"}',
    ],
)  # fmt: skip
def test_what_is_no_object_or_could_be_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(ToolFailed):
        read(Sample, text)


@given(
    st.builds(
        Sample,
        st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20),
        st.integers(1, 100),
        st.booleans(),
        st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=9), max_size=3).map(tuple),
    )
)
def test_what_is_written_reads_the_same(sample: Sample) -> None:
    assert read(Sample, written(sample)) == sample


def test_what_is_as_it_would_be_anyway_is_not_written() -> None:
    assert written(Sample("a")) == '{"path":"a"}'
    assert written(Sample("a", 11, loud=True)) == '{"limit":11,"loud":true,"path":"a"}'
