"""A team at work, told as it happens: two experts and a lead plan, work, debate if you ask them to, and answer.

    python examples/team.py "Should a small shop keep its orders in SQLite or PostgreSQL?"

Thinks with whatever model Quarterdeck finds (OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY, Ollama, or the
embedded one). Type while it works: /debate <topic>, @ada …, /skip, /pause, /resume, /stop, or words for everybody.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

from quarterdeck.settings import read_settings
from quarterdeck.teams import Expert, ExpertConfig, ExpertTeam, ModelGateway, TeamOrchestrator
from quarterdeck.wiring import what_answers

TASK = "Should a small shop keep its orders in SQLite or PostgreSQL?"


def team_of(gateway: ModelGateway) -> ExpertTeam:
    lead = ExpertConfig("lead", persona="An experienced architect who decides", is_lead=True)
    ada = ExpertConfig("ada", persona="Loves what is simple", thinking_style="from costs and risks")
    bob = ExpertConfig("bob", persona="Runs large systems", thinking_style="from what breaks at night")
    return ExpertTeam(Expert(config, gateway) for config in (lead, ada, bob))


def show(note: dict[str, Any]) -> None:
    match note:
        case {"type": "plan_update", "change": "plan"}:
            print(f"· plan {note['version']} ({note['why']})", flush=True)
            for phase in note["phases"]:
                after = f" after {', '.join(phase['depends_on'])}" if phase["depends_on"] else ""
                print(f"    {phase['id']}: {phase['name']} [{phase['expert']}]{after}", flush=True)
        case {"type": "plan_update", "change": "started"}:
            print(f"· {note['expert']} begins {note['phase']}", flush=True)
        case {"type": "plan_update", "change": "phase"}:
            print(f"· {note['phase']}: {note['status']} {note['detail']}", flush=True)
        case {"type": "part_ended", "end": "completed"}:
            print(f"\n--- {note['part']}\n{note['text']}\n", flush=True)
        case {"type": "part_ended"}:
            print(f"· {note['part']} {note['end']}: {note['detail']}", flush=True)
        case {"type": "debate_closed"}:
            print(f"· verdict ({note['why']}): {note['verdict']}", flush=True)
        case {"detail": str(detail), "outcome": str(outcome)}:
            print(f"· {outcome}: {detail}", flush=True)


def listen(team: ExpertTeam) -> None:
    """Hand over what is typed, from a thread of its own: reading a terminal waits."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in sys.stdin:
            asyncio.run_coroutine_threadsafe(team.add_user_intervention(line.strip()), loop)

    threading.Thread(target=read, daemon=True).start()


async def main(task: str) -> int:
    found = await what_answers(read_settings())
    if found.model is None:
        print(f"{found.source} {found.advice}", file=sys.stderr)
        return 1
    team = team_of(ModelGateway(found.model))
    team.subscribe(show)
    listen(team)
    result = await TeamOrchestrator(team).execute(task)
    print(f"\n=== {result.outcome}{f' ({result.detail})' if result.detail else ''}\n{result.answer}")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(" ".join(sys.argv[1:]) or TASK)))
