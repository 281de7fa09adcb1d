"""One example of every event, and the golden log that keeps how each was stored.

`python tests/events/examples.py` adds what the golden log lacks. A line that is there is never changed: what was
stored must be read for ever.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import orjson
from board_examples import BOARD_EXAMPLES

from quarterdeck.events import (
    access,
    after,
    agent_stream,
    audit,
    delivery,
    memory,
    money,
    run,
    staff,
    steering,
    talk,
    team,
    tenants,
    tool,
)
from quarterdeck.events.base import Event
from quarterdeck.events.codec import encode
from quarterdeck.kernel.parts import Persona, Remembered, ToolCall, Usage
from quarterdeck.kernel.tenancy import ModelPrice, TenantConfig

GOLDEN = Path(__file__).parents[1] / "data" / "logs" / "v1.jsonl"
CALL = ToolCall("call-1", "file_read", '{"path": "a b.txt"}', "to see what is in it", "low")
MEMORIES = (Remembered("m-1", "Пользователя зовут Владимир."),)
USAGE = Usage(120, 45, 7)
PERSONA = Persona("e-1", "Анна", "You are Анна.", "openai/gpt", 0.2, ("file_read",), ("tidy_files",), False)
PROFILE = staff.Profile("Анна", "clerk", "Be brief.", "openai/gpt", 0.2, ("file_read",), ("tidy_files",), False)
CONFIG = TenantConfig(
    "openai",
    "gpt-4.1",
    "https://models.example.org/v1",
    ("k-1", "k-2"),
    (ModelPrice("openai/gpt-4.1", 2.0, 8.0, 4.5), ModelPrice("openai/*", 1.0, 4.0)),
    1.5,
    20.0,
    ("web_fetch",),
    30.0,
    "when_failing",
)
EXPERT = team.Expert(PERSONA, "knows ships", True)
PLANNED = team.Planned("p-1", "look", "Анна", "look around", ("p-0",), "debate", "左还是右?", ("Анна", "bob"))
STATS = run.Stats(45, 1500.5, 320.25, 10.0, 30.5, 64.0)

EXAMPLES: tuple[Event, ...] = (
    run.RunRequested(
        "c-1",
        'What is in "a b.txt"?\n请读',
        "native",
        "/work",
        "on",
        True,
        90.0,
        12,
        PERSONA,
        "r-0",
        2.5,
    ),
    run.RunClaimed("worker-1", 3),
    run.RunReleased("worker-1", 3),
    run.StageChanged("running_tool"),
    run.AttemptStarted(2, "thinker", "openai/gpt"),
    run.ReasoningStreamed(2, ("Let", " me", " see")),
    run.ContentStreamed(2, ("It", " says ", "“да” ☂ \U0001f9ed", "")),
    run.AttemptFinished(2, "action", "tool_calls", "text", "0" * 64, (CALL,), USAGE, 812.5),
    run.AttemptBroke(2, "critic", "rate_limited", "slow down", True, 7.5),
    run.AttemptSuperseded(2, 14, "cut", 1.5),
    run.CondensingBegun(40),
    run.MemoryRecalled(MEMORIES),
    run.MemoryUsed(MEMORIES),
    run.SkillActivated("analyze_project", "Looks at a project", "built in"),
    run.ActionLoopSkipped("memory is enough"),
    run.RunWaiting("waiting_for_approval", 12.5),
    run.StopRequested("enough"),
    run.DeadlinePassed(),
    run.RunFinished("failed", "so far", "model_failed", "it went away", STATS, USAGE),
    tool.ToolWeighed(
        "call-1",
        "medium",
        "shell",
        "irreversible",
        '{"command": "make"}',
        "make",
        "0" * 64,
        "runs code",
        "rule",
        "r-1",
        True,
        "make",
        (("folder", "/home/ann/проект"), ("script Makefile", "0" * 64)),
    ),
    tool.ToolStarted(CALL, "a-1"),
    tool.ToolSaid("call-1", "line 1\n"),
    tool.ToolFinished("call-1", "file_read", False, "no such file", True, 2, "0" * 64),
    tool.ApprovalRequested(
        "a-1",
        "r-1",
        "call-1",
        "tool",
        "shell_exec_safe",
        '{"command": "make"}',
        "make",
        "to build",
        "medium",
        "shell",
        "runs code",
        "0" * 64,
        "rule",
        True,
        1800000000.5,
    ),
    tool.ApprovalDecided("a-1", "call-1", "approved", "person:owner", "always", "go on", '{"command": "make -n"}'),
    tool.PasswordRequested("a-1", "call-1", "sudo apt update"),
    tool.PasswordGiven("a-1", "call-1", "person:owner"),
    tool.ApprovalConsumed("a-1", "call-1"),
    tool.RuleMade("u-1", "key", "list_dir", "/tmp", "person:owner", "a-1", 1800000000.5),
    tool.RuleRevoked("u-1", "person:owner"),
    steering.InterventionAccepted("i-1", "r-1", "steer", "briefly, please"),
    steering.InterventionEdited("i-1", "in one sentence"),
    steering.InterventionRetracted("i-1"),
    steering.InterventionApplied("i-1", 3, "r-2"),
    steering.InterventionExpired("i-1", "the run has ended"),
    talk.ConversationOpened("What is in…", "/work", "e-1", "u-1"),
    talk.MessageAdded("assistant", "It says “да”.", "r-1", "stopped", "m-1"),
    talk.ConversationRenamed("Чай"),
    talk.AnswerAskedAgain(4, "r-2", 5),
    talk.ConversationSummarised(40, "They spoke of tea."),
    talk.ConversationDeleted(("r-1",), (talk.Counted("r-1", 2, USAGE),)),
    money.MoneyReserved("r-1", 2, 0.0125),
    money.MoneySettled("r-1", 2, 0.00725),
    audit.CommandAudited(
        "r-1",
        "call-1",
        "apt list --upgradable",
        "shell_exec_safe",
        "package_check",
        "low",
        "person",
        True,
        True,
        "person:owner",
        "person:ann",
        "a-1",
        3,
        "0" * 64,
        "/work",
        812.5,
    ),
    memory.MemoryStored("m-1", "Зовут “Ли” 李", "fact", "global", "/work", "c-1", 0.8, "r-1", True),
    memory.MemoryEdited("m-1", "Зовут Ли", "preference", 0.9),
    memory.MemoryAccepted("m-1"),
    memory.MemoryForgotten("m-1"),
    memory.LessonProposed("l-1", "Look before you leap.", "r-1"),
    memory.LessonAccepted("l-1"),
    memory.LessonRejected("l-1"),
    memory.LessonForgotten("l-1"),
    after.AfterRequested("r-1", "c-1", "remember this", "I will", "/work", True, True, True),
    after.AfterClaimed("worker-1", 3),
    after.AfterReleased("worker-1", 3),
    after.MemoryPolicyDecided(True, "preference", "likes tea", 0.7, "global", "m-0"),
    after.MemoryKept("m-1"),
    after.ReflectionCompleted("l-1", "Reusable lesson: look."),
    after.RoleFailed("critic", "provider_error", "it went away"),
    after.AfterFinished(),
    access.TokenIssued("0" * 32, "f" * 64, "agent:m-1", "agent", "build machine", 1_900_000_000.5, "1" * 32),
    access.TokenUsed("0" * 32),
    access.TokenRevoked("0" * 32, "person:owner"),
    access.UserAdded("Анна", "member"),
    access.UserChanged("Anna", "admin"),
    access.UserRemoved(),
    tenants.TenantCreated("t-1", "Чайка & 鸥", "seagull"),
    tenants.TenantChanged("t-1", "Seagull", "gull"),
    tenants.TenantConfigured("t-1", CONFIG),
    tenants.TenantClosed("t-1"),
    tenants.TenantCounted("t-1", 3, 45, "0" * 64),
    tenants.TenantErased("t-1"),
    tenants.SlugTaken("t-1"),
    tenants.SlugFreed(),
    *BOARD_EXAMPLES,
    staff.EmployeeHired(PROFILE),
    staff.EmployeeChanged(PROFILE),
    staff.EmployeeArchived(),
    staff.EmployeeRestored(),
    agent_stream.AgentStreamStarted("s-1", "m-1", "анна", "c-1", "t-1", "r-1"),
    agent_stream.AgentStreamDelta("s-1", "m-1", "анна", 3, ("Сей", "час ", "посмотрю\u2028")),
    agent_stream.AgentStreamTool("s-1", "m-1", "анна", 6, "web_search", '{"q": "李"}', '{"error": "no network"}'),
    agent_stream.AgentStreamEnded("s-1", "m-1", "анна", "Готово.", '[{"name": "web_search"}]', "msg-1"),
    agent_stream.AgentStreamInterrupted("s-1", "m-1", "анна", "gone", 7),
    team.TeamFormed("The crew", (EXPERT,)),
    team.TeamRunRequested("t-1", "选择数据库", "zh", (EXPERT,), True, (PLANNED,), "for_against", "/work", 2.5),
    team.TeamRunClaimed("worker-1", 2),
    team.PlanChanged(2, (PLANNED,), "lead:Анна", "the lead's plan", ("p-2 was left out",)),
    team.PlanRefused("plan.1", "there is no JSON"),
    team.PlanApproved(2),
    team.PartStarted("debate.p-1.1.0.bob", "position", "bob", "p-1", 1, "r-2"),
    team.PartWaiting("phase.p-1.1", "r-2", "waiting_for_approval"),
    team.PartCut("phase.p-1.1"),
    team.PartEnded("phase.p-1.1", "failed", "so far", "rate_limited", "slow down"),
    team.PhaseChanged("p-1", "completed", "bob", "it is there", "they agree"),
    team.DebateClosed("p-1", "they agree", 2, "left", ("shorter",), ("bob: wetter",), 0.75),
    team.TeamInterventionAccepted("i-1", "r-1", "/debate 左还是右?"),
    team.TeamInterventionHeeded("i-1", "debate", "ignored", "no_topic", "bob debates", "p-1", "mind the costs", "bob"),
    team.TeamRunFinished("stopped", "what there was", "stopped", "a person stopped it"),
    delivery.DeliveriesHandled("p-1", 41, (43, 47)),
)


def stored(event: Event) -> dict[str, Any]:
    """How one event stands in the golden log: the bytes as they are stored, and the value they must give."""
    value = orjson.loads(orjson.dumps(dataclasses.asdict(event)))
    return {"kind": event.KIND, "version": event.VERSION, "data": encode(event).decode(), "value": value}


def golden() -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in GOLDEN.read_bytes().splitlines()]


def main() -> None:
    known = {(line["kind"], line["version"]) for line in golden()} if GOLDEN.exists() else set()
    with GOLDEN.open("ab") as file:
        for event in EXAMPLES:
            if (event.KIND, event.VERSION) not in known:
                file.write(orjson.dumps(stored(event)) + b"\n")
                sys.stdout.write(f"added {event.KIND} version {event.VERSION}\n")


if __name__ == "__main__":
    main()
