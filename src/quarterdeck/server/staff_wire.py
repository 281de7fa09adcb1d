"""Employees as they cross the network."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from pydantic import Field

from quarterdeck.server.wire import Inbound, Shape

Temperature = Annotated[
    float | None, Field(ge=0, le=2, allow_inf_nan=False, strict=False, description="The model's own if left out.")
]
Model = Annotated[str | None, Field(max_length=200, description="`provider/model`, where it is not the tenant's own.")]
Names = Annotated[list[str] | None, Field(max_length=200, description="Their names; null means all there are.")]
Prompt = Annotated[str, Field(max_length=100_000, description="What it is told before every conversation.")]


class NewEmployee(Inbound):
    tenant_id: str | None = Field(None, max_length=128, description="The caller's own tenant if left out.")
    name: str = Field(max_length=1000)
    role: str = Field("", max_length=1000, description="What it is for, in a few words.")
    system_prompt: Prompt = ""
    model: Model = None
    temperature: Temperature = None
    tools: Names = None
    skills: Names = None
    memory: bool = Field(default=True, description="Whether it is told what is remembered.")


class EmployeeChange(Inbound):
    """What is left out stays as it is."""

    name: str = Field("", max_length=1000)
    role: str = Field("", max_length=1000)
    system_prompt: Prompt = ""
    model: Model = None
    temperature: Temperature = None
    tools: Names = None
    skills: Names = None
    memory: bool = True
    archived: bool = Field(default=False, description="An archived employee takes no new work; false brings it back.")


class Employee(Shape):
    id: str
    tenant_id: str
    name: str
    role: str
    system_prompt: str
    model: str | None
    temperature: float | None
    tools: list[str] | None
    skills: list[str] | None
    memory: bool
    archived: bool
    created_at: float
    changed_at: float
    archived_at: float | None


def employee(line: dict[str, Any]) -> Employee:
    return Employee(
        id=line["id"],
        tenant_id=line["tenant"],
        name=line["name"],
        role=line["role"],
        system_prompt=line["system_prompt"],
        model=line["model"],
        temperature=line["temperature"],
        tools=orjson.loads(line["tools"]),
        skills=orjson.loads(line["skills"]),
        memory=bool(line["memory"]),
        archived=bool(line["archived"]),
        created_at=line["hired_at"],
        changed_at=line["changed_at"],
        archived_at=line["archived_at"],
    )
