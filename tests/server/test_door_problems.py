"""What every client may rely on: problems of one form, lists in pages, a true description, and a way to a model."""

from __future__ import annotations

import re
from typing import Any

import pytest
from door_client import Answer, ask, finished
from door_serving import Serving, Start

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "HEAD", "BREW")


# Problems


@pytest.mark.parametrize("method", METHODS)
async def test_an_unknown_path_is_not_found_by_any_method(server: Serving, method: str) -> None:
    told = await ask(server, method, "/v1/nothing/here")
    if method == "BREW":
        assert told.status == 400, "no method that a parser of HTTP knows"
        return
    assert told.status == 404
    if method != "HEAD":
        assert told.code == "not_found"
        assert "/v1/nothing/here" in told.document["detail"]


@pytest.mark.parametrize(
    ("path", "offered"),
    [
        ("/v1/tasks", "GET"),
        ("/v1/chat", "POST"),
        ("/v1/chat/stream", "POST"),
        ("/v1/tasks/x/stop", "POST"),
        ("/v1/tasks/x/stream", "GET"),
        ("/healthz", "GET"),
        ("/v1/conversations", "GET"),
    ],
)
async def test_a_method_that_is_not_offered_says_which_is(server: Serving, path: str, offered: str) -> None:
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - {offered}:
        told = await ask(server, method, path)
        assert (told.status, told.code) == (405, "method_not_allowed")
        assert offered in told.headers["allow"]


async def test_a_problem_has_all_its_parts_and_agrees_with_its_status(server: Serving) -> None:
    for method, path, body in (
        ("GET", "/nowhere", None),
        ("POST", "/v1/chat", {}),
        ("POST", "/v1/chat", b"x"),
        ("GET", "/v1/tasks?limit=0", None),
        ("GET", "/v1/tasks/none", None),
    ):
        told = await ask(server, method, path, body)
        assert told.document["type"] == f"urn:quarterdeck:problem:{told.code}"
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", told.code)
        assert told.document["detail"].endswith(".")


# Lists


async def pages(server: Serving, path: str, key: str) -> list[str]:
    """The keys of all lines, following `Link` until there is none."""
    found: list[str] = []
    following: str | None = path
    while following is not None:
        told = await ask(server, "GET", following)
        assert told.status == 200
        found += [line[key] for line in told.document]
        following = next_of(told)
    return found


def next_of(told: Answer) -> str | None:
    if "link" not in told.headers:
        return None
    found = re.fullmatch(r'<([^>]+)>; rel="next"', told.headers["link"])
    assert found
    return found[1]


async def test_lists_are_paged_without_gaps_and_doubles(start: Start) -> None:
    server = start()
    tasks = [(await finished(server, "hello")).task for _ in range(7)]
    for limit in (1, 2, 3, 7, 500):
        assert await pages(server, f"/v1/tasks?limit={limit}", "task_id") == tasks[::-1]
        assert len(set(await pages(server, f"/v1/conversations?limit={limit}", "id"))) == 7


async def test_a_list_keeps_its_filter_from_page_to_page(server: Serving) -> None:
    mine = [(await finished(server, "hello", conversation_id="mine")).task for _ in range(3)]
    await finished(server, "hello")
    assert await pages(server, "/v1/tasks?conversation_id=mine&limit=1", "task_id") == mine[::-1]
    assert await pages(server, "/v1/tasks?conversation_id=nobodys", "task_id") == []
    told = await ask(server, "GET", "/v1/tasks?conversation_id=mine&status=failed")
    assert told.document == []


async def test_the_events_of_a_run_are_paged(server: Serving) -> None:
    watch = await finished(server, "think about it")
    for limit in (1, 5, 500):
        seqs = await pages(server, f"/v1/tasks/{watch.task}/events?limit={limit}", "seq")
        assert seqs == watch.seqs


async def test_a_conversation_tells_who_said_what(server: Serving) -> None:
    for text in ("hello", "think about it"):
        await finished(server, text, conversation_id="talk")
    told = (await ask(server, "GET", "/v1/conversations/talk")).document
    assert [(each["role"], each["status"]) for each in told["messages"]] == [
        ("user", "completed"),
        ("assistant", "completed"),
    ] * 2
    assert told["messages"][0]["content"] == told["title"] == "hello"


# The description


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


