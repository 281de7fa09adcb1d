"""The read models of conversations: who talks with whom, what was said, and the words of titles they are found by."""

from __future__ import annotations

from collections.abc import Sequence

from quarterdeck.engine.titles import terms
from quarterdeck.events import talk
from quarterdeck.events.base import Recorded
from quarterdeck.ports import Change, Drop, Patch, Put, Table

CONVERSATIONS = Table(
    "conversation",
    {
        "tenant": "text",
        "id": "text",
        "title": "text",
        "workspace": "text",
        "employee": "text",
        "user": "text",
        "summary": "text",
        "summarised": "integer",  # the place up to which the summary tells what was said
        "opened_at": "real",
        "spoken_at": "real",
    },
    key=("tenant", "id"),
    lookups=(("id",), ("tenant", "employee", "id"), ("tenant", "user", "id"), ("user", "id")),
)
MESSAGES = Table(
    "message",
    {
        "tenant": "text",
        "conversation": "text",
        "place": "integer",
        "id": "text",
        "role": "text",
        "content": "text",
        "run": "text",
        "status": "text",  # `superseded` where another answer took its place
        "at": "real",
    },
    key=("tenant", "conversation", "place"),
    lookups=(("tenant", "conversation", "id"), ("tenant", "conversation", "run", "place")),
)
TITLE_TERMS = Table(
    "title_term",
    {"tenant": "text", "conversation": "text", "term": "text"},
    key=("tenant", "conversation", "term"),
    lookups=(("tenant", "term", "conversation"), ("term", "conversation")),
)
TABLES = (CONVERSATIONS, MESSAGES, TITLE_TERMS)


class TalkView:
    """Conversations and what was said in them."""

    def apply(self, fact: Recorded) -> Sequence[Change]:
        conversation = fact.stream.partition("/")[2]
        key = {"tenant": fact.tenant, "id": conversation}
        within = {"tenant": fact.tenant, "conversation": conversation}
        match fact.event:
            case talk.ConversationOpened(title, workspace, employee, user):
                opened = {"title": title, "workspace": workspace, "employee": employee, "user": user, "summarised": 0}
                line = {**key, **opened, "opened_at": fact.at, "spoken_at": fact.at}
                return [Put(CONVERSATIONS, line), *_found_by(within, title)]
            case talk.ConversationRenamed(title):
                return [
                    Patch(CONVERSATIONS, key, {"title": title}),
                    Drop(TITLE_TERMS, within),
                    *_found_by(within, title),
                ]
            case talk.MessageAdded() as said:
                return [Patch(CONVERSATIONS, key, {"spoken_at": fact.at}), _message(fact, within, said)]
            case talk.AnswerAskedAgain(question, run, answer):
                asked = Patch(MESSAGES, {**within, "place": question}, {"run": run})
                if answer is None:
                    return [asked]
                return [asked, Patch(MESSAGES, {**within, "place": answer}, {"status": "superseded"})]
            case talk.ConversationSummarised(through, text):
                return [Patch(CONVERSATIONS, key, {"summary": text, "summarised": through})]
            case talk.ConversationDeleted():
                return [Drop(CONVERSATIONS, key), Drop(MESSAGES, within), Drop(TITLE_TERMS, within)]
            case _:
                return []


def _found_by(within: dict[str, str], title: str) -> list[Put]:
    return [Put(TITLE_TERMS, {**within, "term": term}) for term in terms(title)]


def _message(fact: Recorded, within: dict[str, str], said: talk.MessageAdded) -> Put:
    """An answer goes by the id of its run; a message that was given no id by its place."""
    ident = said.id or (said.run if said.role == "assistant" and said.run else f"m{fact.last}")
    line = {"role": said.role, "content": said.content, "run": said.run, "status": said.status, "at": fact.at}
    return Put(MESSAGES, {**within, "place": fact.last, "id": ident, **line})


VIEWS = (TalkView(),)
