"""What follows for the open calls of a run."""

from __future__ import annotations

from quarterdeck.engine.run.intents import Ask, AskPassword, Intent, Record, RunTools, Wait, Weigh
from quarterdeck.engine.run.open_call import Calls, Grants, OpenCall, Standing, standing
from quarterdeck.events import tool as ev


def next_for(calls: Calls, grants: Grants) -> Intent:
    """Look at all, ask for all, and while people think do whatever needs nobody."""
    by: dict[Standing, list[OpenCall]] = {}
    for c in calls:
        by.setdefault(standing(c, grants), []).append(c)
    if found := by.get("unweighed"):
        return Weigh(tuple(c.call for c in found))
    if over := [*by.get("over", ()), *by.get("begun", ())]:
        return Record(tuple(concluded(c) for c in over))
    if asking := [*by.get("to ask", ()), *by.get("lost", ())]:
        return Ask(tuple(asking))
    if ready := by.get("ready"):
        return _tools(ready)
    if unsaid := [c for c in by.get("no password", ()) if c.lock == "closed"]:
        return AskPassword(tuple(unsaid))
    if by.get("no password"):
        return Wait("waiting_for_password")
    answers = all(c.asked == "answer" for c in by["asked"])
    return Wait("waiting_for_answer" if answers else "waiting_for_approval")


def _tools(ready: list[OpenCall]) -> RunTools:
    """What changes nothing may go side by side; the rest goes one by one, in the order it was wished for."""
    pure = tuple(c for c in ready if c.weighed is not None and c.weighed.effect == "pure")
    return RunTools(pure if pure else (ready[0],))


def concluded(c: OpenCall) -> ev.ToolFinished:
    """How a call ends that is not carried out, or not any more, in words for the model."""
    ok, text = _words(c)
    return ev.ToolFinished(c.call.id, c.call.name, ok, text)


def _words(c: OpenCall) -> tuple[bool, str]:
    if c.begun:
        return False, "broken off in the middle; whether it took effect is not known."
    if c.weighed is not None and "forbidden" in {c.weighed.risk, c.call.risk}:
        return False, f"refused: this is never done here. {c.weighed.why}".strip()
    assert c.decision is not None
    said = c.decision.words.strip()
    match c.decision.decision:
        case "approved":
            return True, said
        case "happened":
            return True, f"A crash cut this off; a person looked and says that it happened. {said}".strip()
        case "expired":
            return False, "not done: nobody answered in time whether it may be."
        case "cancelled":
            return False, f"not done: {said or 'it was called off.'}"
    if c.asked == "outcome":
        return False, f"A crash cut this off, and whether it happened is not known. A person let it be. {said}".strip()
    return False, f"not done: a person refused it. {said}".strip()
