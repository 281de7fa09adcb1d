"""The action role's reply: the form it is asked for, and reading it: a directive, or nothing that can be used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from quarterdeck.engine.policy.verdict import declared_risk
from quarterdeck.kernel.parts import Risk, ToolCall, ToolSpec

Then = Literal["answer", "plan"]
RISKS: tuple[Risk, ...] = ("none", "low", "medium", "high", "forbidden")

MOST_ACTIONS = 8
MOST_FORMS = 48  # tools with a form each; of more only the names are given
KINDS = frozenset({"string", "integer", "number", "boolean", "array", "object"})


def form(tools: Sequence[ToolSpec] = (), *, slight: bool = False) -> dict[str, Any]:
    """What a model is held to where it takes a schema: these tools, each with the arguments it has. A slight one may
    do one thing, and gives what must be given: whatever else it is let fill in, it fills with nonsense."""
    if 0 < len(tools) <= MOST_FORMS:
        forms = [_action({"const": tool.name}, _arguments(tool, slight=slight)) for tool in tools]
        action: dict[str, Any] = {"anyOf": forms}
    else:
        names = {"enum": [tool.name for tool in tools]} if tools else {"type": "string"}
        action = _action(names, {"type": "object"})
    return {
        "type": "object",
        "properties": {
            "kind": {"const": "action_directive"},
            "intent": {"type": "string"},
            "risk_level": {"enum": list(RISKS)},
            "actions": {"type": "array", "maxItems": 1 if slight else MOST_ACTIONS, "items": action},
            "then": {"enum": ["answer", "plan"]},
        },
        "required": ["kind", "intent", "risk_level", "actions"],
    }


def _action(tool: dict[str, Any], args: dict[str, Any]) -> dict[str, Any]:
    properties = {"tool": tool, "args": args, "reason": {"type": "string"}}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _arguments(tool: ToolSpec, *, slight: bool) -> dict[str, Any]:
    """Names and plain kinds only: what else a tool's schema may say, not every model's grammar knows."""
    told = tool.parameters.get("properties", {})
    needed = [name for name in tool.parameters.get("required", ()) if name in told]
    kinds = {name: said.get("type") if isinstance(said, dict) else None for name, said in told.items()}
    properties = {
        name: {"type": kind} if isinstance(kind, str) and kind in KINDS else {}
        for name, kind in kinds.items()
        if name in needed or not slight
    }
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Directive:
    intent: str
    calls: tuple[ToolCall, ...] = ()
    then: Then = "answer"


def read_directive(text: str, attempt: int) -> Directive | None:
    """The directive in a reply, fenced or amid prose; None where there is none."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        said = json.loads(text[begin : end + 1])
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    actions = said.get("actions") or []
    if not isinstance(actions, list):
        return None
    risk = declared_risk(said.get("risk_level"))
    calls = tuple(_call(action, f"{attempt}.{n}", risk) for n, action in enumerate(actions) if _is_action(action))
    then: Then = "plan" if said.get("then") == "plan" else "answer"
    return Directive(str(said.get("intent", "")), calls, then)


def _is_action(action: object) -> bool:
    return isinstance(action, dict) and isinstance(action.get("tool"), str) and isinstance(action.get("args", {}), dict)


def _call(action: dict[str, Any], ident: str, risk: Risk) -> ToolCall:
    arguments = json.dumps(action.get("args", {}), ensure_ascii=False)
    return ToolCall(ident, action["tool"], arguments, str(action.get("reason", "")), risk)
