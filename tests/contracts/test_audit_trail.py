"""The command audit and the table of usage on every store: what is shown was written, and who tampers is named."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import apsw
import orjson
import pytest

from logroom import RUN, TENANT, Shelf, kept, rebuilt
from quarterdeck.actions.audit import audit_entry
from quarterdeck.engine.money import Price, read_prices
from quarterdeck.events.audit import CommandAudited
from quarterdeck.events.run import AttemptBroke, AttemptFinished, AttemptStarted, RunRequested
from quarterdeck.events.tool import ToolFinished
from quarterdeck.kernel.errors import Moved
from quarterdeck.kernel.ids import TenantId, command_audit
from quarterdeck.kernel.parts import Usage
from quarterdeck.log.entries import Entry
from quarterdeck.log.log import Log
from quarterdeck.log.rows import event_of
from quarterdeck.ports import Query
from quarterdeck.views.audit import AUDIT, exported, payload_of, verified
from quarterdeck.views.usage import USAGE, Total, summed

RAN = CommandAudited(
    "r1",
    "call-1",
    "apt list --upgradable",
    "shell_exec_safe",
    "package_check",
    "low",
    "policy",
    approved=False,
    ok=True,
    exit_status=0,
    output_digest="0" * 64,
    workspace="/work",
    duration_ms=12.5,
)


async def audit(log: Log, *commands: str, tenant: str = "local", **more: Any) -> None:
    for command in commands:
        await log.append(audit_entry(TenantId(tenant), replace(RAN, command=command, **more)))


async def shown(log: Log, **where: object) -> list[dict[str, Any]]:
    return await log.find(Query(AUDIT, {"tenant": TENANT, **where}, "place", descending=True))


async def taken(log: Log) -> list[dict[str, Any]]:
    return [json.loads(line) for piece in [p async for p in exported(log, TENANT)] for line in piece.splitlines()]


# Writing


async def test_a_command_is_shown_with_who_what_and_how_it_ended(log: Log) -> None:
    await audit(log, "make", decided_by="person", approved=True, approved_by="person:ann", approval_id="a1")
    (line,) = await shown(log)
    told = payload_of(line)
    assert (told["command"], told["task_id"], told["risk_level"]) == ("make", "r1", "low")
    assert (told["decided_by"], told["approved"], told["approved_by"]) == ("person", True, "person:ann")
    assert (told["ok"], told["exit_status"], told["duration_ms"]) == (True, 0, 12.5)
    assert set(told) == {"task_id", *(field.name for field in fields(RAN) if field.name != "run")}


async def test_what_is_kept_holds_no_secret_and_never_the_word(log: Log) -> None:
    evil = replace(
        RAN,
        command="sudo_password=hunter2 echo s3cret-of-ours",
        call_id="password",
        tool="Password",
        workspace="/home/password-manager",
        asked_by="person:PASSWORD",
    )
    await log.append(audit_entry(TENANT, evil, secrets=["s3cret-of-ours"]))
    (row,) = await log.read(command_audit(TENANT))
    kept = row.data.decode() + json.dumps(await shown(log)) + json.dumps(await taken(log))
    for secret in ("hunter2", "s3cret", "password"):
        assert secret not in kept.lower()


async def test_a_command_that_cannot_be_written_is_kept_all_the_same(log: Log) -> None:
    await audit(log, "echo \ud800 \x1b[2J", "x" * 100_000)
    lines = await shown(log)
    assert len(lines) == 2
    assert lines[0]["command"].endswith("…]")


async def test_the_command_and_the_end_of_its_call_are_there_together_or_not_at_all(log: Log) -> None:
    end = ToolFinished("call-1", "shell_exec_safe", ok=True, result="")
    with pytest.raises(Moved):
        await log.append(Entry(RUN, (end,), head=7), audit_entry(TENANT, RAN))
    assert await shown(log) == []
    await log.append(Entry(RUN, (end,), head=0), audit_entry(TENANT, RAN))
    assert len(await shown(log)) == 1


async def test_commands_are_found_by_run_and_another_tenants_are_not(log: Log) -> None:
    await audit(log, "one", "two")
    await audit(log, "three", run="r2")
    await audit(log, "theirs", tenant="elsewhere")
    assert [line["command"] for line in await shown(log)] == ["three", "two", "one"]
    assert [line["command"] for line in await shown(log, run="r1")] == ["two", "one"]
    assert [each["payload"]["command"] for each in await taken(log)] == ["one", "two", "three"]
    assert [(await verified(log, TenantId(name))).count for name in ("local", "elsewhere")] == [3, 1]
    assert (await verified(log, TENANT)).ok


# Taking it away and checking it


def chained(line: dict[str, Any], before: bytes) -> str:
    """The hash of an exported line as docs/audit.md says how to make it, with nothing of the product."""
    proof = line["proof"]
    inner = hashlib.sha256(bytes.fromhex(proof["salt"]) + proof["data"].encode()).digest()
    place = ["local", "audit", "commands", line["seq"], line["seq"], line["at"]]
    head = orjson.dumps([*place, proof["kind"], proof["version"], proof["actor"], proof["cause"]])
    return hashlib.sha256(before + head + inner).hexdigest()


async def test_whoever_took_it_away_can_check_every_hash_without_us(log: Log) -> None:
    await audit(log, *(f"команда {number}" for number in range(7)))
    before = b""
    for line in await taken(log):
        assert json.loads(line["proof"]["data"]) == line["payload"]
        assert line["hash"] == chained(line, before)
        before = bytes.fromhex(line["hash"])
    verdict = await verified(log, TENANT)
    assert (verdict.ok, verdict.count, verdict.head_hash, verdict.troubles) == (True, 7, before.hex(), ())


async def test_nothing_is_in_order_as_long_as_nothing_was_run(log: Log) -> None:
    verdict = await verified(log, TENANT)
    assert (verdict.ok, verdict.count, verdict.head_hash) == (True, 0, "")
    assert await taken(log) == []


async def test_many_pages_are_checked_to_the_end(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quarterdeck.views.audit.PAGE", 3)
    await audit(log, *(f"c{number}" for number in range(10)))
    assert (await verified(log, TENANT)).count == len(await taken(log)) == 10


TAMPERING = {
    "a byte of a row": (
        "UPDATE row SET data = CAST(replace(CAST(data AS TEXT), 'c2', 'cX') AS BLOB) WHERE kind = 'audit.command'",
        "the row at 3 is not what was written",
    ),
    "a row that is no JSON": ("UPDATE row SET data = x'7b00' WHERE first = 2", "the row at 2 is not what was written"),
    "the time of a row": ("UPDATE row SET at = at + 1 WHERE first = 2", "the row at 2 is not what was written"),
    "a row that is gone": ("DELETE FROM row WHERE first = 2", "place 2 is missing"),
    "the first row": ("DELETE FROM row WHERE first = 1", "place 1 is missing"),
    "a command that is shown": ("UPDATE view_audit SET command = 'ls' WHERE place = 2", "another command at 2"),
    "who approved": ("UPDATE view_audit SET approved = 1 WHERE place = 4", "another approved at 4"),
    "a line that is gone": ("DELETE FROM view_audit WHERE place = 2", "lacks the one at 2"),
    "a line that was never written": (
        "INSERT INTO view_audit(tenant, place, command, approved, ok) VALUES('local', 91, 'ls', 1, 1)",
        "one at 91 that was never written",
    ),
}


@pytest.mark.parametrize("what", TAMPERING)
async def test_who_tampers_with_the_file_is_found_out_and_the_place_is_named(tmp_path: Path, what: str) -> None:
    shelf = Shelf("sqlite", tmp_path)
    await audit(shelf.open(), *(f"c{number}" for number in range(5)))
    shelf.close()
    statement, why = TAMPERING[what]
    database = apsw.Connection(str(shelf.path))
    database.execute(statement)
    database.close()
    log = shelf.open()
    try:
        verdict = await verified(log, TENANT)
        assert not verdict.ok
        assert any(why in trouble for trouble in verdict.troubles), verdict.troubles
        assert (await verified(log, TenantId("elsewhere"))).ok
        assert len([piece async for piece in exported(log, TENANT)]) == 1, "what is left can still be taken away"
    finally:
        shelf.close()


async def test_an_end_that_was_cut_off_while_we_ran_is_found(tmp_path: Path) -> None:
    shelf = Shelf("sqlite", tmp_path)
    log = shelf.open()
    await audit(log, "one", "two", "three")
    database = apsw.Connection(str(shelf.path))
    database.execute("DELETE FROM row WHERE first = 3")
    database.close()
    assert not (await verified(log, TENANT)).ok
    shelf.close()


# Usage


PRICES = read_prices({"m/dear": {"input": 1.0, "output": 2.0}})


async def attempt(log: Log, number: int, model: str, usage: Usage | None) -> None:
    await log.append(Entry(RUN, (AttemptStarted(number, "thinker", model),), opening=(RunRequested("c", "hi"),)))
    ended = AttemptBroke(number, "thinker", "cut", "it broke off", retryable=True)
    finished = ended if usage is None else AttemptFinished(number, "thinker", "stop", usage=usage)
    await log.append(Entry(RUN, (finished,)))


async def test_usage_is_summed_up_as_a_whole_and_by_model(log: Log) -> None:
    await attempt(log, 1, "m/dear", Usage(1_000_000, 500_000, 7))
    await attempt(log, 2, "m/dear", None)
    await attempt(log, 3, "m/dear", Usage(1_000_000, 0))
    await attempt(log, 4, "m/unknown", Usage(10, 20))
    await attempt(log, 5, "local/smollm2", Usage())
    lines = await log.find(Query(USAGE, {"tenant": TENANT}, "id"))
    assert len({line["day"] for line in lines}) <= 2
    day = summed(lines, PRICES)
    assert (day.calls, day.input_tokens, day.output_tokens, day.reasoning_tokens) == (5, 2_000_010, 500_020, 7)
    assert day.usd == 3.0
    assert day.models["m/dear"] == Total(3, 2_000_000, 500_000, 7, 3.0)
    assert day.models["m/unknown"].usd is None
    assert day.models["local/smollm2"].usd == 0.0
    assert PRICES["m/dear"] == Price(1.0, 2.0)


async def test_what_is_shown_is_what_the_whole_log_gives(shelf: Shelf, log: Log) -> None:
    await audit(log, "one", "two", ok=False, exit_status=None)
    await attempt(log, 1, "m/dear", Usage(1, None, 3))
    await attempt(log, 2, "m/dear", None)
    assert kept(shelf.store) == rebuilt(shelf.store)
    assert len(kept(shelf.store)["audit"]) == len(kept(shelf.store)["usage"]) == 2
    (first, _) = await log.read(command_audit(TENANT))
    assert event_of(first) == replace(RAN, command="one", ok=False, exit_status=None)
