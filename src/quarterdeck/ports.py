"""What the outside must offer: every socket in the walls of the house, in one file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from quarterdeck.events.run import SkillActivated
from quarterdeck.kernel.ids import ConversationId, RunId, StreamName, TenantId
from quarterdeck.kernel.parts import Effect, Message, Reasoning, Remembered, Risk, ToolCall, ToolSpec, Usage
from quarterdeck.kernel.skills import Skill
from quarterdeck.kernel.tenancy import Sealed

# Models


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model. An option that is None was not asked for and is not sent."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    temperature: float | None = None
    max_output_tokens: int | None = None
    schema: Mapping[str, Any] | None = None
    reasoning: Reasoning | None = None


@dataclass(frozen=True, slots=True)
class Burst:
    """Text that arrived together: one entry for each delta the model sent, none of them empty."""

    kind: Literal["content", "reasoning"]
    texts: list[str]


@dataclass(frozen=True, slots=True)
class Ended:
    """The provider said that the reply is whole. Always last, always there."""

    finish: Literal["stop", "length", "tool_calls", "refused"]
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)


ModelEvent: TypeAlias = Burst | Ended


@dataclass(frozen=True, slots=True)
class Traits:
    """What a model can do. `slight` marks one too small to be asked for decisions about tools."""

    tools: bool = False
    schema: bool = False
    reasoning: bool = False
    slight: bool = False


class Model(Protocol):
    """A language model. It may be called from any event loop, several calls at a time."""

    @property
    def name(self) -> str:
        """`provider/model`, as shown to people and kept in events."""

    @property
    def traits(self) -> Traits: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield bursts as they come and `Ended` last, or raise `ModelFailed`; never stop silently.

        Closing the iterator stops the model at once.
        """

    async def aclose(self) -> None:
        """Let go of connections that belong to the running loop."""


# The log's store


@dataclass(slots=True)
class Row:
    """What one commit added to one stream under one kind: places `first` to `last`, already bytes.

    `wire` and `hub` are its frames for streams and for the hub: made once, shared by all watchers, never copied.
    """

    first: int
    last: int
    at: float
    kind: str
    version: int
    actor: str
    cause: str | None
    data: bytes
    salt: bytes
    chain: bytes
    wire: bytes | None = field(default=None, init=False)
    hub: bytes | None = field(default=None, init=False)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a producer has come in a stream: (epoch, seq) of its last append, and the places that append took."""

    epoch: int
    seq: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class StreamState:
    """Where a stream stands. `chain` is the hash of its last row; below `floor` its rows are gone."""

    id: int
    name: StreamName
    head: int = 0
    floor: int = 0
    epoch: int = 0
    owner: str | None = None
    closed: bool = False
    chain: bytes = b""
    floor_chain: bytes = b""
    marks: Mapping[str, Mark] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Once:
    """An answer kept under a key, so that the same request made twice is carried out once."""

    key: str
    digest: bytes
    answer: bytes


@dataclass(frozen=True, slots=True)
class Table:
    """A read model: columns (`text`, `integer` or `real`), its key, and what else it is looked up by."""

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    lookups: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Put:
    """Set a whole line of a table, new or not."""

    table: Table
    line: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Patch:
    """Change some columns of one line; nothing happens where there is no such line."""

    table: Table
    key: Mapping[str, object]
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Add:
    """Add to numbers of one line; nothing happens where there is no such line."""

    table: Table
    key: Mapping[str, object]
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Drop:
    """Take the lines that are equal in these columns out of a table."""

    table: Table
    key: Mapping[str, object]


Change: TypeAlias = Put | Patch | Add | Drop


@dataclass(slots=True)
class Batch:
    """All that one transaction writes. `streams` holds the new state of each stream that changed; `erased` are rows
    that are there already, with what stands in the place of their content."""

    streams: dict[StreamName, StreamState] = field(default_factory=dict)
    fresh: set[StreamName] = field(default_factory=set)
    touched: set[StreamName] = field(default_factory=set)
    rows: list[tuple[StreamState, Row]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    onces: list[tuple[Once, float]] = field(default_factory=list)
    erased: list[tuple[StreamState, Row]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Query:
    """Lines of a table: equal to `where`, in order of one column, beginning after a value of it."""

    table: Table
    where: Mapping[str, object]
    order: str
    descending: bool = False
    after: object | None = None
    limit: int = 100


class Store(Protocol):
    """Keeps rows. One thread commits; reads may come from any thread and see only what was committed."""

    @property
    def epoch(self) -> str:
        """Eight hex digits that change when the log's past changed: on a restore."""

    def prepare(self, tables: Sequence[Table], fill: Callable[[frozenset[str]], None] | None = None) -> None:
        """Make sure that the tables are there. `fill` is told which are new, or were of another shape, and so empty."""

    def stream(self, name: StreamName) -> StreamState | None: ...

    def next_stream_id(self) -> int:
        """Larger than any given so far; called once, at the start."""

    def commit(self, batch: Batch) -> None:
        """All or nothing, and on the disk when it returns. Raises `StorageFull` or `StorageBroken`."""

    def rows(self, stream: StreamState, after: int, limit: int, size: int | None = None) -> list[Row]:
        """Whole rows with `last > after`, in order, at most `limit`; none behind the one that makes `size` bytes full.

        A store may give more than `size` where it costs nothing, but never nothing where there is something.
        """

    def streams(self, tenant: TenantId | None = None, after: int = 0) -> Iterator[StreamState]:
        """Those of one tenant, or all, in order of their ids, beginning behind one."""

    def scan(self) -> Iterator[tuple[StreamState, Row]]:
        """Every row of every stream in the order of the commits."""

    def once(self, key: str) -> Once | None: ...

    def forget_onces(self, before: float) -> None: ...

    def trim(self, stream: StreamState, snapshot: bytes) -> None:
        """Drop the rows up to `stream.floor` and keep the snapshot that stands for them."""

    def scrub(self, *, shortly: bool = False) -> bool:
        """See that what was erased is in no file any more. False where somebody still reads what was there before, or
        it would take long and is to be done `shortly`: then it is left for the next time, over a restart too."""

    def snapshot(self, stream: StreamState) -> bytes | None: ...

    def get(self, table: Table, key: Mapping[str, object]) -> dict[str, Any] | None: ...

    def find(self, query: Query) -> list[dict[str, Any]]: ...

    def seal(self, put: Sequence[Sealed], drop: Sequence[Sealed]) -> None:
        """Keep these, each in the place of the one of its name, and lose those for good."""

    def sealed(self, tenant: TenantId | None = None) -> list[Sealed]: ...

    def drop(self, tenant: TenantId) -> None:
        """Lose all that is a tenant's."""

    def backup(self, path: str) -> None:
        """Write a whole, consistent copy while everything goes on."""

    def close(self) -> None: ...


