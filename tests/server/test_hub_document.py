"""The frames as a document: whole, made of the code, and true."""

from __future__ import annotations

from typing import Any

from door_client import ask
from door_serving import Serving

from quarterdeck.server.hub.told import OUTBOUND, TEAM_EVENTS
from quarterdeck.server.hub.vocabulary import INBOUND


def refs(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [each for value in node.values() for each in refs(value)]
    return [each for value in node for each in refs(value)] if isinstance(node, list) else []


async def test_the_document_names_every_frame_and_holds_all_it_points_to(server: Serving) -> None:
    answer = await ask(server, "GET", "/asyncapi.json")
    assert answer.status == 200
    document = answer.document
    assert document["asyncapi"] == "3.0.0"
    messages = document["components"]["messages"]
    assert {f"say.{kind.TYPE}" for kind in INBOUND} <= set(messages)  # type: ignore[attr-defined]
    assert {f"hear.{kind.TYPE}" for kind in OUTBOUND} <= set(messages)  # type: ignore[attr-defined]
    assert {f"hear.{name}" for name in TEAM_EVENTS} <= set(messages)
    assert "hear.task.opened" in messages
    assert "content_delta" in messages
    for ref in set(refs(document)):
        found = document
        for part in ref.removeprefix("#/").split("/"):
            found = found[part]
        assert found, ref
