"""Rows: how entries become them, how they are chained, cut and read. Pure, and the same for every store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import orjson

from quarterdeck.events.agent_stream import AgentStreamDelta
from quarterdeck.events.base import Erased, Event, Recorded
from quarterdeck.events.codec import BY_KIND, decode, encode
from quarterdeck.events.run import ContentStreamed, ReasoningStreamed
from quarterdeck.kernel.errors import Closed, Conflict, Fenced, Invalid, Moved
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.entries import Claim, Entry, Producer
from quarterdeck.ports import Mark, Row, StreamState

DELTAS = frozenset({ContentStreamed.KIND, ReasoningStreamed.KIND, AgentStreamDelta.KIND})
SALT = 16
DIGEST = 32  # stands in the salt's place where a row was erased
LONGEST_REASON = 200


def admit(state: StreamState, entry: Entry, alive: Callable[[str], bool]) -> StreamState:
    """Whether the entry may go in, and the stream as it stands once its writer is let in."""
    if entry.claim is not None:
        admitted = _claimed(state, entry.claim, alive)
    else:
        refuse(state, entry.fence)
        admitted = state
    if entry.head is not None and entry.head != state.head:
        raise Moved(f"{state.name} was to end at {entry.head} and has gone on to {state.head}.")
    return admitted


def refuse(state: StreamState, fence: int | None) -> None:
    """Raise where a writer with this fence has no business in the stream any more."""
    if fence is not None and fence != state.epoch:
        raise Fenced(f"{state.name} was taken over: epoch {fence} is over, {state.epoch} owns it.")
    if state.closed:
        raise Closed(f"{state.name} has ended.")


def _claimed(state: StreamState, claim: Claim, alive: Callable[[str], bool]) -> StreamState:
    if state.closed:
        raise Closed(f"{state.name} has ended.")
    if claim.epoch != state.epoch + 1:
        raise Fenced(f"{state.name} is at epoch {state.epoch}; a claim of {claim.epoch} comes too late.")
    if state.owner is not None and state.owner != claim.worker and alive(state.owner):
        raise Fenced(f"{state.name} belongs to a worker that is alive.")
    return replace(state, epoch=claim.epoch, owner=claim.worker)


def repeated(state: StreamState, producer: Producer) -> Mark | None:
    """The mark of an append that was made before, None for the next one; anything else is refused."""
    if producer.seq < 1:
        raise Invalid(f"producer {producer.id!r} counts its appends from 1, not {producer.seq}.")
    mark = state.marks.get(producer.id)
    known_epoch, known_seq = (mark.epoch, mark.seq) if mark else (producer.epoch, 0)
    if producer.epoch < known_epoch:
        raise Fenced(f"producer {producer.id!r} is at epoch {known_epoch}; {producer.epoch} is over.")
    expected = known_seq + 1 if producer.epoch == known_epoch else 1
    if producer.seq < expected:
        return mark
    if producer.seq > expected:
        raise Conflict(
            f"producer {producer.id!r} left out {expected} before {producer.seq}.",
            code="producer_gap",
            extra={"expected": expected},
        )
    return None


def placed(state: StreamState, entry: Entry, at: float, salts: Iterator[bytes]) -> tuple[StreamState, list[Row]]:
    """The rows of an entry that was let in, and the stream after them."""
    rows: list[Row] = []
    before = state
    for event in (*entry.opening, *entry.events) if state.head == 0 else entry.events:
        if state.closed:
            raise Closed(f"{state.name} cannot go on after its last event.")
        row = row_of(state, event, at, next(salts), entry.actor, entry.cause)
        state = advanced(state, row, closed=event.TERMINAL)
        rows.append(row)
    if entry.producer is not None:
        mark = Mark(entry.producer.epoch, entry.producer.seq, before.head + 1, state.head)
        state = replace(state, marks={**state.marks, entry.producer.id: mark})
    return state, rows


def row_of(state: StreamState, event: Event, at: float, salt: bytes, actor: str, cause: str | None) -> Row:
    """The row behind the stream's last one."""
    span = event.span
    if span < 1 or not event.KIND:
        raise Invalid(f"{event!r} takes no place in a stream.")
    try:
        data = encode(event)
        row = Row(state.head + 1, state.head + span, at, event.KIND, event.VERSION, actor, cause, data, salt, b"")
        row.chain = link(state.name, row, state.chain)
    except (TypeError, ValueError) as error:  # half a character, or a number too large
        raise Invalid(f"A {event.KIND} cannot be stored: {error}.") from None
    return row


