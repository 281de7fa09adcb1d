"""A project's events as the hub tells them: one JSON frame for each place of its stream, the same for everybody.

Frames are `{"type": …, "data": {…}}`; `data` says where the event stands: `project_id` and `seq`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import orjson

from quarterdeck.events import agent_stream as ev
from quarterdeck.events.base import Erased, Event, Unknown
from quarterdeck.events.project import MessagePosted
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Row

Payload: TypeAlias = dict[str, Any]

# What a field of an event is called on the wire, where it names something by its id.
_IDS = {
    "stream": "stream_id",
    "agent": "agent_id",
    "slug": "agent_slug",
    "chat": "chat_id",
    "task": "task_id",
    "run": "run_id",
    "message": "message_id",
    "comment": "comment_id",
    "project": "project_id",
}
_VOICE = {"member": "member_id", "slug": "slug", "type": "type"}


def frame(kind: str, data: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"type": kind, "data": data})


def frames(project: str, row: Row) -> Iterator[bytes]:
    """One for each place that the row takes."""
    if row.kind == ev.AgentStreamDelta.KIND and row.version == 1:
        yield from _deltas(project, row)
        return
    for seq, kind, data in told(row):
        yield frame(kind, {**data, "project_id": project, "seq": seq, "at": row.at})


def skip(about: Mapping[str, str], row: Row, why: str) -> bytes:
    """Instead of the frames of a row, for whom it is not meant: its places are told, not passed over."""
    return frame("skip", {**about, "seq": row.last, "from": row.first, "to": row.last, "why": why})


def _deltas(project: str, row: Row) -> Iterator[bytes]:
    """The hot path, for the shape of delta that there is."""
    said, dumps = orjson.loads(row.data), orjson.dumps
    common = dumps({"stream_id": said["stream"], "agent_id": said["agent"], "agent_slug": said["slug"]})[:-1]
    index, head = said["index"], b'{"type":"agent.stream.delta","data":' + common
    rest = b',"project_id":' + dumps(project)
    for number, text in enumerate(said["texts"]):
        place = b',"index":%d,"seq":%d%b}}' % (index + number, row.first + number, rest)
        yield head + b',"delta":' + dumps(text) + place


def told(row: Row) -> Iterator[tuple[int, str, Payload]]:
    """Events by the names that clients know."""
    event = event_of(row)
    if isinstance(event, ev.AgentStreamDelta):
        for number, text in enumerate(event.texts):
            said = {**_speaker(event), "delta": text, "index": event.index + number}
            yield row.first + number, "agent.stream.delta", said
        return
    if row.last > row.first:  # of a kind that only a later release knows
        yield row.last - 1, "skip", {"from": row.first, "to": row.last - 1, "why": "unknown"}
    kind, data = _told(event, row)
    yield row.last, kind, data


def _told(event: Event, row: Row) -> tuple[str, Payload]:
    match event:
        case ev.AgentStreamStarted(chat=chat, task=task, run=run):
            return "agent.stream.start", {**_speaker(event), "chat_id": chat, "task_id": task, "run_id": run}
        case ev.AgentStreamTool(index=index, name=name, args=args, result=result):
            used = {"tool_name": name, "tool_args": loaded(args), "tool_result": loaded(result)}
            return "agent.stream.tool", {**_speaker(event), "index": index, **used}
        case ev.AgentStreamEnded(final_message=final, tool_log=tools, said=said):
            return "agent.stream.end", {
                **_speaker(event),
                "final_message": final,
                "tool_log": loaded(tools),
                "said_id": said,
            }
        case ev.AgentStreamInterrupted(why=why, pieces=pieces):
            return "agent.stream.interrupted", {**_speaker(event), "why": why, "pieces": pieces}
        case MessagePosted():
            return "chat.message", _named(orjson.loads(row.data))
        case Erased(kind) | Unknown(kind):
            return "event", {"kind": kind, "erased": isinstance(event, Erased)}
        case _:
            return event.KIND, _named(orjson.loads(row.data))


def _speaker(event: Any) -> Payload:
    return {"stream_id": event.stream, "agent_id": event.agent, "agent_slug": event.slug}


def _named(shape: Payload) -> Payload:
    """The event's own fields, with ids under the names they have everywhere on the wire."""
    data = {_IDS.get(name, name): value for name, value in shape.items() if name not in {"by", "member"}}
    for name in ("by", "member"):
        if isinstance(voice := shape.get(name), dict):
            data[name] = {_VOICE.get(key, key): value for key, value in voice.items()}
        elif voice is not None:
            data[f"{name}_id"] = voice
    return data


def loaded(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
