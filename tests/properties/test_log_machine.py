"""Whatever is done to a log, in whatever order, it stays what a trivial model says, over restarts too."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from logroom import (
    END,
    Shelf,
    claim,
    entry,
    events_of,
    kept,
    numbered,
    read_to,
    rebuilt,
    soon,
    stored_rows,
    stream,
    texts_of,
)
from quarterdeck.events.talk import ConversationOpened
from quarterdeck.kernel.errors import Closed, Conflict, Fenced, Problem
from quarterdeck.kernel.ids import StreamName
from quarterdeck.log.cursor import Gap
from quarterdeck.log.entries import Entry
from quarterdeck.ports import Once

pytestmark = pytest.mark.proof
T = TypeVar("T")
OPENED = ConversationOpened("opened")
NAMES = [stream("a"), stream("b"), stream("c", "run"), stream("a", tenant="elsewhere")]
WORKERS = ["w1", "w2"]
names, workers = st.sampled_from(NAMES), st.sampled_from(WORKERS)
texts = st.lists(st.text(max_size=8), min_size=1, max_size=4)


@dataclass
class Model:
    """One stream as anybody would note it on paper. `ends` are the last places of its rows."""

    texts: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    floor: int = 0
    epoch: int = 0
    owner: str | None = None
    closed: bool = False
    mark: int = 0
    mark_places: tuple[int, int] = (0, 0)

    def add(self, *texts: str, one_row: bool = False) -> tuple[int, int]:
        first = len(self.texts) + 1
        self.texts += texts
        self.ends += [len(self.texts)] if one_row else range(first, len(self.texts) + 1)
        return first, len(self.texts)


class LogMachine(RuleBasedStateMachine):
    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="quarterdeck-machine-"))
        self.shelf = Shelf(self.kind, self.folder)
        self.loop = asyncio.new_event_loop()
        self.model = {name: Model() for name in NAMES}
        self.keys: dict[str, str] = {}
        self.alive: set[str] = set()

    def do(self, awaited: Awaitable[T]) -> T:
        return self.loop.run_until_complete(soon(awaited))

    def refused(self, awaited: Awaitable[object], kind: type[Problem]) -> None:
        with pytest.raises(kind):
            self.do(awaited)

    @initialize(tail=st.sampled_from([1, 2000, 10**6]))
    def open(self, tail: int) -> None:
        self.tail = tail
        self.log = self.shelf.open(tail=tail)

    @rule()
    def reopen(self) -> None:
        self.open(self.tail)
        self.alive.clear()

    @rule(name=names, said=texts, opened=st.booleans())
    def append(self, name: StreamName, said: list[str], opened: bool) -> None:
        model = self.model[name]
        job = self.log.append(entry(name, *said, opening=(OPENED,) if opened else ()))
        if model.closed:
            return self.refused(job, Closed)
        opening = [OPENED.KIND] if opened and not model.texts else []
        assert self.do(job).places == (model.add(*opening, *said),)
        return None

    @rule(name=names, other=names, said=texts, epoch=st.integers(0, 3))
    def append_to_two(self, name: StreamName, other: StreamName, said: list[str], epoch: int) -> None:
        job = self.log.append(entry(name, *said), entry(other, *said, fence=epoch))
        if epoch != self.model[other].epoch:
            return self.refused(job, Conflict)
        if self.model[name].closed or self.model[other].closed:
            return self.refused(job, Closed)
        assert self.do(job).places == (self.model[name].add(*said), self.model[other].add(*said))
        return None

    @rule(name=names, said=texts, step=st.integers(0, 2))
    def append_numbered(self, name: StreamName, said: list[str], step: int) -> None:
        model, seq = self.model[name], self.model[name].mark + step
        if seq < 1:
            return
        job = self.log.append(numbered(name, seq, *said))
        if step == 0:
            assert self.do(job).places == (model.mark_places,)
        elif step == 2:
            self.refused(job, Conflict)
        elif model.closed:
            self.refused(job, Closed)
        else:
            model.mark, model.mark_places = seq, model.add(*said)
            assert self.do(job).places == (model.mark_places,)
        return

    @rule(name=names, key=st.sampled_from("kl"), body=st.sampled_from("xy"))
    def append_once(self, name: StreamName, key: str, body: str) -> None:
        job = self.log.append(entry(name, body), once=Once(key, body.encode(), b"answer " + body.encode()))
        if key in self.keys and self.keys[key] != body:
            self.refused(job, Conflict)
        elif key in self.keys:
            assert self.do(job).answer == b"answer " + body.encode()
        elif self.model[name].closed:
            self.refused(job, Closed)
        else:
            self.keys[key] = body
            assert self.do(job).places == (self.model[name].add(body),)

    @rule(name=names, said=texts, epoch=st.integers(0, 3), kind=st.sampled_from(["content", "reasoning"]))
    def pour(self, name: StreamName, said: list[str], epoch: int, kind: str) -> None:
        model = self.model[name]

        async def poured() -> None:
            spout = self.log.spout(name, fence=epoch, actor="m")
            spout.pour(kind, 1, said)  # type: ignore[arg-type]
            await spout.below(0)

        if epoch != model.epoch or model.closed:
            return self.refused(poured(), Conflict)
        self.do(poured())
        model.add(*(said if kind == "content" else ["run.reasoning"] * len(said)), one_row=True)
        return None

    @rule(name=names, worker=workers, step=st.integers(0, 2))
    def claim(self, name: StreamName, worker: str, step: int) -> None:
        model = self.model[name]
        job = self.log.append(claim(name, worker, model.epoch + step))
        if model.closed:
            return self.refused(job, Closed)
        if step != 1 or (model.owner in self.alive and model.owner != worker):
            return self.refused(job, Fenced)
        model.epoch, model.owner = model.epoch + 1, worker
        assert self.do(job).places == (model.add(f"{worker} took it"),)
        return None

    @rule(worker=workers, up=st.booleans())
    def beat_or_retire(self, worker: str, up: bool) -> None:
        if up:
            self.log.beat(worker)
            self.alive.add(worker)
        else:
            self.log.retire(worker)
            self.alive.discard(worker)

    @rule(name=st.sampled_from(NAMES[2:3]))
    def end(self, name: StreamName) -> None:
        model = self.model[name]
        job = self.log.append(Entry(name, (END,)))
        if model.closed:
            return self.refused(job, Closed)
        model.closed = True
        assert self.do(job).places == (model.add(END.KIND),)
        return None

    @precondition(lambda self: any(model.texts for model in self.model.values()))
    @rule(name=names, place=st.integers(0, 40))
    def trim(self, name: StreamName, place: int) -> None:
        model = self.model[name]
        if not model.texts:
            return
        model.floor = max([model.floor, *(end for end in model.ends if end <= place)])
        assert self.do(self.log.trim(name, place, b"%d" % place)).floor == model.floor

    @rule(name=names, after=st.integers(0, 40))
    def follow(self, name: StreamName, after: int) -> None:
        model = self.model[name]

        async def followed() -> None:
            cursor = self.log.follow(name, after)
            if after < model.floor:
                with pytest.raises(Gap) as gap:
                    await cursor.ready()
                assert (gap.value.first, gap.value.last) == (after + 1, model.floor)
            elif after <= len(model.texts):
                assert texts_of(await read_to(cursor, len(model.texts))) == model.texts[after:]
                assert not await cursor.ready()

        self.do(followed())

    @invariant()
    def heads_are_as_noted(self) -> None:
        for name, model in self.model.items():
            state = self.do(self.log.look(name)) if hasattr(self, "log") else None
            if state is None:
                assert not model.texts
            else:
                seen = (state.head, state.floor, state.epoch, state.owner, state.closed)
                assert seen == (len(model.texts), model.floor, model.epoch, model.owner, model.closed)

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.judge()
        self.shelf.close()
        self.loop.close()
        shutil.rmtree(self.folder)

    def judge(self) -> None:
        """At the end, and once more after a restart: all texts, the chain, the read models, the replay."""
        for _ in range(2):
            for name, model in self.model.items():
                rows = stored_rows(self.shelf.store, name)
                assert texts_of(rows) == model.texts[model.floor :]
                assert [row.last for row in rows] == [end for end in model.ends if end > model.floor]
                assert len(events_of(rows)) == len(rows)
            assert self.do(self.log.verify()) == []
            if not any(model.floor for model in self.model.values()):
                assert kept(self.shelf.store) == rebuilt(self.shelf.store)
            self.log = self.shelf.open(tail=self.tail)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_log_is_what_a_trivial_model_says_it_is(kind: str, rounds: int) -> None:
    machine = type("Machine", (LogMachine,), {"kind": kind})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40 * rounds,
            stateful_step_count=30,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
