"""Reading the action role's reply: a directive, or nothing that can be used."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from quarterdeck.kernel.parts import Risk, ToolCall

Then = Literal["answer", "plan"]
RISKS: tuple[Risk, ...] = ("none", "low", "medium", "high", "forbidden")

# What a model is held to where it takes a schema.
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"const": "action_directive"},
        "intent": {"type": "string"},
        "risk_level": {"enum": list(RISKS)},
        "actions": {
            "type": "array",
            "maxItems": 8,
            "items": {
                "type": "object",
                "properties": {
                    "tool": {"type": "string"},
                    "args": {"type": "object"},
                    "reason": {"type": "string"},
                },
                "required": ["tool", "args", "reason"],
            },
        },
        "then": {"enum": ["answer", "plan"]},
    },
    "required": ["kind", "intent", "risk_level", "actions"],
}


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
    risk = _risk(said.get("risk_level"))
    calls = tuple(_call(action, f"{attempt}.{n}", risk) for n, action in enumerate(actions) if _is_action(action))
    then: Then = "plan" if said.get("then") == "plan" else "answer"
    return Directive(str(said.get("intent", "")), calls, then)


def _is_action(action: object) -> bool:
    return isinstance(action, dict) and isinstance(action.get("tool"), str) and isinstance(action.get("args", {}), dict)


def _call(action: dict[str, Any], ident: str, risk: Risk) -> ToolCall:
    arguments = json.dumps(action.get("args", {}), ensure_ascii=False)
    return ToolCall(ident, action["tool"], arguments, str(action.get("reason", "")), risk)


def _risk(said: object) -> Risk:
    return said if said in RISKS else "none"
