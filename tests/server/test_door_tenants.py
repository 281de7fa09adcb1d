"""Tenants over HTTP."""

from __future__ import annotations

import asyncio
import io
import zipfile

import pytest
from door_client import Answer, ask
from door_serving import BOUND_S, Serving

PLACE = "/api/v1/tenants"


async def create(server: Serving, slug: str, name: str = "A tenant") -> str:
    answer = await ask(server, "POST", PLACE, {"name": name, "slug": slug})
    assert answer.status == 201, answer
    return str(answer.document["id"])


async def test_a_tenant_is_created_found_listed_and_changed(server: Serving) -> None:
    ident = await create(server, "harbour", "Гавань")
    one = (await ask(server, "GET", f"{PLACE}/{ident}")).document
    assert (one["id"], one["name"], one["slug"]) == (ident, "Гавань", "harbour")
    assert one in (await ask(server, "GET", PLACE)).document
    changed = await ask(server, "PATCH", f"{PLACE}/{ident}", {"slug": "port"})
    assert (changed.status, changed.document["name"], changed.document["slug"]) == (200, "Гавань", "port")


async def test_lists_go_on_page_by_page(server: Serving) -> None:
    created = [await create(server, f"page-{number}") for number in range(5)]
    found, path = [], f"{PLACE}?limit=2"
    while path:
        answer = await ask(server, "GET", path)
        found += [line["id"] for line in answer.document]
        link = answer.headers.get("link", "")
        path = link[1 : link.index(">")] if link else ""
    assert [ident for ident in found if ident in created] == created
    assert len(set(found)) == len(found)


async def test_the_same_key_creates_one_and_a_taken_slug_is_a_conflict(server: Serving) -> None:
    body, key = {"name": "Once", "slug": "once"}, {"Idempotency-Key": "create-once"}
    answers: list[Answer] = await asyncio.gather(*(ask(server, "POST", PLACE, body, key) for _ in range(10)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.body for answer in answers}) == 1
    other = await ask(server, "POST", PLACE, body)
    assert (other.status, other.code) == (409, "slug_taken")
    reused = await ask(server, "POST", PLACE, {"name": "Other", "slug": "other"}, key)
    assert (reused.status, reused.code) == (422, "idempotency_mismatch")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "A"},
        {"name": "A", "slug": 1},
        {"name": "A", "slug": "a", "id": "mine"},
        {"name": "A", "slug": "../a"},
        {"name": "A\u2028B\u0007", "slug": "a"},
        {"name": " ", "slug": "a"},
    ],
)
async def test_what_makes_no_sense_is_refused_in_words(server: Serving, body: object) -> None:
    answer = await ask(server, "POST", PLACE, body)
    assert answer.status == 422
    assert answer.code in {"invalid_request", "bad_slug", "bad_name"}


@pytest.mark.parametrize("ident", ["nobody", "house", "%2e%2e", "a" * 300])
async def test_a_tenant_that_is_not_there_is_not_found(server: Serving, ident: str) -> None:
    for method, body in (("GET", None), ("PATCH", {"name": "A"})):
        answer = await ask(server, method, f"{PLACE}/{ident}", body)
        assert (answer.status, answer.code) == (404, "tenant_not_found")


async def test_a_tenant_takes_its_things_along_and_is_gone(server: Serving) -> None:
    ident = await create(server, "leaver", "Leaver & Sons")
    packed = await ask(server, "GET", f"{PLACE}/{ident}/export")
    assert (packed.status, packed.headers["content-type"]) == (200, "application/zip")
    assert packed.headers["content-disposition"] == 'attachment; filename="leaver.zip"'
    assert b"Leaver & Sons" in zipfile.ZipFile(io.BytesIO(packed.body)).read("tenant.json")
    for query in ("", "?confirm=", "?confirm=leave"):
        unsure = await ask(server, "DELETE", f"{PLACE}/{ident}{query}")
        assert (unsure.status, unsure.code) == (422, "not_confirmed")
    gone = await ask(server, "DELETE", f"{PLACE}/{ident}?confirm=leaver")
    assert (gone.status, gone.document["tenant_id"]) == (202, ident)
    for method, path, body in (
        ("GET", "", None),
        ("PATCH", "", {"name": "A"}),
        ("GET", "/config", None),
        ("PUT", "/config", {}),
        ("GET", "/export", None),
        ("DELETE", "?confirm=leaver", None),
    ):
        answer = await ask(server, method, f"{PLACE}/{ident}{path}", body)
        assert (answer.status, answer.code) == (404, "tenant_not_found")
    async with asyncio.timeout(BOUND_S):
        while (told := (await ask(server, "GET", f"{PLACE}/{ident}/erasure")).document)["state"] != "erased":
            pass
    assert told["erased_at"] >= told["asked_at"]
    assert (await ask(server, "GET", f"{PLACE}/nobody/erasure")).code == "erasure_not_found"
    assert (await ask(server, "DELETE", f"{PLACE}/local?confirm=local")).code == "local_tenant"
    await create(server, "leaver")


async def test_the_vault_gets_a_new_lock_while_the_server_runs(server: Serving) -> None:
    ident = await create(server, "locked")
    key = {"llm_provider": "openai", "llm_api_key": "sk-live-3fA9xQ7zT1bN5mK8"}
    assert (await ask(server, "PUT", f"{PLACE}/{ident}/config", key)).status == 200
    answer = await ask(server, "POST", "/api/v1/vault/rotate")
    assert (answer.status, answer.document["tenants"] >= 1) == (200, True)
    assert (await ask(server, "GET", f"{PLACE}/{ident}/config")).document["llm_api_key_last_four"] == "5mK8"