def advanced(s: StreamState, row: Row, *, closed: bool = False) -> StreamState:
    """The stream after one more row; written out, because it is done for every one."""
    return StreamState(s.id, s.name, row.last, s.floor, s.epoch, s.owner, closed, row.chain, s.floor_chain, s.marks)


def link(name: StreamName, row: Row, before: bytes) -> bytes:
    """The row's hash over the one before it. Its data enters as a salted digest, so that erasing data and salt
    leaves a chain that still verifies and a digest that gives nothing away."""
    inner = row.salt if len(row.salt) == DIGEST else hashlib.sha256(row.salt + row.data).digest()
    place = (name.tenant, name.kind, name.key, row.first, row.last, row.at)
    head = orjson.dumps((*place, row.kind, row.version, row.actor, row.cause))
    return hashlib.sha256(before + head + inner).digest()


def broken_link(state: StreamState, rows: Iterable[Row]) -> str | None:
    """What is wrong with a stream's rows, in words; None where places and hashes are as they were written."""
    head, chain = state.floor, state.floor_chain
    for row in rows:
        if row.first != head + 1:
            return f"place {head + 1} is missing: the next row holds {row.first} to {row.last}"
        if not _genuine(state.name, row, chain):
            return f"the row at {row.first} is not what was written"
        head, chain = row.last, row.chain
    return None


def _genuine(name: StreamName, row: Row, chain: bytes) -> bool:
    try:
        whole = len(row.salt) == SALT or (len(row.salt) == DIGEST and _is_marker(row.data))
        return whole and row.last >= row.first and link(name, row, chain) == row.chain
    except (TypeError, ValueError):  # a value of another type than was written
        return False


def unended(state: StreamState, last: Row | None) -> bool:
    """Whether a closed stream lacks its last event. One of a kind that a later release knows is taken on trust."""
    kind = None if last is None else BY_KIND.get(last.kind)
    return state.closed and kind is not None and not kind.TERMINAL


def erased(row: Row, reason: str) -> Row:
    """The row without its content: a mark of why, and the digest that keeps the chain whole and gives nothing away."""
    marker = orjson.dumps({"erased": reason[:LONGEST_REASON]})
    return replace(row, data=marker, salt=hashlib.sha256(row.salt + row.data).digest())


def is_erased(row: Row) -> bool:
    return len(row.salt) == DIGEST


def _is_marker(data: bytes) -> bool:
    """What stands in an erased row is outside the chain, so that it may be nothing but the mark."""
    told = orjson.loads(data)
    return isinstance(told, dict) and list(told) == ["erased"] and isinstance(told["erased"], str)


def event_of(row: Row) -> Event:
    if is_erased(row):
        return Erased(row.kind, orjson.loads(row.data)["erased"], row.last - row.first + 1)
    return decode(row.kind, row.version, row.data, row.last - row.first + 1)


def recorded(name: StreamName, row: Row) -> Recorded:
    return Recorded(name.tenant, str(name), row.first, row.last, row.at, row.actor, row.cause, event_of(row))


def cut(row: Row, after: int) -> Row:
    """The part of a row behind a place in its middle: a reader may stand between two deltas of one commit."""
    if row.first > after:
        return row
    if is_erased(row):
        return replace(row, first=after + 1)
    if row.kind not in DELTAS:
        return row
    rest = event_of(row).behind(after - row.first + 1)
    return replace(row, first=after + 1, data=encode(rest))
