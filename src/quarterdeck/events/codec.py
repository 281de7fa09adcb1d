"""Events to bytes and back, kind by kind."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from typing import Any, TypeAlias

import orjson

from quarterdeck.events import (
    access,
    after,
    agent_stream,
    audit,
    card,
    delivery,
    inbox,
    member,
    memory,
    money,
    project,
    run,
    staff,
    steering,
    talk,
    team,
    tenants,
    tool,
)
from quarterdeck.events.base import Event, Unknown
from quarterdeck.events.upcast import STEPS, Steps, upcast

VOCABULARY: tuple[type[Event], ...] = (
    run.RunRequested,
    run.RunClaimed,
    run.RunReleased,
    run.StageChanged,
    run.AttemptStarted,
    run.ReasoningStreamed,
    run.ContentStreamed,
    run.AttemptFinished,
    run.AttemptBroke,
    run.AttemptSuperseded,
    run.CondensingBegun,
    run.MemoryRecalled,
    run.MemoryUsed,
    run.SkillActivated,
    run.ActionLoopSkipped,
    run.RunWaiting,
    run.StopRequested,
    run.DeadlinePassed,
    run.RunFinished,
    tool.ToolWeighed,
    tool.ToolStarted,
    tool.ToolSaid,
    tool.ToolFinished,
    tool.ApprovalRequested,
    tool.ApprovalDecided,
    tool.PasswordRequested,
    tool.PasswordGiven,
    tool.ApprovalConsumed,
    tool.RuleMade,
    tool.RuleRevoked,
    steering.InterventionAccepted,
    steering.InterventionEdited,
    steering.InterventionRetracted,
    steering.InterventionApplied,
    steering.InterventionExpired,
    talk.ConversationOpened,
    talk.MessageAdded,
    talk.ConversationRenamed,
    talk.AnswerAskedAgain,
    talk.ConversationSummarised,
    talk.ConversationDeleted,
    money.MoneyReserved,
    money.MoneySettled,
    audit.CommandAudited,
    memory.MemoryStored,
    memory.MemoryEdited,
    memory.MemoryAccepted,
    memory.MemoryForgotten,
    memory.LessonProposed,
    memory.LessonAccepted,
    memory.LessonRejected,
    memory.LessonForgotten,
    after.AfterRequested,
    after.AfterClaimed,
    after.AfterReleased,
    after.MemoryPolicyDecided,
    after.MemoryKept,
    after.ReflectionCompleted,
    after.RoleFailed,
    after.AfterFinished,
    access.TokenIssued,
    access.TokenUsed,
    access.TokenRevoked,
    access.UserAdded,
    access.UserChanged,
    access.UserRemoved,
    tenants.TenantCreated,
    tenants.TenantChanged,
    tenants.TenantConfigured,
    tenants.TenantClosed,
    tenants.TenantCounted,
    tenants.TenantErased,
    tenants.SlugTaken,
    tenants.SlugFreed,
    member.MemberAdded,
    member.MemberChanged,
    member.MemberRemoved,
    member.HandleTaken,
    member.HandleFreed,
    project.ProjectOpened,
    project.ProjectChanged,
    project.MemberJoined,
    project.MemberLeft,
    project.ChatOpened,
    project.MessagePosted,
    card.TaskOpened,
    card.TaskEdited,
    card.TaskAssigned,
    card.TaskLinked,
    card.TaskMoved,
    card.TaskUnblocked,
    card.TaskCommented,
    card.TaskClaimed,
    card.TaskClaimRenewed,
    card.TaskClaimEnded,
    card.TaskSubmitted,
    card.TaskReviewed,
    card.TaskHandedOver,
    inbox.InboxClaimed,
    inbox.WakeQueued,
    inbox.WakeTaken,
    inbox.WakeEnded,
    staff.EmployeeHired,
    staff.EmployeeChanged,
    staff.EmployeeArchived,
    staff.EmployeeRestored,
    agent_stream.AgentStreamStarted,
    agent_stream.AgentStreamDelta,
    agent_stream.AgentStreamTool,
    agent_stream.AgentStreamEnded,
    agent_stream.AgentStreamInterrupted,
    team.TeamFormed,
    team.TeamRunRequested,
    team.TeamRunClaimed,
    team.PlanChanged,
    team.PlanRefused,
    team.PlanApproved,
    team.PartStarted,
    team.PartWaiting,
    team.PartCut,
    team.PartEnded,
    team.PhaseChanged,
    team.DebateClosed,
    team.TeamInterventionAccepted,
    team.TeamInterventionHeeded,
    team.TeamRunFinished,
    delivery.DeliveriesHandled,
)
BY_KIND = {event.KIND: event for event in VOCABULARY}

Read: TypeAlias = Callable[[Any], Any]


def encode(event: Event) -> bytes:
    """The copy is of the right size; what orjson returns keeps kilobytes of room that a tail of rows would pay for."""
    return event.data if isinstance(event, Unknown) else bytes(memoryview(orjson.dumps(event)))


def decode(kind: str, version: int, data: bytes, places: int = 1, steps: Steps = STEPS) -> Event:
    """The event, or `Unknown` for one written by a later release."""
    event = BY_KIND.get(kind)
    if event is None or version > event.VERSION:
        return Unknown(kind, data, places)
    shape = orjson.loads(data)
    if version < event.VERSION:
        shape = upcast(kind, version, event.VERSION, shape, steps)
    return typing.cast(Event, _READERS[event](shape))


def _reader(kind: Any) -> Read:
    """How a JSON value becomes a field of this type. The closed set of types our events use."""
    if dataclasses.is_dataclass(kind):
        return _READERS[typing.cast(type, kind)]
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        item = _reader(arguments[0])
        return tuple if item is _same else lambda value: tuple(map(item, value))
    if typing.get_origin(kind) in {typing.Union, types.UnionType}:
        some = _reader(next(a for a in arguments if a is not type(None)))
        return _same if some is _same else lambda value: None if value is None else some(value)
    return _same


def _same(value: Any) -> Any:
    return value


def _dataclass_reader(kind: type) -> Read:
    hints = typing.get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in dataclasses.fields(kind)}
    busy = {name: read for name, read in readers.items() if read is not _same}

    def read(shape: dict[str, Any]) -> Any:
        for name, convert in busy.items():
            if name in shape:
                shape[name] = convert(shape[name])
        return kind(**shape)

    return read


class _Readers(dict[type, Read]):
    """Each is made when the first of its kind is read: few logs have them all."""

    def __missing__(self, kind: type) -> Read:
        read = self[kind] = _dataclass_reader(kind)
        return read


_READERS = _Readers()
