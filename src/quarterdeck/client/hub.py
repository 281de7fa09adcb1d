"""A client of the hub: it reconnects and resumes by itself, says again what got lost, and applies every place once.

async with HubClient(url, token) as hub:
    async for delivery in hub.deliveries():
        async with hub.speak_about(delivery) as stream:
            await stream.say("Let me see. ")
        await hub.ack(delivery)
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

import aiohttp
import orjson

from quarterdeck.client.backoff import Backoff
from quarterdeck.client.http import checked_url
from quarterdeck.client.hub_stream import HubStream, Line
from quarterdeck.client.trouble import Refused, Unreachable

SILENCE_S = 40.0
ANSWER_S = 60.0
MOST_WAITING = 2_000
# Coming back is of no use after these: what was shown, or what was said, was wrong.
FATAL = frozenset({1002, 1003, 1007, 1008, 1009, 4400, 4401, 4403, 4404})
WITH_KEY = frozenset({"chat.send", "task.create", "task.comment", "approval.request"})


@dataclass(frozen=True, slots=True)
class Delivery:
    """Something that this agent is to hear of. `wakes` is False where nobody expects an answer."""

    id: str
    reason: str
    wakes: bool
    type: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HubFrame:
    """Something that happened in a project, to a team, or with us: `seq` is its place, None for what is not kept."""

    type: str
    data: Mapping[str, Any]

    @property
    def seq(self) -> int | None:
        return self.data.get("seq")


class _Topic(NamedTuple):
    """What is followed: a project, or a team's run."""

    kind: str
    name: str
    id: str


