"""One client of the hub: what it may, what it says, what it is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from starlette.types import Receive

from quarterdeck.actions.board import cards, speech, work
from quarterdeck.actions.board.book import Book, project_for
from quarterdeck.actions.board.cards import NewTask
from quarterdeck.actions.board.speech import Words
from quarterdeck.actions.outside import Plea, ask_people
from quarterdeck.engine.board.people import Member, Project
from quarterdeck.events.member import MemberChanged
from quarterdeck.events.tool import ApprovalDecided
from quarterdeck.kernel.errors import Invalid, LimitReached, NotAllowed, Problem
from quarterdeck.kernel.ids import StreamName, TenantId, project_stream
from quarterdeck.kernel.scope import Scope
from quarterdeck.server.hub import limits, vocabulary
from quarterdeck.server.hub import vocabulary as v
from quarterdeck.server.hub.bucket import Bucket
from quarterdeck.server.hub.hub import Hub
from quarterdeck.server.hub.line import Line
from quarterdeck.server.hub.mailbox import Mailbox
from quarterdeck.server.hub.room import Room
from quarterdeck.server.hub.speech import Mouth
from quarterdeck.server.hub.team_runs import TeamRuns
from quarterdeck.server.wire import Inbound
from quarterdeck.views.hub_wire import loaded

logger = logging.getLogger("quarterdeck.server")

Answer: TypeAlias = Mapping[str, Any] | None
Handler: TypeAlias = Callable[[Any, Any, object], Awaitable[Answer]]


class Session:
    def __init__(self, hub: Hub, line: Line, scope: Scope, book: Book, me: Member) -> None:
        self.hub, self.line, self.scope, self.book, self.me = hub, line, scope, book, me
        self.key: tuple[TenantId, str] = (scope.tenant, me.id)
        self.mouth = Mouth(hub.desk, scope, book, hub.pens)
        self.rooms: dict[str, Room] = {}
        self.team_runs = TeamRuns(hub, line, scope, me.id)
        self.mailbox: Mailbox | None = None
        self.asked: set[str] = set()  # approvals that were asked for here
        self._strikes = self._bad = 0
        self._loop = asyncio.get_running_loop()
        self._bucket = Bucket(self._loop.time())
        self._tasks: set[asyncio.Task[None]] = set()

    # Coming and going

    async def open(self, projects: Sequence[Project]) -> list[dict[str, Any]]:
        """Take a seat in every project; returns how each is told in `auth.ok`, with the place it is followed from.
        Nothing is waited for once the first seat is taken, so that nothing is told before that."""
        names = [project_stream(self.scope.tenant, project.id) for project in projects]
        rooms = await asyncio.gather(*map(self.hub.room, names))
        told = []
        for project, room in zip(projects, rooms, strict=True):
            self._sit(room, None)
            known = {"id": project.id, "name": project.name, "slug": project.slug, "chat_id": project.chat}
            told.append({**known, "head": room.seq})
        return told

    def start_mail(self) -> None:
        """What an outside agent is to hear goes to its latest connection."""
        if self.me.type != "agent":
            return
        for each in (self, *self.hub.others(self)):  # its own too: another that left may have begun it
            each.stop_mail()
        self.mailbox = Mailbox(self.hub.desk, self.scope, self.me, self.line, limits.UNACKED)
        for project in self.rooms:
            self.mailbox.heed(project)

    def stop_mail(self) -> None:
        if self.mailbox is not None:
            self.mailbox.close()
            self.mailbox = None

    def close(self) -> None:
        had_mail = self.mailbox is not None
        self.stop_mail()
        self.mouth.close()
        self.team_runs.close()
        for project in tuple(self.rooms):
            self._stand_up(project)
        for task in self._tasks:
            task.cancel()
        if had_mail and (others := self.hub.others(self)):
            others[-1].start_mail()

    def _sit(self, room: Room, after: int | None) -> None:
        fresh = self.me.id not in room.members()
        room.seat(self.line, self.me.id, after)
        self.rooms[room.name.key] = room
        if fresh:
            self.hub.tell_presence(room, self.me, "online", self)

    def _stand_up(self, project: str) -> None:
        room = self.rooms.pop(project)
        room.leave(self.line)
        if self.me.id not in room.members():
            self.hub.tell_presence(room, self.me, "offline", self)

    # What it hears of

    def heed(self, stream: StreamName) -> None:
        if self.mailbox is not None and stream.tenant == self.scope.tenant and stream.key in self.rooms:
            self.mailbox.heed(stream.key)

    def moved(self, project: str, *, joined: bool) -> None:
        """In or out of a project."""
        if joined and project not in self.rooms:
            self._later(self._joined(project))
        elif not joined and project in self.rooms and self.me.type == "agent":
            self.mouth.leave_project(project)
            self._stand_up(project)
            self.line.tell("project.left", {"project_id": project})

    async def _joined(self, project: str) -> None:
        known = await self.book.project(project)
        if known is None or not self.line.open:
            return
        [told] = await self.open([known])
        self.line.tell("project.joined", told)
        if self.mailbox is not None:
            self.mailbox.heed(project)

    def changed(self, event: MemberChanged) -> None:
        self.me = replace(self.me, name=event.name, config=event.config)
        if self.mailbox is not None:
            self.mailbox.me = self.me
        if self.me.type == "agent":
            self.line.tell("config.updated", config_of(self.me))

    def decided(self, tenant: TenantId, event: ApprovalDecided) -> None:
        if event.approval in self.asked and tenant == self.scope.tenant:
            self.asked.discard(event.approval)
            self.line.tell("approval.decided", decision_told(event))

    def _later(self, work_to_do: Any) -> None:
        task = asyncio.ensure_future(work_to_do)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # What it says

    async def listen(self, receive: Receive) -> None:
        """Until either side parts."""
        while (message := await receive())["type"] == "websocket.receive":
            if (wait := self._bucket.take(self._loop.time())) > 0:
                self.line.wire.hold(on=True)
                await asyncio.sleep(wait)
                self.line.wire.hold(on=False)
            await self.line.drained()
            await self._heard(message.get("text"))

    async def _heard(self, said: str | None) -> None:
        ref, frame = None, None
        try:
            if said is None:
                raise Invalid("Send text; there are no binary messages here.", code="invalid_frame")
            frame, ref = vocabulary.read(said)
            self._check_voice(frame)
            answer = await _HANDLERS[type(frame)](self, frame, ref)
        except Problem as problem:
            self._refuse(problem, ref, {"stream_id": frame.stream_id} if isinstance(frame, v.Spoken) else {})
        except Exception:
            logger.exception("a frame could not be carried out")
            self.line.part(1011, "internal")
        else:
            if ref is not None and answer is not None:
                self.line.tell("ok", answer, ref)

    def _refuse(self, problem: Problem, ref: object, about: Mapping[str, str]) -> None:
        extra = {**about, **problem.extra}
        ref = extra.pop("ref", ref)
        self.line.tell("error", {"code": problem.code, "detail": problem.detail, **extra}, ref)
        if isinstance(problem, v.Forged):
            self._strikes += 1
            logger.warning("member %s sent a frame that is not theirs: %s", self.me.id, problem.code)
        elif problem.code in {"invalid_frame", "unknown_type", "bad_json"}:
            self._bad += 1
        if self._strikes >= limits.STRIKES:
            self.line.part(4403, "forged")
        elif self._bad >= limits.MOST_BAD:
            self.line.part(4400, "bad_frames")

    def _check_voice(self, frame: Inbound) -> None:
        """Who speaks is known. Whoever says otherwise is not taken for a mistake."""
        if isinstance(frame, v.Spoken) and not _own(frame, self.me):
            raise v.Forged("You speak for yourself only; leave `agent_id` and `agent_slug` out.", code="forged")
        if not isinstance(frame, v.LOOKING) and not self.scope.may("work"):
            raise NotAllowed("You may look at the board, and not write on it.", code="not_allowed")

    # One frame each

    async def auth(self, _: v.Auth, __: object) -> Answer:
        raise Invalid("You have said who you are.", code="already_authenticated")

    async def ping(self, _: v.Ping, ref: object) -> Answer:
        self.line.tell("pong", {}, ref)
        return None

    async def subscribe(self, asked: v.Subscribe, ref: object) -> Answer:
        await project_for(self.book, self.me, asked.project_id)
        room = await self.hub.room(project_stream(self.scope.tenant, asked.project_id))
        told = await room.beginning(asked.after)
        self.line.tell("project.subscribed", {**told, "online": sorted(room.members())}, ref)
        self._sit(room, told["after"])
        return None

    async def unsubscribe(self, asked: v.Unsubscribe, _: object) -> Answer:
        if asked.project_id in self.rooms:
            self._stand_up(asked.project_id)
        return {"project_id": asked.project_id}

    async def team_subscribe(self, asked: v.TeamSubscribe, ref: object) -> Answer:
        await self.team_runs.follow(asked, ref)
        return None

    async def team_unsubscribe(self, asked: v.TeamUnsubscribe, _: object) -> Answer:
        self.team_runs.leave(asked.run_id)
        return {"run_id": asked.run_id}

    async def stream_start(self, asked: v.StreamStart, _: object) -> Answer:
        index = await self.mouth.start(self.me, asked)
        return {"stream_id": asked.stream_id, "next_index": index}

    async def stream_resume(self, asked: v.StreamResume, ref: object) -> Answer:
        index = await self.mouth.resume(self.me, asked.stream_id)
        self.line.tell("agent.stream.resumed", {"stream_id": asked.stream_id, "next_index": index}, ref)
        return None

    async def stream_delta(self, said: v.StreamDelta, _: object) -> Answer:
        await self.mouth.delta(said)
        return {"stream_id": said.stream_id}

    async def stream_tool(self, used: v.StreamTool, _: object) -> Answer:
        await self.mouth.tool(used)
        return {"stream_id": used.stream_id}

    async def stream_end(self, asked: v.StreamEnd, _: object) -> Answer:
        return {"stream_id": asked.stream_id, "said_id": await self.mouth.end(self.me, asked)}

    async def chat_send(self, asked: v.ChatSend, _: object) -> Answer:
        words = Words(asked.content, asked.reply_to)
        given = asked.model_dump_json().encode()
        ident = await speech.post_message(
            self.hub.desk, self.scope, self.book, asked.chat_id, words, key=asked.key, body=given
        )
        return {"message_id": ident}

    async def task_create(self, asked: v.TaskCreate, _: object) -> Answer:
        wish = NewTask(
            asked.title,
            asked.description,
            asked.status,
            asked.priority,
            tuple(asked.labels),
            tuple(asked.assignees),
            tuple(asked.depends_on),
            asked.reviewer,
        )
        given = asked.model_dump_json().encode()
        ident = await cards.open_task(
            self.hub.desk, self.scope, self.book, asked.project_id, wish, key=asked.key, body=given
        )
        return {"task_id": ident}

    async def task_comment(self, asked: v.TaskComment, _: object) -> Answer:
        given = asked.model_dump_json().encode()
        words = Words(asked.content)
        ident = await speech.comment(
            self.hub.desk, self.scope, self.book, asked.task_id, words, key=asked.key, body=given
        )
        return {"comment_id": ident}

    async def task_claim(self, asked: v.TaskClaim, _: object) -> Answer:
        return {"until": await work.claim(self.hub.desk, self.scope, self.book, asked.task_id)}

    async def task_heartbeat(self, asked: v.TaskHeartbeat, _: object) -> Answer:
        return {"until": await work.heartbeat(self.hub.desk, self.scope, self.book, asked.task_id)}

    async def task_release(self, asked: v.TaskRelease, _: object) -> Answer:
        await work.release(self.hub.desk, self.scope, self.book, asked.task_id)
        return {"task_id": asked.task_id}

    async def task_submit(self, asked: v.TaskSubmit, _: object) -> Answer:
        await work.submit(self.hub.desk, self.scope, self.book, asked.task_id, asked.summary, stream=asked.stream_id)
        return {"task_id": asked.task_id}

    async def task_move(self, asked: v.TaskMove, _: object) -> Answer:
        await cards.move(self.hub.desk, self.scope, self.book, asked.task_id, asked.status)
        return {"task_id": asked.task_id}

    async def task_assign(self, asked: v.TaskAssign, _: object) -> Answer:
        await cards.assign(self.hub.desk, self.scope, self.book, asked.task_id, asked.assignees)
        return {"task_id": asked.task_id}

    async def task_review(self, asked: v.TaskReview, _: object) -> Answer:
        await work.review(self.hub.desk, self.scope, self.book, asked.task_id, asked.verdict, asked.words)
        return {"task_id": asked.task_id}

    async def task_hand_over(self, asked: v.TaskHandOver, _: object) -> Answer:
        await work.hand_over(self.hub.desk, self.scope, self.book, asked.task_id, asked.to, asked.words)
        return {"task_id": asked.task_id}

    async def approval_request(self, asked: v.ApprovalRequest, _: object) -> Answer:
        await project_for(self.book, self.me, asked.project_id)
        if len(self.asked) >= limits.ASKED:
            raise LimitReached(
                "People have not answered what you asked before; wait for that.", code="too_many_approvals"
            )
        plea = Plea(asked.tool, asked.args, asked.reason, asked.risk_level)
        given = asked.model_dump_json().encode()
        known = await ask_people(self.hub.desk, self.scope, self.me, plea, key=asked.key, body=given)
        assert known.asked is not None
        told: dict[str, Any] = {"approval_id": known.asked.approval, "state": known.state}
        if known.decided is None:
            self.asked.add(known.asked.approval)
        else:
            told |= decision_told(known.decided)
        return told

    async def ack(self, asked: v.Ack, ref: object) -> Answer:
        if self.mailbox is None:
            raise Invalid("You are told no deliveries here.", code="no_deliveries")
        kept = self.mailbox.ack(asked.delivery_id)
        if ref is not None:
            await kept
        return {"delivery_id": asked.delivery_id}


_HANDLERS: dict[type[Inbound], Handler] = {
    v.Auth: Session.auth,
    v.Ping: Session.ping,
    v.Subscribe: Session.subscribe,
    v.Unsubscribe: Session.unsubscribe,
    v.TeamSubscribe: Session.team_subscribe,
    v.TeamUnsubscribe: Session.team_unsubscribe,
    v.StreamStart: Session.stream_start,
    v.StreamDelta: Session.stream_delta,
    v.StreamTool: Session.stream_tool,
    v.StreamEnd: Session.stream_end,
    v.StreamResume: Session.stream_resume,
    v.ChatSend: Session.chat_send,
    v.TaskCreate: Session.task_create,
    v.TaskComment: Session.task_comment,
    v.TaskClaim: Session.task_claim,
    v.TaskHeartbeat: Session.task_heartbeat,
    v.TaskRelease: Session.task_release,
    v.TaskSubmit: Session.task_submit,
    v.TaskMove: Session.task_move,
    v.TaskAssign: Session.task_assign,
    v.TaskReview: Session.task_review,
    v.TaskHandOver: Session.task_hand_over,
    v.Ack: Session.ack,
    v.ApprovalRequest: Session.approval_request,
}


def _own(frame: v.Spoken, me: Member) -> bool:
    return frame.agent_id in {None, me.id} and frame.agent_slug in {None, me.slug}


def decision_told(event: ApprovalDecided) -> dict[str, Any]:
    told = {"approval_id": event.approval, "decision": event.decision, "words": event.words, "by": event.by}
    return {**told, "args": None if event.arguments is None else loaded(event.arguments)}


def config_of(me: Member) -> dict[str, Any]:
    config = me.config
    return {
        "model": config.model,
        "provider": config.provider,
        "prompt": config.prompt,
        "chat_listen": config.chat_listen,
        "task_listen": config.task_listen,
        "max_concurrent_tasks": config.max_concurrent_tasks,
        "capabilities": list(config.capabilities),
        "labels": list(config.labels),
    }
