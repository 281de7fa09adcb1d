"""What was said in a conversation before a run."""

from __future__ import annotations

from quarterdeck.events.talk import MessageAdded
from quarterdeck.kernel.ids import StreamName
from quarterdeck.kernel.parts import Message
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of


async def history(log: Log, conversation: StreamName, before_run: str) -> tuple[Message, ...]:
    """The messages before the one that started the run. An answer that came to nothing is left out."""
    said: list[Message] = []
    after = 0
    while rows := await log.read(conversation, after):
        for row in rows:
            event = event_of(row)
            if not isinstance(event, MessageAdded):
                continue
            if event.run == before_run:
                return tuple(said)
            if event.content:
                said.append(Message(event.role, event.content))
        after = rows[-1].last
    return tuple(said)
