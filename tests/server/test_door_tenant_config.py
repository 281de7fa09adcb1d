"""How a tenant's runs are carried out, over HTTP, with a provider that keeps notes: keys go where they belong alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from door_client import ask
from door_serving import Serving, Start

from quarterdeck.testing.upstream import FAULTS, Answer, Upstream

KEY, SECOND = "sk-live-3fA9xQ7zT1bN5mK8", "sk-live-second-0000-9Zz"
PLACE = "/api/v1/tenants"
BROKE = Answer(b'{"error":{"code":"insufficient_quota","message":"You are out."}}', 429, kind="application/json")


@pytest.fixture(scope="module")
def server(start: Start) -> Serving:
    return start(environ={"QUARTERDECK_PROVIDER_ALLOW": "127.0.0.1", "QUARTERDECK_MODEL_PATIENCE_S": "5"})


@pytest.fixture
async def tenant(server: Serving, request: pytest.FixtureRequest) -> str:
    slug = "".join(c if c.isalnum() else "-" for c in request.node.name.lower())[-60:].strip("-")
    answer = await ask(server, "POST", PLACE, {"name": "A tenant", "slug": slug})
    assert answer.status == 201, answer
    return f"{PLACE}/{answer.document['id']}/config"


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with Upstream() as upstream:
        yield upstream


def brought(upstream: Upstream, **more: Any) -> dict[str, Any]:
    return {"llm_provider": "openai", "llm_base_url": upstream.base_url, "llm_model": "m-1", **more}


async def test_a_configuration_is_kept_and_the_key_is_never_shown(server: Serving, tenant: str) -> None:
    empty = (await ask(server, "GET", tenant)).document
    assert empty["llm_provider"] is None
    prices = {"openai/*": {"input": 1, "output": 4.5, "reasoning": None}}
    asked = {"llm_provider": "openai", "llm_model": "gpt-4", "llm_api_key": KEY, "prices": prices}
    asked |= {"run_budget_usd": 1.5, "day_budget_usd": 20, "tools": ["web_fetch"], "keep_days": 30}
    answer = await ask(server, "PUT", tenant, {**asked, "server_default": "when_failing"})
    assert answer.status == 200, answer
    told = answer.document
    assert told == (await ask(server, "GET", tenant)).document
    assert {n: told[n] for n in asked if n in told} == {n: asked[n] for n in asked if n != "llm_api_key"}
    assert (told["llm_api_key_last_four"], told["llm_api_keys_last_four"]) == ("5mK8", ["5mK8"])
    assert KEY.encode() not in answer.body
    assert KEY not in json.dumps(server.rows("SELECT cast(data AS TEXT) FROM row"))
    assert KEY not in "".join(server.log)
    assert not any(KEY.encode() in path.read_bytes() for path in server.folder.rglob("*") if path.is_file())


async def test_what_is_put_is_whole_and_what_is_patched_is_not(server: Serving, tenant: str) -> None:
    await ask(server, "PUT", tenant, {"llm_provider": "openai", "llm_model": "a", "llm_api_key": KEY, "keep_days": 3})
    patched = (await ask(server, "PATCH", tenant, {"llm_model": "b"})).document
    assert (patched["llm_model"], patched["keep_days"], patched["llm_api_key_last_four"]) == ("b", 3, "5mK8")
    put = (await ask(server, "PUT", tenant, {"llm_provider": "openai"})).document
    assert (put["llm_model"], put["keep_days"], put["llm_api_key_last_four"]) == (None, None, "5mK8")
    gone = (await ask(server, "PATCH", tenant, {"llm_api_key": None})).document
    assert (gone["llm_api_key_last_four"], gone["llm_api_keys_last_four"]) == (None, [])


async def test_a_small_call_says_that_all_is_well(server: Serving, tenant: str, upstream: Upstream) -> None:
    await ask(server, "PUT", tenant, brought(upstream, llm_api_key=KEY))
    trial = (await ask(server, "POST", f"{tenant}/test")).document
    assert (trial["ok"], trial["model"], trial["code"]) == (True, "openai/m-1", None)
    (request,) = upstream.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.document["model"] == "m-1"


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("status-401", "provider_auth", "does not accept the key (status 401); check `llm_api_key`"),
        ("status-404", "provider_not_found", "does not know 'm-1' (status 404); check `llm_model` and `llm_base_url`"),
        ("broke", "provider_out_of_money", "no credit left"),
        ("status-429", "provider_rate_limited", "slow down"),
        ("no-headers", "provider_timeout", "did not begin to answer"),
    ],
)
async def test_a_small_call_says_in_words_what_is_wrong(
    server: Serving, tenant: str, fault: str, code: str, says: str
) -> None:
    async with Upstream({**FAULTS, "broke": BROKE}[fault]) as upstream:
        await ask(server, "PUT", tenant, brought(upstream, llm_api_key=KEY))
        answer = await ask(server, "POST", f"{tenant}/test")
    assert (answer.status, answer.document["ok"], answer.document["code"]) == (200, False, code)
    assert says in answer.document["detail"]
    assert KEY.encode() not in answer.body


async def test_a_small_call_to_nobody_says_so(server: Serving, tenant: str) -> None:
    trial = (await ask(server, "POST", f"{tenant}/test")).document
    assert (trial["ok"], trial["code"]) == (False, "no_model")
    assert "set `llm_provider`" in trial["detail"]
    await ask(server, "PUT", tenant, {"llm_provider": "anthropic"})
    trial = (await ask(server, "POST", f"{tenant}/test")).document
    assert (trial["code"], "no key for anthropic" in trial["detail"]) == ("key_missing", True)
    mine = {"llm_provider": "mine", "llm_base_url": "http://127.0.0.1:9/v1", "llm_model": "m"}
    await ask(server, "PUT", tenant, mine)
    trial = (await ask(server, "POST", f"{tenant}/test")).document
    assert trial["code"] == "provider_unreachable"


async def test_a_stored_key_goes_nowhere_else_when_the_address_changes(
    server: Serving, tenant: str, upstream: Upstream
) -> None:
    await ask(server, "PUT", tenant, {"llm_provider": "openai", "llm_api_key": KEY, "llm_model": "m"})
    for change in (brought(upstream), {"llm_base_url": upstream.base_url}, {"llm_provider": "anthropic"}):
        answer = await ask(server, "PATCH", tenant, change)
        assert (answer.status, answer.code) == (409, "key_bound")
    await ask(server, "POST", f"{tenant}/test")
    assert upstream.requests == []
    assert (await ask(server, "PATCH", tenant, brought(upstream, llm_api_key=SECOND))).status == 200
    assert (await ask(server, "POST", f"{tenant}/test")).document["ok"]
    assert {request.headers["authorization"] for request in upstream.requests} == {f"Bearer {SECOND}"}


@pytest.mark.parametrize("status", ["status-401", "status-429"])
async def test_where_one_key_is_refused_the_next_is_tried_and_the_first_is_left_in_peace(
    server: Serving, tenant: str, status: str
) -> None:
    async with Upstream(FAULTS[status], Answer()) as upstream:
        await ask(server, "PUT", tenant, brought(upstream, llm_api_keys=[KEY, SECOND]))
        first = (await ask(server, "POST", f"{tenant}/test")).document
        assert (first["ok"], first["detail"].endswith("Another key is tried.")) == (False, True)
        for _ in range(2):
            assert (await ask(server, "POST", f"{tenant}/test")).document["ok"]
        used = [request.headers["authorization"].removeprefix("Bearer ") for request in upstream.requests]
    assert used == [KEY, SECOND, SECOND]


async def test_the_servers_own_model_answers_only_where_the_operator_allows_it(server: Serving, tenant: str) -> None:
    assert not (await ask(server, "POST", f"{tenant}/test")).document["ok"]
    await ask(server, "PATCH", tenant, {"server_default": "when_unset"})
    assert (await ask(server, "POST", f"{tenant}/test")).document["model"].startswith("scripted/")
    async with Upstream(FAULTS["status-401"]) as upstream:
        await ask(server, "PATCH", tenant, brought(upstream, llm_api_key=KEY))
        for _ in range(2):
            assert (await ask(server, "POST", f"{tenant}/test")).document["code"] == "provider_auth"
        await ask(server, "PATCH", tenant, {"server_default": "when_failing"})
        assert (await ask(server, "POST", f"{tenant}/test")).document["model"].startswith("scripted/")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"llm_provider": "scripted", "llm_base_url": "https://example.org"}, "bad_provider"),
        ({"llm_provider": "local"}, "bad_provider"),
        ({"llm_provider": "../x"}, "bad_provider"),
        ({"llm_provider": "mine"}, "base_url_missing"),
        ({"llm_base_url": "https://example.org"}, "no_provider"),
        ({"llm_api_key": KEY}, "no_provider"),
        ({"llm_provider": "openai", "llm_api_key": "two words"}, "bad_key"),
        ({"llm_provider": "openai", "llm_api_key": "a\r\nx: y"}, "bad_key"),
        ({"llm_provider": "openai", "llm_base_url": "http://169.254.169.254/latest"}, "address_not_allowed"),
        ({"llm_provider": "openai", "llm_base_url": "https://10.1.2.3"}, "address_not_allowed"),
        ({"llm_provider": "openai", "llm_base_url": "http://models.example.org"}, "address_not_allowed"),
        ({"llm_provider": "openai", "llm_base_url": "https://u:p@example.org"}, "bad_base_url"),
        ({"llm_provider": 1}, "invalid_request"),
        ({"llm_key": KEY}, "invalid_request"),
        ({"run_budget_usd": -1}, "invalid_request"),
        ({"prices": {"m": {"input": 1}}}, "invalid_request"),
        ({"server_default": "always"}, "invalid_request"),
    ],
)
async def test_what_makes_no_sense_is_refused_in_words(server: Serving, tenant: str, body: object, code: str) -> None:
    answer = await ask(server, "PUT", tenant, body)
    assert (answer.status, answer.code) == (422, code)
    assert KEY.encode() not in answer.body
    assert (await ask(server, "GET", tenant)).document["llm_provider"] is None


async def test_of_changes_at_once_each_key_that_is_shown_can_be_used(server: Serving, tenant: str) -> None:
    async with Upstream() as upstream:
        keys = [f"sk-live-3fA9xQ7zT1bN-{number:04}" for number in range(12)]
        bodies = [brought(upstream, llm_api_key=key) for key in keys]
        answers = await asyncio.gather(*(ask(server, "PUT", tenant, body) for body in bodies))
        assert {answer.status for answer in answers} == {200}
        shown = (await ask(server, "GET", tenant)).document["llm_api_key_last_four"]
        assert (await ask(server, "POST", f"{tenant}/test")).document["ok"]
        assert upstream.requests[0].headers["authorization"].endswith(shown)


async def test_nobodys_configuration_is_not_found(server: Serving) -> None:
    for method, path, body in (("GET", "", None), ("PUT", "", {}), ("PATCH", "", {}), ("POST", "/test", None)):
        answer = await ask(server, method, f"{PLACE}/nobody/config{path}", body)
        assert (answer.status, answer.code) == (404, "tenant_not_found")
    local = await ask(server, "PUT", f"{PLACE}/local/config", {"llm_provider": "openai"})
    assert (local.status, local.code) == (409, "local_tenant")


async def test_a_provider_is_tried_out_by_one_at_a_time_and_the_servers_own_is_not_asked(
    server: Serving, tenant: str
) -> None:
    async with Upstream(FAULTS["no-headers"]) as upstream:
        await ask(server, "PUT", tenant, brought(upstream, llm_api_key=KEY))
        answers = await asyncio.gather(*(ask(server, "POST", f"{tenant}/test") for _ in range(5)))
        assert sorted(answer.status for answer in answers) == [200, 429, 429, 429, 429]
        assert {answer.code for answer in answers if answer.status == 429} == {"trial_running"}
        assert len(upstream.requests) == 1
    await ask(server, "PUT", tenant, {"server_default": "when_unset", "llm_api_key": None})
    trial = (await ask(server, "POST", f"{tenant}/test")).document
    assert (trial["ok"], trial["detail"].startswith("The server's own model answers")) == (True, True)
    assert trial["took_ms"] is None
