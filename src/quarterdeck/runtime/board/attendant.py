"""Sees to one agent's inbox: begins what is next, follows what is under way, says what came of it.

Each step is one transaction with what it leaves in the inbox, under this worker's claim: a crash between two steps
loses none and doubles none.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence

import orjson

from quarterdeck.actions.board.cards import card_for, moved, told
from quarterdeck.actions.board.speech import LONGEST_MESSAGE, Words, in_chat, on_task
from quarterdeck.actions.board.work import claiming
from quarterdeck.engine.board import card as card_rules
from quarterdeck.engine.board import inbox
from quarterdeck.engine.board.briefing import persona_of
from quarterdeck.engine.board.card import LEASE_S, Card
from quarterdeck.engine.board.inbox import Inbox
from quarterdeck.engine.board.people import Member
from quarterdeck.events.agent_stream import AgentStreamEnded, AgentStreamInterrupted
from quarterdeck.events.base import Event
from quarterdeck.events.card import ClaimEnd, TaskClaimRenewed, TaskSubmitted
from quarterdeck.events.inbox import InboxClaimed, WakeEnded, WakeQueued, WakeTaken
from quarterdeck.events.run import Loop, RunFinished, RunRequested, StopRequested
from quarterdeck.events.talk import MessageAdded
from quarterdeck.kernel.errors import Closed, Conflict, Fenced, ModelFailed, Moved, NotAllowed, NotFound, Problem
from quarterdeck.kernel.ids import ConversationId, RunId, conversation_stream, project_stream, run_stream
from quarterdeck.kernel.parts import Persona
from quarterdeck.log.entries import Claim, Entry
from quarterdeck.log.fold import Fold
from quarterdeck.runtime.board.place import WORK, Dropped, Place
from quarterdeck.runtime.board.relay import Relay, started

TRIES = 50
RENEW_S = LEASE_S / 3
LONGEST_DETAIL = 500
LONGEST_ANSWER = LONGEST_MESSAGE - 1_000
SILENT = "(nothing was said)"

logger = logging.getLogger("quarterdeck.runtime")


class Attendant:
    def __init__(self, place: Place, fold: Fold[Inbox], renew_s: float = RENEW_S) -> None:
        self._place, self._fold, self._renew_s = place, fold, renew_s
        self._desk, self._log = place.crew.desk, place.crew.desk.log
        self._actor = place.scope.actor
        self._epoch = 0
        self._news = asyncio.Event()
        self._tellings: dict[str, asyncio.Task[None]] = {}
        self._later: set[str] = set()
        self._stopped: set[str] = set()
        self._resting = False

    def nudge(self) -> None:
        """Something came in, or the member was changed."""
        self._later.clear()
        self._news.set()

    def rest(self) -> None:
        """Begin nothing new."""
        self._resting = True

    async def drive(self) -> None:
        """Until nothing waits and nothing is under way."""
        box = await self._fold.catch_up()
        if box.idle:
            return
        await self._take(box)
        try:
            while True:
                self._news.clear()  # before looking, so that what comes in while we look wakes us again
                if (box := await self._fold.catch_up()).idle:
                    return
                await self._seen_to(box)
        finally:
            for task in self._tellings.values():
                task.cancel()
            if self._tellings:
                await asyncio.wait(self._tellings.values())

    async def _take(self, box: Inbox) -> None:
        claim = Claim(self._place.crew.worker, box.epoch + 1)
        claimed = InboxClaimed(claim.worker, claim.epoch)
        await self._log.append(Entry(self._place.inbox, (claimed,), actor=self._actor, claim=claim))
        self._epoch = claim.epoch

    async def _seen_to(self, box: Inbox) -> None:
        member = await self._place.member()
        for wake, run in box.working.items():
            if wake not in self._tellings:
                self._tellings[wake] = asyncio.create_task(self._follow(box.begun[wake], run))
            if member is None:
                await self._stop(run, "the member was removed")
            elif box.begun[wake].reason in WORK and box.begun[wake].task not in box.claims:
                await self._stop(run, "the task is somebody else's now, or done with")
        if member is None:
            await self._drop_all(box)
            if box.waiting:
                return
        most = 0 if member is None else member.config.max_concurrent_tasks
        following = None if self._resting else inbox.next_up(box, most, self._later)
        if following is not None and member is not None:
            await self._begin(following, member)
        else:
            await self._something()

    async def _something(self) -> None:
        """Wait for what is under way to end, or for news."""
        if await self._over():
            return
        waiting = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait([waiting, *self._tellings.values()], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        await self._over()

    async def _over(self) -> bool:
        """Take note of what has ended; raise what went wrong with it."""
        ended = [wake for wake, task in self._tellings.items() if task.done()]
        for wake in ended:
            await self._tellings.pop(wake)
        return bool(ended)

    async def _drop_all(self, box: Inbox) -> None:
        """The member is gone, and what waits with it."""
        for wake in box.waiting:
            await self._end(wake, "dropped", "the member is not driven by this server any more")

    async def _stop(self, run: str, why: str) -> None:
        if run in self._stopped:
            return
        self._stopped.add(run)
        with contextlib.suppress(Closed):
            stream = run_stream(self._place.inbox.tenant, RunId(run))
            await self._log.append(Entry(stream, (StopRequested(why),), actor=self._actor))

    # Beginning

    async def _begin(self, wake: WakeQueued, member: Member) -> None:
        for _ in range(TRIES):
            try:
                entries = await self._beginning(wake, member)
                await self._log.append(*entries)
            except Moved:
                await self._fold.catch_up()
                continue
            except (Fenced, Closed):
                raise
            except Dropped as dropped:
                await self._end(wake, "dropped", str(dropped))
            except (Conflict, NotAllowed, NotFound) as refused:
                if refused.code == "too_many_tasks":  # it has others in hand besides; when one is let go, we hear of it
                    self._later.add(wake.wake)
                else:
                    await self._end(wake, "dropped", refused.detail)
            return
        raise Conflict(f"{self._place.inbox} changes too quickly.", code="busy")

    async def _beginning(self, wake: WakeQueued, member: Member) -> list[Entry]:
        """All that makes the work begin: the run, what it is asked, the stream it is told in, and the task claimed."""
        place, tenant = self._place, self._place.inbox.tenant
        project = await place.project(wake, member)
        found = await place.card(wake, member)
        run = self._desk.ids.mint()
        persona = persona_of(member, project)
        brief = await place.brief(wake, member, found)
        conversation = f"card:{wake.task}:{member.id}" if wake.task else f"chat:{wake.chat}:{member.id}"
        deadline_s = place.crew.deadline_s
        asked = RunRequested(conversation, brief, await self._loop(persona), deadline_s=deadline_s, persona=persona)
        cause = wake.source or wake.task
        begun = started(wake, run, run, member.id, member.slug)
        claims: Sequence[Entry] = ()
        if found is not None and wake.reason in WORK:
            until = self._desk.clock.now() + LEASE_S
            claims = await claiming(self._desk, place.scope, place.book, member, found, until)
        talk = conversation_stream(tenant, ConversationId(conversation))
        return [
            *claims,
            Entry(place.inbox, (WakeTaken(wake.wake, run),), actor=self._actor, fence=self._epoch),
            Entry(run_stream(tenant, RunId(run)), (asked,), actor=self._actor, cause=cause),
            Entry(talk, (MessageAdded("user", brief, run),), actor=self._actor, cause=run),
            Entry(project_stream(tenant, wake.project), (begun,), actor=self._actor, cause=cause),
        ]

    async def _loop(self, persona: Persona) -> Loop:
        """The native one where the model calls tools itself. Where there is none, the run says so."""
        try:
            model = await self._place.crew.providers.of(self._place.inbox.tenant, persona).model("thinker")
        except (ModelFailed, Problem):
            return "roles"
        return "native" if model.traits.tools and not model.traits.slight else "roles"

    # Under way

    async def _follow(self, wake: WakeQueued, run: str) -> None:
        renewing = asyncio.create_task(self._renew(wake)) if wake.reason in WORK else None
        try:
            known = await self._place.book.member(self._place.inbox.key)
            slug = "" if known is None else known.slug
            ended, stream, tools = await Relay(self._place, wake, run, slug, self._guard()).tell()
        finally:
            if renewing is not None:
                renewing.cancel()
        await self._say(wake, ended, AgentStreamEnded(stream, self._place.inbox.key, slug, "", _dumped(tools)))

    def _guard(self) -> Entry:
        return Entry(self._place.inbox, (), actor=self._actor, fence=self._epoch)

    async def _renew(self, wake: WakeQueued) -> None:
        """The claim holds as long as the work goes on."""
        while True:
            with contextlib.suppress(Problem):
                member, found = await self._held(wake)
                if member is not None and found is not None:
                    until = self._desk.clock.now() + LEASE_S
                    renewed = TaskClaimRenewed(found.id, member.voice, until)
                    await self._log.append(self._guard(), *told(self._place.scope, found, (renewed,)))
            await asyncio.sleep(self._renew_s)

    async def _held(self, wake: WakeQueued) -> tuple[Member | None, Card | None]:
        """The task, if it still is in this member's hand, even where the claim ran out while nobody was here."""
        member = await self._place.member()
        if member is None or wake.task is None or wake.reason not in WORK:
            return member, None
        found = await card_for(self._desk, self._place.book, member, wake.task)
        mine = found.claimed_by == member.id and member.id in found.assignees and found.status == "in_progress"
        return member, found if mine else None

    # The end

    async def _say(self, wake: WakeQueued, ended: RunFinished, stream: AgentStreamEnded) -> None:
        """What came of the run becomes a message or a comment, in the transaction that ends it all."""
        detail = (ended.detail or "")[:LONGEST_DETAIL]
        final = WakeEnded(wake.wake, ended.outcome, detail)
        own = Entry(self._place.inbox, (final,), actor=self._actor, fence=self._epoch)
        for _ in range(TRIES):
            try:
                entries = await self._saying(wake, ended, stream)
                await self._log.append(*entries, own)
            except Moved:
                continue
            except (Fenced, Closed):
                raise
            except (Conflict, NotAllowed, NotFound) as refused:
                await self._unsaid(wake, stream, refused.detail)
            return
        raise Conflict("The task changes too quickly.", code="busy")

    async def _saying(self, wake: WakeQueued, ended: RunFinished, stream: AgentStreamEnded) -> list[Entry]:
        place = self._place
        member = await place.book.member(place.inbox.key)
        if member is None or member.removed:
            raise NotAllowed("The member was removed.", code="member_removed")
        well = ended.outcome == "completed"
        text = _words(ended)
        words = Words(text, wake.source if wake.chat else None, wake.hops + 1, stream.stream, quiet=not well)
        entries: list[Entry] = []
        if wake.task is not None:
            _, held = await self._held(wake)
            said = await on_task(self._desk, place.scope, place.book, member, wake.task, words)
            if held is not None:
                after = card_rules.evolve(held, said.event)
                entries = await self._handed_in(member, after, text, stream.stream, ended)
        else:
            assert wake.chat is not None
            said = await in_chat(self._desk, place.scope, place.book, member, wake.chat, words)
        last = AgentStreamEnded(stream.stream, stream.agent, stream.slug, text, stream.tool_log, said.id)
        project = Entry(
            project_stream(place.inbox.tenant, wake.project), (last,), actor=self._actor, cause=stream.stream
        )
        return [project, *said.entries, *entries]

    async def _handed_in(self, member: Member, card: Card, text: str, stream: str, ended: RunFinished) -> list[Entry]:
        """Work that was done waits for a review; work that failed or was stopped waits for somebody to look at it."""
        place = self._place
        if ended.outcome == "completed":
            submitted: tuple[Event, ...] = (TaskSubmitted(card.id, member.voice, text[:2000], stream),)
            why: ClaimEnd = "submitted"
            return await moved(self._desk, place.scope, place.book, member, card, "in_review", *submitted, why=why)
        why = "released" if ended.outcome == "stopped" else "failed"
        return await moved(self._desk, place.scope, place.book, member, card, "todo", why=why)

    async def _unsaid(self, wake: WakeQueued, stream: AgentStreamEnded, detail: str) -> None:
        """It may not speak there any more."""
        left = AgentStreamInterrupted(stream.stream, stream.agent, stream.slug, "member_left")
        project = Entry(project_stream(self._place.inbox.tenant, wake.project), (left,), actor=self._actor)
        await self._end(wake, "dropped", detail, project)

    async def _end(self, wake: WakeQueued, outcome: str, detail: str, *more: Entry) -> None:
        ended = WakeEnded(wake.wake, outcome, detail[:LONGEST_DETAIL])  # type: ignore[arg-type]
        own = Entry(self._place.inbox, (ended,), actor=self._actor, fence=self._epoch)
        await self._log.append(own, *more)


def _words(ended: RunFinished) -> str:
    answer = ended.answer.strip()
    if len(answer) > LONGEST_ANSWER:
        answer = answer[:LONGEST_ANSWER] + "\n\n(It was longer; the rest is in the run.)"
    if ended.outcome == "completed":
        return answer or SILENT
    why = {"stopped": "I was stopped."}.get(ended.outcome, f"I could not finish this. {ended.detail or ''}".strip())
    return f"{answer}\n\n({why})" if answer else f"({why})"


def _dumped(tools: Sequence[object]) -> str:
    return orjson.dumps(tools).decode()
