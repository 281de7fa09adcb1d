"""An independent judge: it reads what clients saw, what the provider noted and the raw database, no code of ours."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
from proof_clients import Transcript
from proof_provider import Provider, told

TOLD_AS = {
    "run.requested": "runtime_status",
    "run.stage_changed": "runtime_status",
    "run.content": "content_delta",
    "run.reasoning": "reasoning_delta",
    "run.attempt_superseded": "attempt_superseded",
    "run.finished": "done",
}


@dataclass
class Place:
    """One place of a stream: a delta of a row, or the row."""

    kind: str
    data: dict[str, Any]
    text: str = ""


@dataclass
class Story:
    """One stream as the database holds it."""

    kind: str
    key: str
    closed: bool
    places: list[Place] = field(default_factory=list)

    def of(self, kind: str) -> list[tuple[int, dict[str, Any]]]:
        return [(seq, place.data) for seq, place in enumerate(self.places, 1) if place.kind == kind]


def read(folder: Path) -> dict[tuple[str, str], Story]:
    """Every stream of a copy of the database, as whoever starts next would find it; its chain is made again."""
    with tempfile.TemporaryDirectory() as copy:
        for file in folder.glob("quarterdeck.db*"):
            shutil.copy(file, copy)
        connection = apsw.Connection(str(Path(copy) / "quarterdeck.db"))
        try:
            assert list(connection.execute("PRAGMA integrity_check")) == [("ok",)]
            return {(found[1], found[2]): _story(connection, *found) for found in _streams(connection)}
        finally:
            connection.close()


def _streams(connection: apsw.Connection) -> list[tuple[Any, ...]]:
    return list(connection.execute("SELECT id, kind, key, closed, tenant FROM stream ORDER BY id"))


def _story(connection: apsw.Connection, ident: int, kind: str, key: str, closed: int, tenant: str) -> Story:
    story, chain = Story(kind, key, bool(closed)), b""
    rows = (
        "SELECT first, last, at, kind, version, actor, cause, data, salt, chain FROM row WHERE stream = ? ORDER BY id"
    )
    for first, last, at, what, version, actor, cause, data, salt, link in connection.execute(rows, (ident,)):
        assert first == len(story.places) + 1, f"{kind}/{key}: {first} follows {len(story.places)}"
        named = [tenant, kind, key, first, last, at, what, version, actor, cause]
        head = json.dumps(named, separators=(",", ":"), ensure_ascii=False).encode()
        chain = hashlib.sha256(chain + head + hashlib.sha256(salt + data).digest()).digest()
        assert link == chain, f"{kind}/{key}: the chain breaks at {first}"
        said = json.loads(data)
        if "texts" in said:
            story.places += [Place(what, said, text) for text in said["texts"]]
        else:
            story.places.append(Place(what, said))
        assert last == len(story.places), f"{kind}/{key}: {first} to {last} are {len(story.places)}"
    return story


def check(folder: Path, transcripts: Sequence[Transcript], provider: Provider, outcome: str = "completed") -> None:
    """Nothing acknowledged is lost, nothing is doubled, everything came to its end, once."""
    stories = read(folder)
    runs = {key: story for (kind, key), story in stories.items() if kind == "run"}
    for transcript in transcripts:
        assert transcript.task in runs, "an acknowledged run is not in the database"
        check_transcript(transcript, runs[transcript.task])
    for story in runs.values():
        check_run(story)
        check_attempts(story)
        check_talk(story, stories)
    for message, count in Counter(story.places[0].data["message"] for story in runs.values()).items():
        assert count == 1, f"{message} was started {count} times"
    for transcript in transcripts:
        check_answer(transcript, runs[transcript.task or ""], provider, outcome)


def check_transcript(transcript: Transcript, story: Story) -> None:
    """What a client applied is the log itself, from the first place to the last."""
    assert [frame.seq for frame in transcript.frames] == list(range(1, len(story.places) + 1))
    for frame, place in zip(transcript.frames, story.places, strict=True):
        if place.kind in TOLD_AS:
            assert frame.event == TOLD_AS[place.kind], (frame, place)
        if place.text:
            assert frame.data["delta"] == place.text
        assert frame.data["task_id"] == story.key
    assert transcript.ended


def check_run(story: Story) -> None:
    assert story.closed
    assert story.places[0].kind == "run.requested"
    assert [seq for seq, _ in story.of("run.finished")] == [len(story.places)], "one last event, and it is last"
    epochs = [data["epoch"] for _, data in story.of("run.claimed")]
    assert epochs == list(range(1, len(epochs) + 1))


def check_attempts(story: Story) -> None:
    """Attempts are numbered. One that is followed by another has planned to its end, or its text was taken back, all
    of it."""
    roles = {data["attempt"]: data["role"] for _, data in story.of("run.attempt_started")}
    assert list(roles) == list(range(1, len(roles) + 1))
    finished = {data["attempt"] for _, data in story.of("run.attempt_finished")}
    taken_back = {data["attempt"]: (data["since"], seq) for seq, data in story.of("run.attempt_superseded")}
    for attempt in list(roles)[:-1]:
        if roles[attempt] == "action" and attempt in finished:
            assert attempt not in taken_back
            continue
        since, until = taken_back[attempt]
        lost = [seq for seq, data in story.of("run.content") if data["attempt"] == attempt]
        assert all(since < seq < until for seq in lost)
        others = [seq for seq, data in story.of("run.content") if data["attempt"] != attempt]
        assert not any(since < seq < until for seq in others)


def check_talk(story: Story, stories: dict[tuple[str, str], Story]) -> None:
    """The question and the answer stand in the conversation, once each, and the answer is what the run said."""
    talk = stories["conversation", story.places[0].data["conversation"]]
    said = [data for _, data in talk.of("conversation.message_added") if data["run"] == story.key]
    assert [message["role"] for message in said] == ["user", "assistant"]
    assert said[0]["content"] == story.places[0].data["message"]
    assert said[1]["content"] == story.places[-1].data["answer"]


def check_answer(transcript: Transcript, story: Story, provider: Provider, outcome: str) -> None:
    """The provider's own record of what it sent, against what is called the answer."""
    end = story.places[-1].data
    assert end["outcome"] == transcript.done["status"] == outcome
    asked = provider.asked_for(transcript.message)
    assert len(asked) <= len(story.of("run.attempt_started")), "the provider was asked without a word in the log"
    if outcome == "completed":
        whole = "".join(told(transcript.message, provider.deltas))
        assert end["answer"] == whole == transcript.text()
        assert any(request.whole for request in asked)
