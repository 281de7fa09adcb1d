"""`quarterdeck skills` and `quarterdeck audit`, and what the doctor says of skills."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from decks import Deck

from quarterdeck.actions.audit import audit_entry
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock
from quarterdeck.events.audit import CommandAudited
from quarterdeck.kernel.ids import TenantId
from quarterdeck.log.log import Log
from quarterdeck.views.tables import TABLES, VIEWS

RAN = CommandAudited("r1", "c1", "make\x1b[2J all", "shell", "shell", "medium", "person", approved=True, ok=True)
REFUSED = CommandAudited("r2", "c1", "rm -rf /", "shell", "shell", "forbidden", "rule", approved=False, ok=False)


def put(folder: Path, name: str, description: str = "Deploy the site.") -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n# Do it\x0a")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deck]:
    deck = Deck(tmp_path_factory.mktemp("records"))
    deck.script({"content": ["Hello."]})

    async def write() -> None:
        log = Log(SqliteStore(deck.database), SystemClock(), TABLES, VIEWS)
        for ran in (RAN, REFUSED):
            await log.append(audit_entry(TenantId("local"), ran))
        await log.close()

    asyncio.run(write())
    put(deck.data / "skills", "mine")
    put(deck.folder / ".quarterdeck" / "skills", "yours")
    deck.serve()
    yield deck
    deck.close()


def test_skills_of_all_levels_are_listed_with_their_origin(served: Deck) -> None:
    lines = served.on("skills", "list").stdout.splitlines()
    assert lines[0].split() == ["NAME", "FROM", "FOR"]
    assert ["mine", "user", "Deploy", "the", "site."] in [line.split() for line in lines]
    assert ["yours", "workspace", "Deploy", "the", "site."] in [line.split() for line in lines]
    told = json.loads(served.on("skills", "list", "--json", "--workspace", "/").stdout)
    assert "yours" not in [skill["name"] for skill in told]
    assert {"analyze_project", "mine"} <= {skill["name"] for skill in told}


def test_one_skill_is_shown_whole_or_is_one_sentence(served: Deck) -> None:
    assert served.on("skills", "show", "yours").stdout == "# Do it\n"
    assert json.loads(served.on("skills", "show", "mine", "--json").stdout)["origin"] == "user"
    missing = served.on("skills", "show", "no/such")
    assert (missing.returncode, missing.stdout, len(missing.stderr.splitlines())) == (1, "", 1)


def test_the_doctor_names_skills_that_cannot_be_read(deck: Deck) -> None:
    def told() -> dict[str, str]:
        checks = json.loads(deck.run("doctor", "--json").stdout)
        return next(check for check in checks if check["name"] == "skills")

    put(deck.data / "skills", "mine")
    assert told()["state"] == "ok"
    assert "mine" in told()["says"]
    put(deck.data / "skills", "Broken")
    assert told()["state"] == "note"
    assert str(deck.data / "skills" / "Broken") in told()["do"]


def test_commands_are_listed_the_latest_first_and_cannot_command_the_terminal(served: Deck) -> None:
    lines = served.on("audit", "list").stdout.splitlines()
    assert lines[0].split() == ["SEQ", "TIME", "RISK", "DECIDED", "ENDED", "COMMAND"]
    assert lines[1].split()[0] == "2"
    assert lines[1].endswith("rm -rf /")
    assert "refused" in lines[1]
    assert "\x1b" not in lines[2]
    told = json.loads(served.on("audit", "list", "--json", "--run", "r1").stdout)
    assert [line["seq"] for line in told] == [1]
    assert served.on("audit", "list", "--after", "1").stdout == "None.\n"


def test_the_audit_is_exported_line_by_line_into_a_new_file_only(served: Deck) -> None:
    printed = served.on("audit", "export").stdout
    assert [json.loads(line)["seq"] for line in printed.splitlines()] == [1, 2]
    file = served.folder / "commands.ndjson"
    assert served.on("audit", "export", "--output", str(file)).returncode == 0
    assert file.read_text() == printed
    again = served.on("audit", "export", "--output", str(file))
    assert (again.returncode, len(again.stderr.splitlines())) == (1, 1)
    assert file.read_text() == printed


def test_tampering_is_found_and_named(served: Deck) -> None:
    verdict = json.loads(served.on("audit", "verify", "--json").stdout)
    assert (verdict["ok"], verdict["count"]) == (True, 2)
    assert verdict["head_hash"] in served.on("audit", "verify").stdout
    with contextlib.closing(apsw.Connection(str(served.database))) as database:
        database.set_busy_timeout(5000)
        database.execute("UPDATE view_audit SET command = 'ls' WHERE place = 2")
    done = served.on("audit", "verify")
    assert done.returncode == 1
    assert "another command at 2" in done.stdout


def test_no_command_yet_is_said_so(deck: Deck) -> None:
    deck.serve()
    assert deck.on("audit", "list").stdout == "No command was run yet.\n"
    assert deck.on("audit", "export").stdout == ""
    assert "All 0 commands" in deck.on("audit", "verify").stdout