async def test_the_description_has_all_that_a_description_needs(server: Serving) -> None:
    document = (await ask(server, "GET", "/openapi.json")).document
    assert document["openapi"].startswith("3.")
    assert document["info"]["title"] == "Quarterdeck"
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names)) > 8
    for _, path, operation in operations(document):
        told = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"}
        assert told == set(re.findall(r"{(\w+)}", path))


async def test_every_reference_in_the_description_leads_somewhere(server: Serving) -> None:
    answer = await ask(server, "GET", "/openapi.json")
    for reference in re.findall(rb'"\$ref":\s*"([^"]+)"', answer.body):
        place: Any = answer.document
        assert reference.startswith(b"#/")
        for part in reference.decode().removeprefix("#/").split("/"):
            place = place[part]


async def test_every_operation_tells_what_may_go_wrong_and_in_what_form(server: Serving) -> None:
    document = (await ask(server, "GET", "/openapi.json")).document
    for _, _, operation in operations(document):
        for status in ("4XX", "5XX"):
            told = operation["responses"][status]["content"]["application/problem+json"]["schema"]
            assert set(told["required"]) == {"type", "title", "status", "code", "detail"}
        assert "422" not in operation["responses"], "the framework's own form, which we never send"
    assert "HTTPValidationError" not in str(document)


ENDLESS = {"/v1/news"}  # streams that have no end of their own


async def test_what_the_description_offers_is_there(server: Serving) -> None:
    document = (await ask(server, "GET", "/openapi.json")).document
    for method, path, operation in operations(document):
        if path in ENDLESS:
            continue
        told = await ask(server, method, re.sub(r"{\w+}", "none", path), b"{}" if "requestBody" in operation else None)
        assert told.status not in {405, 500}
        if told.status == 404:
            assert told.code != "not_found", f"{method} {path}"


async def test_bodies_are_described_where_they_are_taken(server: Serving) -> None:
    document = (await ask(server, "GET", "/openapi.json")).document
    for path in ("/v1/chat", "/v1/chat/stream"):
        body = document["paths"][path]["post"]["requestBody"]
        assert body["required"]
        assert "message" in body["content"]["application/json"]["schema"]["required"]


# Health


async def test_the_server_says_that_it_lives_and_what_it_runs_on(server: Serving) -> None:
    assert (await ask(server, "GET", "/healthz")).document == {"status": "ok"}
    ready = (await ask(server, "GET", "/readyz")).document
    assert ready["status"] == "ready"
    assert ready["model"].startswith("scripted/")
    assert ready["storage"] == str(server.database)


async def test_the_page_for_people_runs_no_foreign_code(server: Serving) -> None:
    page = await ask(server, "GET", "/")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.body.count(b"<script") == page.body.count(b'<script type="module" src="/static/') == 1


# Without a model


@pytest.fixture(scope="module")
def speechless(start: Start) -> Serving:
    return start(environ={"QUARTERDECK_MODEL": ""}, constants={"adapters.models.local.ENGINE": "no_such_engine"})


async def test_without_a_model_the_server_starts_and_is_ready(speechless: Serving) -> None:
    ready = (await ask(speechless, "GET", "/readyz")).document
    assert (ready["status"], ready["model"]) == ("ready", None)
    assert (await ask(speechless, "GET", "/v1/tasks")).document == []
    assert "OPENAI_API_KEY" in (await ask(speechless, "GET", "/v1/about")).document["advice"]


@pytest.mark.parametrize("path", ["/v1/chat", "/v1/chat/stream"])
async def test_without_a_model_a_chat_is_told_how_to_get_one(speechless: Serving, path: str) -> None:
    told = await ask(speechless, "POST", path, {"message": "hello"})
    assert (told.status, told.code) == (503, "no_model")
    for way in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "Ollama", "QUARTERDECK_MODEL"):
        assert way in told.document["detail"]
    assert (await ask(speechless, "GET", "/v1/tasks")).document == [], "nothing was begun that cannot be done"


async def test_a_model_that_cannot_be_used_is_told_like_none(start: Start) -> None:
    server = start(environ={"QUARTERDECK_MODEL": "nobody/knows-it"})
    told = await ask(server, "POST", "/v1/chat", {"message": "hello"})
    assert (told.status, told.code) == (503, "no_model")
    assert "nobody" in told.document["detail"]


async def test_a_model_that_fails_is_told_as_its_failure(server: Serving) -> None:
    told = await ask(server, "POST", "/v1/chat", {"message": "fail"})
    assert (told.status, told.code) == (502, "provider_rejected")
