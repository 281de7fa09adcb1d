"""Lists that grow are read by an index and in its order: nothing is sorted, and nothing gone through to find a page."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from quarterdeck.adapters.sqlite import schema
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.ports import Query
from quarterdeck.views.approvals import APPROVALS
from quarterdeck.views.memory import AFTERS
from quarterdeck.views.staff import EMPLOYEES
from quarterdeck.views.tables import RUNS, TABLES
from quarterdeck.views.talk import CONVERSATIONS, MESSAGES, TITLE_TERMS

ONE = {"tenant": "t", "conversation": "c"}
QUERIES = (
    Query(CONVERSATIONS, {}, "id", descending=True),
    Query(CONVERSATIONS, {"tenant": "t"}, "id", descending=True),
    Query(CONVERSATIONS, {"tenant": "t", "employee": "e"}, "id", descending=True),
    Query(CONVERSATIONS, {"tenant": "t", "user": "u"}, "id", descending=True),
    Query(CONVERSATIONS, {"user": "u"}, "id", descending=True),
    Query(CONVERSATIONS, {"id": "c"}, "id"),
    Query(TITLE_TERMS, {"tenant": "t", "term": "tea"}, "conversation", descending=True),
    Query(TITLE_TERMS, {"term": "tea"}, "conversation", descending=True),
    Query(MESSAGES, ONE, "place"),
    Query(MESSAGES, ONE, "place", descending=True),
    Query(MESSAGES, {**ONE, "id": "m"}, "place"),
    Query(MESSAGES, {**ONE, "run": "r", "role": "user"}, "place"),
    Query(EMPLOYEES, {"tenant": "t", "archived": 0}, "id"),
    Query(EMPLOYEES, {"id": "e"}, "id"),
    Query(RUNS, {}, "id", descending=True),
    Query(RUNS, {"tenant": "t"}, "id", descending=True),
    Query(RUNS, {"id": "r"}, "id"),
    Query(RUNS, {"conversation": "c"}, "id", descending=True),
    Query(RUNS, {**ONE, "open": 1}, "id"),
    Query(RUNS, {"status": "queued", "open": 1}, "id", descending=True),
    Query(APPROVALS, {"state": "pending"}, "id"),
    Query(APPROVALS, {"tenant": "t", "state": "pending"}, "id"),
    Query(AFTERS, {"tenant": "t", "run": "r"}, "id"),
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("views") / "log.db"
    store = SqliteStore(path)
    store.prepare(TABLES)
    store.close()
    return path


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: f"{query.table.name} by {'+'.join(query.where) or 'all'}")
@pytest.mark.parametrize("after", [False, True])
def test_a_page_is_found_by_an_index_and_comes_in_its_order(database: Path, query: Query, after: bool) -> None:
    text = schema.find(query.table, query.where, query.order, descending=query.descending, after=after)
    values = [*query.where.values(), *(["a"] if after else []), 10]
    with apsw.Connection(str(database)) as file:
        plan = [line[3] for line in file.execute(f"EXPLAIN QUERY PLAN {text}", values)]
    assert not [step for step in plan if "TEMP B-TREE" in step], plan
    narrowed = bool(query.where) or after
    assert all(step.startswith("SEARCH" if narrowed else ("SCAN", "SEARCH")) for step in plan), plan
    assert all("USING" in step for step in plan), plan
