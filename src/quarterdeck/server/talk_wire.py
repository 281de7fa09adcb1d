"""Conversations and messages of the platform door as they cross the network."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from quarterdeck.server.wire import Inbound, Shape


class NewTalk(Inbound):
    tenant_id: str | None = Field(None, max_length=128, description="The employee's, or the caller's own if left out.")
    employee_id: str | None = Field(None, max_length=128, description="Who answers; nobody in particular if left out.")
    user_id: str | None = Field(None, max_length=1000, description="Whose conversation it is, by your own name for it.")
    title: str | None = Field(None, max_length=1000, description="Called after what is said first if left out.")


class TalkChange(Inbound):
    title: str = Field(max_length=1000)


class NewMessage(Inbound):
    content: str = Field(description="What the user says.")


class Talk(Shape):
    id: str
    tenant_id: str
    employee_id: str | None
    user_id: str | None
    title: str
    created_at: float
    updated_at: float = Field(description="When somebody spoke last.")


class OneTalk(Talk):
    answering: list[str] = Field(description="Messages that are being answered now; watch them at `…/{id}/stream`.")


class Message(Shape):
    id: str
    conversation_id: str
    role: str
    content: str
    status: str = Field(description="`superseded` where another answer took its place.")
    task_id: str | None = Field(description="The run that it started, or that it came out of.")
    created_at: float


def talk(line: dict[str, Any]) -> Talk:
    return Talk(**_told(line))


def one_talk(line: dict[str, Any], answering: list[str]) -> OneTalk:
    return OneTalk(**_told(line), answering=answering)


def _told(line: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": line["id"],
        "tenant_id": line["tenant"],
        "employee_id": line["employee"],
        "user_id": line["user"],
        "title": line["title"],
        "created_at": line["opened_at"],
        "updated_at": line["spoken_at"],
    }


def message(line: dict[str, Any]) -> Message:
    return Message(
        id=line["id"],
        conversation_id=line["conversation"],
        role=line["role"],
        content=line["content"],
        status=line["status"],
        task_id=line["run"],
        created_at=line["at"],
    )
