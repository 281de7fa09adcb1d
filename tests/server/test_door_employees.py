"""Employees over HTTP: hired, changed, archived, and seen by their own tenant."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from door_client import ask
from door_serving import Serving

PLACE = "/api/v1/employees"


async def tenant(server: Serving, slug: str) -> str:
    answer = await ask(server, "POST", "/api/v1/tenants", {"name": slug, "slug": slug})
    assert answer.status == 201, answer
    return str(answer.document["id"])


async def hire(server: Serving, tenant_id: str, **given: Any) -> dict[str, Any]:
    answer = await ask(server, "POST", PLACE, {"tenant_id": tenant_id, "name": "Анна", **given})
    assert answer.status == 201, answer
    document: dict[str, Any] = answer.document
    return document


async def test_an_employee_is_what_it_was_hired_as(server: Serving) -> None:
    home = await tenant(server, "staff-one")
    given = {
        "role": "book-keeper",
        "system_prompt": "Be brief.",
        "model": "openai/gpt-x",
        "temperature": 1,
        "tools": ["file_read", "file_read"],
        "skills": [],
        "memory": False,
    }
    hired = await hire(server, home, **given)
    assert hired == {**hired, **given, "tools": ["file_read"], "tenant_id": home, "name": "Анна", "archived": False}
    assert (await ask(server, "GET", f"{PLACE}/{hired['id']}")).document == hired
    assert (await ask(server, "GET", f"{PLACE}?tenant_id={home}")).document == [hired]


async def test_a_change_leaves_alone_what_it_does_not_name(server: Serving) -> None:
    hired = await hire(server, await tenant(server, "staff-two"), temperature=0.5, tools=["file_read"])
    path = f"{PLACE}/{hired['id']}"
    changed = (await ask(server, "PATCH", path, {"role": "clerk", "tools": None})).document
    assert changed == {**hired, "role": "clerk", "tools": None, "changed_at": changed["changed_at"]}
    assert (await ask(server, "PATCH", path, {"temperature": None})).document["temperature"] is None


async def test_of_many_changes_at_once_none_is_lost(server: Serving) -> None:
    hired = await hire(server, await tenant(server, "staff-three"))
    path, fields = f"{PLACE}/{hired['id']}", {"name": "Ben", "role": "chef", "model": "a/b", "temperature": 0.1}
    await asyncio.gather(*(ask(server, "PATCH", path, {name: value}) for name, value in fields.items()))
    now = (await ask(server, "GET", path)).document
    assert {name: now[name] for name in fields} == fields


async def test_one_that_is_archived_is_listed_apart_and_can_be_brought_back(server: Serving) -> None:
    home = await tenant(server, "staff-four")
    hired = await hire(server, home)
    path = f"{PLACE}/{hired['id']}"
    assert (await ask(server, "DELETE", path)).status == 204
    assert (await ask(server, "DELETE", path)).status == 204
    assert (await ask(server, "GET", f"{PLACE}?tenant_id={home}")).document == []
    (line,) = (await ask(server, "GET", f"{PLACE}?tenant_id={home}&archived=true")).document
    assert line["archived"]
    assert line["archived_at"] is not None
    back = (await ask(server, "PATCH", path, {"archived": False})).document
    assert (back["archived"], back["archived_at"]) == (False, None)
    assert (await ask(server, "GET", f"{PLACE}?tenant_id={home}")).document == [back]


async def test_the_same_key_hires_one(server: Serving) -> None:
    body, key = {"tenant_id": await tenant(server, "staff-five"), "name": "Once"}, {"Idempotency-Key": "hire-once"}
    answers = await asyncio.gather(*(ask(server, "POST", PLACE, body, key) for _ in range(5)))
    assert len({answer.body for answer in answers}) == 1


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"tenant_id": "nobody"}, "tenant_not_found"),
        ({"name": " \n"}, "bad_name"),
        ({"model": "no-slash"}, "bad_model"),
        ({"tools": ["rm -rf"]}, "bad_names"),
        ({"temperature": 3}, "invalid_request"),
        ({"salary": 3}, "invalid_request"),
    ],
)
async def test_what_makes_no_sense_is_refused_with_a_reason(server: Serving, wrong: dict[str, Any], code: str) -> None:
    assert (await ask(server, "POST", PLACE, {"name": "Eve", **wrong})).code == code


async def test_nobody_is_not_found(server: Serving) -> None:
    for method, body in (("GET", None), ("PATCH", {"name": "x"}), ("DELETE", None)):
        answer = await ask(server, method, f"{PLACE}/nobody", body)
        assert (answer.status, answer.code) == (404, "employee_not_found")
