"""What a tool is, and the shortest way to make one: a function with typed arguments and a declared effect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from quarterdeck.adapters.tools.arguments import read, schema, written
from quarterdeck.kernel.parts import Effect, Risk, ToolCall, ToolSpec
from quarterdeck.ports import Deed, Done, Site, Weighed

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Say: TypeAlias = Callable[[str], None]
A = TypeVar("A", bound="DataclassInstance")


class Tool(Protocol):
    """One tool. What its methods promise is written at the `Toolbox` port."""

    @property
    def spec(self) -> ToolSpec: ...

    async def weigh(self, call: ToolCall, site: Site) -> Weighed: ...

    async def use(self, deed: Deed, say: Say) -> Done: ...

    async def probe(self, deed: Deed) -> Done | None: ...


def spec_of(name: str, says: str, arguments: type[Any], effect: Effect) -> ToolSpec:
    return ToolSpec(name, says, schema(arguments), effect)


@dataclass(frozen=True)
class Function(Generic[A]):
    """A tool that is one function, of the same risk whatever it is asked. It says what it found, or `ToolFailed`."""

    name: str
    says: str
    takes: type[A]
    function: Callable[[A, Deed], Awaitable[str]]
    effect: Effect = "irreversible"
    risk: Risk = "medium"
    action: str = "tool"

    @property
    def spec(self) -> ToolSpec:
        return spec_of(self.name, self.says, self.takes, self.effect)

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:  # noqa: ARG002 - the same at every site
        arguments = written(read(self.takes, call.arguments))
        return Weighed(self.risk, self.action, self.effect, arguments, f"{self.name} {arguments}", self.says)

    async def use(self, deed: Deed, say: Say) -> Done:  # noqa: ARG002 - it speaks once, at the end
        return Done(await self.function(read(self.takes, deed.weighed.arguments), deed))

    async def probe(self, deed: Deed) -> Done | None:  # noqa: ARG002 - nobody can tell
        return None
