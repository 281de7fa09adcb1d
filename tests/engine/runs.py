"""Short words for a run's story: `given(*events)` is the state, the rest are events with their dull parts filled in."""

from __future__ import annotations

from functools import reduce
from typing import Any

from quarterdeck.engine.run import Context, RunState, evolve
from quarterdeck.events import run as ev
from quarterdeck.events import tool
from quarterdeck.events.base import Event
from quarterdeck.kernel.parts import Effect, Risk, ToolCall, ToolSpec

READ = ToolSpec("read_file", "reads a file")
TOOLS = Context(tools=(READ,))
NO_TOOLS = Context()


def given(*events: Event) -> RunState:
    return reduce(evolve, events, RunState())


def requested(message: str = "What is in it?", **more: Any) -> ev.RunRequested:
    return ev.RunRequested("talk", message, **more)


def claimed(epoch: int = 1, worker: str | None = None) -> ev.RunClaimed:
    """By a process of its own each time, unless a worker is named."""
    return ev.RunClaimed(worker or f"process{epoch}.loop", epoch)


def started(attempt: int = 1, role: ev.Role = "thinker") -> ev.AttemptStarted:
    return ev.AttemptStarted(attempt, role, "scripted/model")


def content(*texts: str, attempt: int = 1) -> ev.ContentStreamed:
    return ev.ContentStreamed(attempt, texts)


def reasoning(*texts: str, attempt: int = 1) -> ev.ReasoningStreamed:
    return ev.ReasoningStreamed(attempt, texts)


def finished(attempt: int = 1, role: ev.Role = "thinker", **more: Any) -> ev.AttemptFinished:
    return ev.AttemptFinished(attempt, role, "stop", **more)


def broke(attempt: int = 1, role: ev.Role = "thinker", code: str = "provider_cut", **more: Any) -> ev.AttemptBroke:
    return ev.AttemptBroke(attempt, role, code, "It broke.", **{"retryable": True, **more})


def superseded(attempt: int = 1, since: int = 0) -> ev.AttemptSuperseded:
    return ev.AttemptSuperseded(attempt, since, "it broke")


def call(ident: str = "c1", name: str = "read_file", arguments: str = "{}") -> ToolCall:
    return ToolCall(ident, name, arguments)


def used(ident: str = "c1", result: str = "contents", *, ok: bool = True, name: str = "read_file") -> tool.ToolFinished:
    return tool.ToolFinished(ident, name, ok, result)


def weighed(ident: str = "c1", risk: Risk = "low", effect: Effect = "pure", **more: Any) -> tool.ToolWeighed:
    """Looked at; `hash` is the same for the same name of a call."""
    told = {"action": "file_read", "arguments": "{}", "shown": "read it", "hash": f"hash of {ident}", **more}
    return tool.ToolWeighed(call_id=ident, risk=risk, effect=effect, **told)


def asked(ident: str = "c1", approval: str = "a1", **more: Any) -> tool.ApprovalRequested:
    told = {"asked": "tool", "tool": "read_file", "arguments": "{}", "shown": "read it", "reason": "", "risk": "medium"}
    told |= {"action": "file_read", "why": "", "hash": f"hash of {ident}", "expires_at": 2000.0}
    return tool.ApprovalRequested(approval=approval, run="r1", call_id=ident, **{**told, **more})


def decided(decision: tool.Decision, ident: str = "c1", approval: str = "a1", **more: Any) -> tool.ApprovalDecided:
    return tool.ApprovalDecided(approval, ident, decision, "person:owner", **more)


def directive(*tools: str, then: str | None = None) -> str:
    """What an action role says that wants these tools used."""
    actions = ", ".join(f'{{"tool": "{tool}", "args": {{"path": "a"}}, "reason": "r"}}' for tool in tools)
    rest = f', "then": "{then}"' if then else ""
    return f'{{"kind": "action_directive", "intent": "look", "risk_level": "low", "actions": [{actions}]{rest}}}'