# Meaning


class Embedder(Protocol):
    """Tells how near in meaning texts are. It may be used from any event loop."""

    async def vectors(self, texts: Sequence[str]) -> list[bytes]:
        """One for each text, in a form of its own."""

    def near(self, vector: bytes, others: Sequence[bytes]) -> list[float]:
        """How near each is, from -1 to 1."""


# Time and chance


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, UTC."""

    def steady(self) -> float:
        """Seconds that never jump."""


class Ids(Protocol):
    def mint(self) -> str:
        """A new id: a UUID whose text sorts by time."""


# Tools


@dataclass(frozen=True, slots=True)
class Site:
    """Where a call would happen: for whom, in which run, and beneath which folder (absolute, without links)."""

    tenant: TenantId
    run: RunId
    conversation: ConversationId
    workspace: str


@dataclass(frozen=True, slots=True)
class Weighed:
    """What a call would come to, found out without doing it.

    `arguments` is the JSON of the arguments exactly as they will be used. `bound` is all else that the outcome hangs
    on: the folder, the names of the environment, the digest of a script. A permission is bound to both and to the tool.
    """

    risk: Risk
    action: str  # what kind of thing it is: file_read, file_outside_workspace, package_check, shell, …
    effect: Effect
    arguments: str
    shown: str  # what a person is asked about, whole
    why: str = ""  # why it is of this risk
    bound: Mapping[str, str] = field(default_factory=dict)
    rule: str | None = None  # what a person may allow for always; None where that cannot be
    password: bool = False  # whether it needs a one-time password besides
    command: str | None = None  # for the audit: the command as asked for, where it is one


@dataclass(frozen=True, slots=True)
class Deed:
    """A call that may be carried out now. `key` is the same whenever this very call is tried again."""

    call: ToolCall
    site: Site
    weighed: Weighed
    key: str
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Done:
    """What a tool came to. `text` is for the model, bounded, cut visibly, and free of secrets."""

    text: str
    ok: bool = True
    exit_status: int | None = None
    digest: str | None = None  # of the whole output, where the text may be less


class Toolbox(Protocol):
    """The tools a run may use. May be used from any event loop."""

    async def specs(self, site: Site) -> tuple[ToolSpec, ...]: ...

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        """Look, and change nothing. Raises `ToolFailed` with what the model should hear where the call makes no
        sense: no such tool, arguments that do not fit."""

    async def use(self, deed: Deed, say: Callable[[str], None]) -> Done:
        """Do it, or raise `ToolFailed`. `say` hears output as it comes. Cancelling it ends whatever it started.

        What is done is what was weighed: where the world has changed since, `ToolFailed`.
        """

    async def probe(self, deed: Deed) -> Done | None:
        """For a probeable call that may have been carried out before a crash: what it came to, None if it was not."""


class Lockbox(Protocol):
    """Where a one-time password lies between a person's hand and the tool: in memory, once, and not for long."""

    def put(self, approval: str, password: str) -> None: ...

    def take(self, approval: str) -> str | None: ...


class Knowledge(Protocol):
    """What a run is told besides the conversation: what fits the message, best first, and nothing of other tenants."""

    async def memories(self, site: Site, message: str) -> tuple[Remembered, ...]: ...

    async def lessons(self, site: Site, message: str) -> tuple[str, ...]: ...

    async def skill(self, site: Site, message: str) -> SkillActivated | None: ...


# Skills


class Skills(Protocol):
    """The skills that can be had at a place. May be asked from any event loop."""

    async def find(self, site: Site) -> tuple[Skill, ...]:
        """Each name once, in order of their names; those that cannot be read are left out."""
