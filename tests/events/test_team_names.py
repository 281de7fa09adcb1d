"""The names by which watchers know what happens to a team."""

from __future__ import annotations

from examples import EXAMPLES

from quarterdeck.engine.team.told import told
from quarterdeck.events.team import TeamFormed
from quarterdeck.server.hub.told import TEAM_EVENTS


def test_every_event_of_a_teams_run_has_a_name_in_the_document_and_no_name_stands_for_nothing() -> None:
    of_runs = [each for each in EXAMPLES if each.KIND.startswith("team.") and not isinstance(each, TeamFormed)]
    assert {told(each)[0] for each in of_runs} == set(TEAM_EVENTS)
