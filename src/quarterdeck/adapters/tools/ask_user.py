"""`ask_user`: a question to the person. It is weighed here; whoever runs it hands the answer in as its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from quarterdeck.adapters.tools.arguments import Says, read, written
from quarterdeck.adapters.tools.tool import Say, spec_of
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import ToolCall
from quarterdeck.ports import Deed, Done, Site, Weighed


@dataclass(frozen=True, slots=True)
class Question:
    question: Annotated[str, Says("what you need to know", least=1, most=4000)]
    options: Annotated[tuple[str, ...], Says("answers to choose from, if there are a few", most=10)] = ()


class AskUser:
    def __init__(self) -> None:
        self.spec = spec_of("ask_user", "Ask the person a question and wait for the answer.", Question, "pure")

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:  # noqa: ARG002 - the same everywhere
        asked = read(Question, call.arguments)
        shown = "\n".join([asked.question, *(f"- {option}" for option in asked.options)])
        return Weighed("medium", "question", "pure", written(asked), shown, "It is a question to you.")

    async def use(self, deed: Deed, say: Say) -> Done:  # noqa: ARG002
        raise ToolFailed("The question was not answered.")

    async def probe(self, deed: Deed) -> Done | None:  # noqa: ARG002
        return None
