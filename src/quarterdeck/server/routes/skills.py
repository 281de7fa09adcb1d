"""Skills: those that can be had in a workspace, and one of them whole."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Query

from quarterdeck.kernel.errors import Invalid, NotAllowed, NotFound
from quarterdeck.kernel.ids import ConversationId, RunId
from quarterdeck.kernel.skills import Skill
from quarterdeck.ports import Site
from quarterdeck.server.station import Here, Station
from quarterdeck.server.wire import SkillLine, WholeSkill

router = APIRouter(prefix="/v1/skills", tags=["skills"])

Workspace: TypeAlias = Annotated[
    str | None, Query(max_length=4096, description="The whole path of a folder, whose own skills are shown as well.")
]


@router.get("")
async def list_skills(here: Here, workspace: Workspace = None) -> list[SkillLine]:
    """In order of their names. `origin` says who vouches for it: nobody, for one of a workspace."""
    return [SkillLine(name=s.name, description=s.description, origin=s.origin) for s in await _found(here, workspace)]


@router.get("/{name}")
async def one_skill(here: Here, name: str, workspace: Workspace = None) -> WholeSkill:
    for s in await _found(here, workspace):
        if s.name == name:
            keywords = list(s.keywords)
            return WholeSkill(name=s.name, description=s.description, origin=s.origin, keywords=keywords, body=s.body)
    raise NotFound("There is no such skill.", code="skill_not_found")


async def _found(here: Station, workspace: str | None) -> tuple[Skill, ...]:
    if workspace is not None and not here.scope.operator:
        raise NotAllowed("Only an operator of this server looks into its folders; leave it out.", code="operators_only")
    if workspace is not None and (not PurePosixPath(workspace).is_absolute() or "\x00" in workspace):
        raise Invalid("workspace must be the whole path of a folder, from / on.", code="invalid_request")
    return await here.skills.find(Site(here.scope.tenant, RunId(""), ConversationId(""), workspace or ""))
