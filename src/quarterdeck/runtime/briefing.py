"""What a run is told before it begins: the conversation so far, the tools on offer, what memory and skills offer."""

from __future__ import annotations

from quarterdeck.engine.run import RunState
from quarterdeck.engine.run.context import Context
from quarterdeck.engine.windows import room
from quarterdeck.kernel.ids import ConversationId, RunId, StreamName, conversation_stream
from quarterdeck.kernel.parts import Persona, within
from quarterdeck.runtime.crew import Crew
from quarterdeck.runtime.history import history

ANYBODY = Persona("", "")


async def briefed(crew: Crew, run: StreamName, state: RunState, model: str, *, slight: bool) -> Context:
    assert state.requested is not None
    asked = state.requested
    window = room(crew.windows, model, slight=slight)
    talk = conversation_stream(run.tenant, ConversationId(asked.conversation))
    before = await history(crew.log, talk, run.key, window)
    site = crew.site(run.tenant, RunId(run.key), asked)
    persona = asked.persona or ANYBODY
    skill = await crew.knowledge.skill(site, asked.message)
    return Context(
        before.messages,
        tuple(spec for spec in await crew.toolbox.specs(site) if within(persona.tools, spec.name)),
        slight,
        await crew.knowledge.memories(site, asked.message) if persona.memory else (),
        await crew.knowledge.lessons(site, asked.message) if persona.memory else (),
        skill if skill is not None and within(persona.skills, skill.name) else None,
        before.summary,
        before.left_out,
        before.places,
        window,
    )
