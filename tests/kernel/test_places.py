"""Cursors as clients hold them, and names that clients choose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kernel.cursor import Place, parse_place, print_place
from quarterdeck.kernel.errors import Invalid
from quarterdeck.kernel.ids import (
    ConversationId,
    RunId,
    StreamName,
    TenantId,
    checked_name,
    conversation_stream,
    run_stream,
)

EPOCHS = st.text("0123456789abcdef", min_size=8, max_size=8)
SEQS = st.integers(0, 2**53)


@given(EPOCHS, SEQS)
def test_a_place_is_read_as_it_was_written(epoch: str, seq: int) -> None:
    assert parse_place(print_place(epoch, seq)) == Place(seq, epoch)


@given(SEQS)
def test_a_bare_number_is_a_place_of_whatever_log(seq: int) -> None:
    assert parse_place(str(seq)) == Place(seq, None)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "-1", "+1", "01", "1 ", "1\n", "1.0", "1e3", "0x1", "٣", "１", "null", "99999999999999999",
        "v1.0011aabb", "v1.0011aabb.", "v1.0011aabb.01", "v1.0011aabb.-1", "v1.0011aabb.1\n", "v1.0011AABB.1",
        "v1.0011aab.1", "v1.0011aabbc.1", "v2.0011aabb.1", "v1.0011aabb.1.2", " v1.0011aabb.1", "v1..1",
    ],
)  # fmt: skip
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_place(text)
    assert refused.value.code == "bad_cursor"


@given(st.text())
def test_whatever_is_sent_is_a_place_or_refused(text: str) -> None:
    try:
        place = parse_place(text)
    except Invalid:
        return
    assert text in {str(place.seq), print_place(place.epoch or "", place.seq)}


@pytest.mark.parametrize("name", ["a", "A-1", "0190b1c2", "a.b_c:d-e", "x" * 128])
def test_a_name_that_is_short_and_plain_is_taken(name: str) -> None:
    assert checked_name(name, "name") == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "-a", "_a", ":a", "a/b", "a b", "a\n", "a\0", "é", "中", "x" * 129, "a%2fb", "a\\b", "a?b"]
)
def test_a_name_that_could_be_something_else_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="conversation_id must be"):
        checked_name(name, "conversation_id")


def test_a_stream_reads_like_a_path_and_tenants_keep_theirs_apart() -> None:
    mine, theirs = run_stream(TenantId("a"), RunId("r1")), run_stream(TenantId("b"), RunId("r1"))
    assert str(mine) == str(theirs) == "run/r1"
    assert mine != theirs
    assert conversation_stream(TenantId("a"), ConversationId("r1")) != mine
    assert mine == StreamName(TenantId("a"), "run", "r1")
