"""The frames of the hub and the streams of events as one AsyncAPI document, made of the code itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from quarterdeck.events import card, project
from quarterdeck.server.hub.told import OUTBOUND, TEAM_EVENTS, Kept, KeptOfTeam
from quarterdeck.server.hub.vocabulary import INBOUND

REF = "#/components/schemas/{model}"
# Events of a project that are told as they are stored, under the names of their kinds.
KINDS = tuple(
    sorted(
        event.KIND
        for room in (card, project)
        for event in vars(room).values()
        if getattr(event, "KIND", "") and event.KIND != project.MessagePosted.KIND
    )
)
# What a run's stream tells, by the name of the event: docs/streams.md says more of each.
RUN_EVENTS = {
    "runtime_status": "A change of stage; always first.",
    "reasoning_delta": "A piece of reasoning.",
    "content_delta": "A piece of the answer.",
    "attempt_superseded": "The deltas of the places `from` to `to` are taken back; another attempt follows.",
    "tool_call_started": "A tool is used.",
    "tool_call_output": "What a tool says while it works.",
    "tool_call_finished": "What it came to.",
    "tool_approval_requested": "The run waits for a person.",
    "tool_password_requested": "The run waits for a one-time password.",
    "done": "The end; always last.",
    "hb": "Still here; `head` is the latest place.",
    "draining": "The server goes; come back after `retry_ms`.",
    "end": "The stream is over.",
}


def document(version: str) -> dict[str, Any]:
    models = [(model, "validation") for model in (*INBOUND, *OUTBOUND, Kept, KeptOfTeam)]
    _, schemas = models_json_schema(models, ref_template=REF)  # type: ignore[arg-type]
    said = {f"say.{kind}": message for kind, message in _messages(INBOUND)}
    told = {f"hear.{kind}": message for kind, message in _messages(OUTBOUND)}
    told |= {f"hear.{kind}": _message(kind, Kept) for kind in KINDS}
    told |= {f"hear.{kind}": {**_message(kind, KeptOfTeam), "summary": what} for kind, what in TEAM_EVENTS.items()}
    run = {name: _event(name, what) for name, what in RUN_EVENTS.items()}
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Quarterdeck", "version": version, "description": "Frames are `{type, data, ref?}` in JSON."},
        "defaultContentType": "application/json",
        "channels": {
            "hub": {"address": "/ws", "messages": _refs("messages", (*said, *told)), "bindings": {"ws": {}}},
            "run": {
                "address": "/v1/tasks/{task_id}/stream",
                "parameters": {"task_id": {"description": "The run."}},
                "messages": _refs("messages", run),
            },
        },
        "operations": {
            "say": _operation("receive", "hub", said),
            "hear": _operation("send", "hub", told),
            "watch": _operation("send", "run", run),
        },
        "components": {"messages": {**said, **told, **run}, "schemas": schemas.get("$defs", {})},
    }


def _messages(models: Iterable[type[BaseModel]]) -> list[tuple[str, dict[str, Any]]]:
    return [(model.TYPE, _message(model.TYPE, model)) for model in models]  # type: ignore[attr-defined]


def _message(kind: str, model: type[BaseModel]) -> dict[str, Any]:
    data = {"$ref": REF.format(model=model.__name__)}
    ref = {"type": ["string", "integer"], "description": "Comes back in the answer."}
    shape = {"type": {"const": kind}, "data": data, "ref": ref}
    payload = {"type": "object", "required": ["type", "data"], "properties": shape}
    return {"name": kind, "summary": (model.__doc__ or "").partition("\n")[0], "payload": payload}


def _event(name: str, what: str) -> dict[str, Any]:
    return {"name": name, "summary": what, "contentType": "text/event-stream", "payload": {"type": "object"}}


def _refs(kind: str, names: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/{kind}/{name}"} for name in names}


def _operation(action: str, channel: str, names: Iterable[str]) -> dict[str, Any]:
    messages = [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in names]
    return {"action": action, "channel": {"$ref": f"#/channels/{channel}"}, "messages": messages}
