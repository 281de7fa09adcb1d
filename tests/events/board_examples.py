"""One example of every event of the board."""

from __future__ import annotations

from quarterdeck.events import card, inbox, member, project
from quarterdeck.events.base import Event
from quarterdeck.kernel.board import MemberConfig, Voice

ANNA = Voice("m-1", "anna", "human")
BOT = Voice("m-2", "bot-7", "agent")
CONFIG = MemberConfig(
    "all", "mentions", 3, ("coding",), ("backend", "猫"), "gpt", "openai", "You are “Бот”.", "built_in", ("file_read",)
)

BOARD_EXAMPLES: tuple[Event, ...] = (
    member.MemberAdded("agent", "Бот <b>", "bot-7", CONFIG, "person:ann"),
    member.MemberChanged("Бот 8", CONFIG),
    member.MemberRemoved(),
    member.HandleTaken("m-2"),
    member.HandleFreed("m-2"),
    project.ProjectOpened("Приём “甲”", "intake", "c-1", "What comes in"),
    project.ProjectChanged("Intake", "What comes in", True),
    project.MemberJoined(BOT, "Бот"),
    project.MemberLeft(BOT),
    project.ChatOpened("c-2", "thread", "about that", "msg-1", ("m-1", "m-2")),
    project.MessagePosted("msg-1", "c-1", ANNA, "@bot-7, look: <script>", ("m-2",), "msg-0", 2, "hops", "s-1"),
    card.TaskOpened(
        "t-1",
        "p-1",
        ANNA,
        "Прочти 读",
        "all of it",
        "backlog",
        "urgent",
        ("docs",),
        ("m-2",),
        ("t-0",),
        "m-1",
        ("m-2",),
        1,
    ),
    card.TaskEdited("t-1", ANNA, "Read", "half of it", "low", ("docs", "new"), "m-1", ("m-2",)),
    card.TaskAssigned("t-1", ANNA, ("m-2",), ("m-2",), ("m-3",)),
    card.TaskLinked("t-1", ANNA, ("t-0",)),
    card.TaskMoved("t-1", BOT, "in_review", "in_progress"),
    card.TaskUnblocked("t-1", "t-0"),
    card.TaskCommented("t-1", "k-1", BOT, "Half is done.", ("m-1",), 1, "turns", "s-1"),
    card.TaskClaimed("t-1", BOT, 1800000000.5),
    card.TaskClaimRenewed("t-1", BOT, 1800000060.5),
    card.TaskClaimEnded("t-1", "m-2", "submitted"),
    card.TaskSubmitted("t-1", BOT, "All of it is read.", "s-1"),
    card.TaskReviewed("t-1", ANNA, "sent_back", "The last page too."),
    card.TaskHandedOver("t-1", BOT, "m-2", "m-3", "You know this."),
    inbox.InboxClaimed("worker-1", 2),
    inbox.WakeQueued("w-1", "p-1", "mention", "Anna: look", "person:ann", "c-1", "t-1", "msg-1", 2),
    inbox.WakeTaken("w-1", "r-1"),
    inbox.WakeEnded("w-1", "failed", "no model"),
)
