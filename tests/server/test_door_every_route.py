"""Every route of the description, asked in many ways about things that are there: none stumbles, and each answer is one
that the description foresees. `make fuzz` asks far more, and less plainly."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

from door_client import Answer, ask
from door_serving import Serving, Start
from talking import PLACE, office

ENDLESS = {"/v1/news"}  # a stream without an end
METHODS = ("post", "put", "patch", "get", "delete")


def sample(schema: dict[str, Any], *, whole: bool) -> Any:
    """Something that fits, as far as it is easily seen."""
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return sample(schema[several][0], whole=whole)
    match schema.get("type"):
        case "object":
            named = schema.get("properties", {})
            wanted = named if whole else schema.get("required", [])
            return {name: sample(named[name], whole=whole) for name in wanted if name in named}
        case "array":
            return [sample(schema.get("items", {}), whole=whole)] if whole else []
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return False
        case "string":
            return "x" * max(1, schema.get("minLength", 1))
        case _:
            return None


def bodies(operation: dict[str, Any]) -> Iterator[Any]:
    """What fits barely and wholly, and what does not: nothing, null for each, too much, another shape."""
    content = operation.get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        yield None
        return
    schema = content["application/json"]["schema"]
    whole = sample(schema, whole=True)
    yield from (sample(schema, whole=False), whole, {}, [], "x")
    if isinstance(whole, dict):
        yield dict.fromkeys(whole)
        yield {**whole, "surely_not_there": 1}
        yield from ({name: value} for name, value in whole.items())
        yield from ({**whole, name: None} for name in whole)


def queries(operation: dict[str, Any]) -> Iterator[str]:
    told = [each for each in operation.get("parameters", []) if each["in"] == "query"]
    yield ""
    for each in told:
        fitting = sample(each["schema"], whole=True)
        yield from ("?" + urlencode({each["name"]: value}) for value in (fitting, "", "\x00", "9" * 30, "猫"))


async def made(server: Serving) -> dict[str, str]:
    """One of each thing that a path can name."""
    here = await office(server)
    talk = await here.open()
    await here.answered(talk, "hello")
    message = (await here.messages(talk))[0]["id"]
    run = (await here.get("/v1/tasks")).document[0]["task_id"]
    memory = (await here.post("/v1/memory", {"text": "Tea is green."})).document["id"]
    project = (await here.post("/api/v1/projects", {"name": "A project"})).document
    card = await here.post(f"/api/v1/projects/{project['id']}/tasks", {"title": "A task"})
    member = await here.post("/api/v1/members", {"name": "A member", "type": "agent", "slug": "a-member"})
    return {
        "tenant_id": here.tenant,
        "employee_id": here.employee,
        "conversation_id": talk,
        "message_id": message,
        "task_id": run,
        "card_id": card.document["id"],
        "memory_id": memory,
        "project_id": project["id"],
        "chat_id": project["chat_id"],
        "member_id": member.document["id"],
        "name": "tidy_files",
    }


def places(path: str, known: dict[str, str]) -> list[str]:
    """The path with things that are there, and with none that could be."""
    here = {**known, "task_id": known["card_id"]} if path.startswith("/api/v1/") else known
    names = [part[1:-1].partition(":")[0] for part in path.split("/") if part.startswith("{")]
    found = path.replace(":path}", "}")
    there = found
    for name in names:
        there = there.replace(f"{{{name}}}", here.get(name, "nobody"))
        found = found.replace(f"{{{name}}}", quote("nobody 猫"))
    return [there] if there == found else [there, found]


def check(operation: dict[str, Any], answer: Answer, asked: tuple[object, ...]) -> None:
    assert answer.status < 500, (asked, answer)
    if answer.status >= 400:
        assert answer.code, asked
        return
    foreseen = operation["responses"]
    assert str(answer.status) in foreseen, (asked, answer.status)
    kinds = foreseen[str(answer.status)].get("content", {})
    if kinds and answer.status != 204:
        assert answer.headers["content-type"].partition(";")[0] in kinds, (asked, answer.headers)


async def test_no_route_stumbles_over_anything_and_each_answers_as_described(start: Start) -> None:
    server = start({"content": ["ok"]})
    known = await made(server)
    described = (await ask(server, "GET", "/openapi.json")).document["paths"]
    for method, (path, operations) in itertools.product((*METHODS[:-1], "get", "delete"), described.items()):
        if method not in operations or path in ENDLESS:
            continue
        operation = operations[method]
        for place in places(path, known):
            for body in bodies(operation):
                asked = (method.upper(), place, body)
                check(operation, await ask(server, *asked), asked)
            for query in itertools.islice(queries(operation), 1, None):
                asked = (method.upper(), place + query, None)
                check(operation, await ask(server, *asked), asked)
    assert (await ask(server, "GET", PLACE)).status == 200