class HubClient(Line):
    """`me` is what `auth.ok` told of us; `config` is kept up to date."""

    def __init__(
        self, url: str, token: str | None = None, *, patience_s: float = 120.0, silence_s: float = SILENCE_S
    ) -> None:
        self._url, self._token = checked_url(url), token
        self._patience_s, self._silence_s = patience_s, silence_s
        self._session: aiohttp.ClientSession | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._task: asyncio.Task[None] | None = None
        self._up = asyncio.Event()
        self._backoff, self._worked_at = Backoff(min(0.5, silence_s)), 0.0
        self._failed: Exception | None = None
        self._refused: Refused | None = None
        self._asked: dict[str, tuple[bytes, asyncio.Future[dict[str, Any]]]] = {}
        self._streams: dict[str, HubStream] = {}
        self._deliveries: deque[Delivery] = deque()
        self._in_hand: set[str] = set()
        self._frames: deque[HubFrame] = deque()
        self._cursors: dict[_Topic, int] = {}
        self._behind: set[_Topic] = set()
        self._news = asyncio.Event()
        self._epoch: str | None = None
        self.me: dict[str, Any] = {}
        self.config: dict[str, Any] = {}

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession()
        self._task = asyncio.ensure_future(self._run())
        try:
            await self._connected()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        assert self._task is not None
        assert self._session is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        if self._socket is not None:
            await self._socket.close()
        await self._session.close()

    # What one does with it

    async def ask(self, kind: str, **data: Any) -> dict[str, Any]:
        """Say it, and return the answer; said again if the connection breaks in between. Raises `Refused`."""
        if kind in WITH_KEY:
            data.setdefault("key", uuid.uuid4().hex)
        ref = uuid.uuid4().hex
        frame = orjson.dumps({"type": kind, "ref": ref, "data": data})
        answered: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[ref] = (frame, answered)
        try:
            await self.send(frame)
            async with asyncio.timeout(max(ANSWER_S, self._patience_s)):
                return await answered
        finally:
            self._asked.pop(ref, None)

    async def follow(self, project: str, after: int = 0) -> None:
        """Have `frames` tell of a project from behind this place, whatever happens to the connection."""
        topic = _Topic("project", "project_id", project)
        self._cursors[topic] = after
        await self._subscribe(topic)

    async def follow_team(self, run: str, after: int = 0) -> None:
        """Have `frames` tell of a team's run too, until it is `done`. Raises `Refused`."""
        topic = _Topic("team", "run_id", run)
        self._cursors[topic] = after
        try:
            await self.ask("team.subscribe", run_id=run, after=after)
        except Refused:
            self._cursors.pop(topic, None)
            raise

    async def frames(self) -> AsyncIterator[HubFrame]:
        """What happens, each place once and in order, in the projects and runs of teams that are followed."""
        while True:
            while self._frames:
                yield self._frames.popleft()
                await self._catch_up()
            await self._something()

    async def deliveries(self) -> AsyncIterator[Delivery]:
        """What this agent is to hear of. Acknowledge each: what was not is told again."""
        while True:
            while self._deliveries:
                yield self._deliveries.popleft()
            await self._something()

    async def ack(self, delivery: Delivery) -> None:
        await self.ask("ack", delivery_id=delivery.id)
        self._in_hand.discard(delivery.id)

    @contextlib.asynccontextmanager
    async def speak(
        self, project: str, *, chat: str | None = None, task: str | None = None
    ) -> AsyncIterator[HubStream]:
        """Speak piece by piece. At the end it becomes a message, or a comment; after an error it is left as it is."""
        stream = HubStream(self, str(uuid.uuid4()), project, chat, task)
        self._streams[stream.id] = stream
        try:
            await stream.begin()
            yield stream
            await stream.end()
        finally:
            stream.close()
            self._streams.pop(stream.id, None)

    def speak_about(self, delivery: Delivery) -> contextlib.AbstractAsyncContextManager[HubStream]:
        """The same, where the delivery came from."""
        data = delivery.data
        if data.get("task_id") is not None:
            return self.speak(data["project_id"], task=data["task_id"])
        return self.speak(data["project_id"], chat=data["chat_id"])

    # The connection

    async def send(self, frame: bytes) -> None:
        """Now, or with all that waits when there is a connection again."""
        await self._connected()
        if self._socket is not None and not self._socket.closed:
            with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                await self._socket.send_str(frame.decode())

    async def _connected(self) -> None:
        await self._up.wait()
        if self._failed is not None:
            raise self._failed

    async def _something(self) -> None:
        self._news.clear()
        if self._failed is not None:
            raise self._failed
        await self._news.wait()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        self._worked_at = loop.time()
        while True:
            try:
                await self._once()
            except Refused as refused:
                self._fail(refused)
                return
            except (aiohttp.ClientError, OSError, TimeoutError):
                if loop.time() - self._worked_at > self._patience_s:
                    self._fail(Unreachable(f"No server answers at {self._url}."))
                    return
            self._up.clear()
            await asyncio.sleep(self._backoff.next())

    def _fail(self, error: Exception) -> None:
        self._failed = error
        self._up.set()
        self._news.set()
        for _, answered in self._asked.values():
            if not answered.done():
                answered.set_exception(error)

    def _headers(self) -> dict[str, str]:
        return {} if self._token is None else {"authorization": f"Bearer {self._token}"}

    async def _once(self) -> None:
        """One connection, from its beginning to its end."""
        assert self._session is not None
        opening = self._session.ws_connect(self._url + "/ws", headers=self._headers(), max_msg_size=0)
        async with asyncio.timeout(10):
            try:
                socket = await opening
            except aiohttp.WSServerHandshakeError as error:
                if 400 <= error.status < 500 and error.status != 429:
                    raise Refused(
                        f"The hub refused us: {error.status}.", code="hub_refused", status=error.status
                    ) from None
                raise
        self._socket = socket
        async with contextlib.aclosing(_Closing(socket)):
            if self._token is None:
                await socket.send_str('{"type":"auth","data":{}}')
            while True:
                message = await socket.receive(timeout=self._silence_s)
                if message.type is not aiohttp.WSMsgType.TEXT:
                    break
                await self._take(orjson.loads(message.data))
        code = socket.close_code
        if code in FATAL:
            raise self._refused or Refused(_reason(message), code="closed", extra={"close_code": code})

    # What comes in

    async def _take(self, frame: dict[str, Any]) -> None:
        kind, data, ref = frame["type"], frame["data"], frame.get("ref")
        if kind.endswith(".subscribed") and "reset" in data and (topic := _topic(data)) in self._cursors:
            self._cursors[topic] = 0
        if kind == "auth.ok":
            await self._greeted(data)
        elif kind == "auth.error":
            self._refused = Refused(data["detail"], code=data["code"])  # the close says whether that will change
        elif ref is not None and (asked := self._asked.get(ref)) is not None and not asked[1].done():
            _answer(asked[1], kind, data)
        elif kind == "config.updated":
            self.config = data
        elif kind == "delivery":
            self._deliver(data)
        elif kind == "error" and (stream := self._streams.get(str(data.get("stream_id")))) is not None:
            stream.refused(data)
        elif isinstance(data.get("seq"), int):
            await self._place(kind, data)
        elif kind not in {"ok", "pong", "project.subscribed", "team.subscribed"}:
            self._frames.append(HubFrame(kind, data))
            self._news.set()

    async def _greeted(self, told: dict[str, Any]) -> None:
        """Go on where we were: streams, projects, questions."""
        self.me, self.config = told, told["config"]
        self._worked_at = asyncio.get_running_loop().time()
        self._backoff.worked()
        if self._epoch not in {None, told["epoch"]}:
            self._cursors = dict.fromkeys(self._cursors, 0)
        self._epoch = told["epoch"]
        self._up.set()
        for topic in tuple(self._cursors):
            await self._subscribe(topic)
        for stream in tuple(self._streams.values()):
            stream.reconnected()
        for frame, _ in tuple(self._asked.values()):
            await self.send(frame)

    def _deliver(self, data: dict[str, Any]) -> None:
        if data["delivery_id"] not in self._in_hand:
            self._in_hand.add(data["delivery_id"])
            event = data["event"]
            self._deliveries.append(
                Delivery(data["delivery_id"], data["reason"], data["wakes"], event["type"], event["data"])
            )
            self._news.set()

    async def _place(self, kind: str, data: dict[str, Any]) -> None:
        """Apply what is next; drop what was seen; where something is missing, go back to what we hold."""
        topic, seq = _topic(data), data["seq"]
        last = self._cursors.get(topic)
        if last is None or topic in self._behind or seq <= last:
            return
        if data.get("from", seq) != last + 1:
            await self._subscribe(topic)
            return
        if len(self._frames) >= MOST_WAITING:  # nobody takes them: the place is kept, and no more than that
            self._behind.add(topic)
            return
        self._cursors[topic] = seq
        self._frames.append(HubFrame(kind, data))
        self._news.set()
        if topic.kind == "team" and kind == "done":
            del self._cursors[topic]
            await self.send(orjson.dumps({"type": "team.unsubscribe", "data": {"run_id": topic.id}}))

    async def _catch_up(self) -> None:
        if self._behind and len(self._frames) < MOST_WAITING // 2:
            behind, self._behind = self._behind, set()
            for topic in behind:
                await self._subscribe(topic)

    async def _subscribe(self, topic: _Topic) -> None:
        data = {topic.name: topic.id, "after": self._cursors[topic]}
        await self.send(orjson.dumps({"type": f"{topic.kind}.subscribe", "data": data}))


class _Closing:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def aclose(self) -> None:
        await self._socket.close()


def _topic(data: Mapping[str, Any]) -> _Topic:
    if "project_id" in data:
        return _Topic("project", "project_id", data["project_id"])
    return _Topic("team", "run_id", data["run_id"])


def _answer(answered: asyncio.Future[dict[str, Any]], kind: str, data: dict[str, Any]) -> None:
    if kind == "error":
        rest = {key: value for key, value in data.items() if key not in {"code", "detail"}}
        answered.set_exception(Refused(data["detail"], code=data["code"], extra=rest))
    else:
        answered.set_result(data)


def _reason(message: aiohttp.WSMessage) -> str:
    why = message.extra if isinstance(message.extra, str) else ""
    try:
        return f"The hub closed the connection: {orjson.loads(why)['code']}."
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return f"The hub closed the connection{': ' + why if why else ''}."
