"""Who has to be asked, what a permission is bound to, and what a rule can allow for always."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from harmless_looking import EVERYDAY, HARMLESS_LOOKING, QUERIES
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.engine.policy.rules import checked_rule, covers, remember, rule_for
from quarterdeck.engine.policy.shell import judge
from quarterdeck.engine.policy.verdict import bound_hash, declared_risk, higher, rank, verdict
from quarterdeck.engine.run.directive import read_directive
from quarterdeck.kernel.errors import Invalid
from quarterdeck.kernel.parts import Risk

RISKS: tuple[Risk, ...] = get_args(Risk)
ANY_RISK = st.sampled_from(RISKS)
STRICTER = ("run", "ask", "refuse")

# Verdicts


@pytest.mark.parametrize(
    ("risk", "found"), [("none", "run"), ("low", "run"), ("medium", "ask"), ("high", "ask"), ("forbidden", "refuse")]
)
def test_low_runs_medium_and_high_ask_and_forbidden_is_refused(risk: Risk, found: str) -> None:
    assert verdict("none", risk) == found
    assert verdict(risk, "none") == found


@given(ANY_RISK, ANY_RISK)
def test_the_higher_risk_of_two_counts_whoever_names_it(one: Risk, other: Risk) -> None:
    assert higher(one, other) == higher(other, one)
    assert rank(higher(one, other)) == max(rank(one), rank(other))
    assert verdict(one, other) == verdict("none", higher(one, other))


@given(ANY_RISK, ANY_RISK, st.booleans(), st.booleans())
def test_what_a_model_declares_never_makes_a_verdict_milder(said: Risk, found: Risk, rule: bool, run: bool) -> None:
    with_it = verdict(said, found, rule_allows=rule, run_allows=run)
    without = verdict("none", found, rule_allows=rule, run_allows=run)
    assert STRICTER.index(with_it) >= STRICTER.index(without)


@pytest.mark.parametrize("risk", ["medium", "high"])
@pytest.mark.parametrize("leave", ["rule_allows", "run_allows"])
def test_leave_that_was_given_needs_no_second_asking(risk: Risk, leave: str) -> None:
    assert verdict("none", risk, **{leave: True}) == "run"
    assert verdict("forbidden", risk, **{leave: True}) == "refuse"
    assert verdict("none", "forbidden", **{leave: True}) == "refuse"


@pytest.mark.parametrize(
    ("said", "risk"),
    [*((risk, risk) for risk in RISKS), (None, "none"), ("", "none"), (" High ", "high"), ("critical", "medium")],
)
def test_a_risk_that_a_model_names_in_its_own_words_is_taken_as_a_warning(said: object, risk: Risk) -> None:
    assert declared_risk(said) == risk
    assert declared_risk([said]) == "medium"


@pytest.mark.parametrize(("said", "risk"), [("critical", "medium"), (" High ", "high"), (7, "medium"), ("low", "low")])
def test_a_directives_risk_is_read_as_the_warning_it_was_meant_to_be(said: object, risk: Risk) -> None:
    told = {"intent": "read", "risk_level": said, "actions": [{"tool": "file_read", "args": {}}]}
    directive = read_directive(json.dumps(told), 1)
    assert directive is not None
    assert directive.calls[0].risk == risk


# What a permission is bound to

TOOL, ARGUMENTS = "shell_exec_safe", {"command": "make all", "seconds": 5, "deep": {"a": [1, 2.5, True, None, "x"]}}
BOUND = {"cwd": "/work/x", "env": "HOME,LANG,PATH", "script": "ab" * 32}


def hashed(tool: str = TOOL, arguments: Any = ARGUMENTS, bound: dict[str, str] = BOUND) -> str:
    return bound_hash(tool, arguments if isinstance(arguments, str) else json.dumps(arguments), bound)


def changed(**values: Any) -> dict[str, Any]:
    return {**ARGUMENTS, **values}


MUTATIONS: dict[str, dict[str, Any]] = {
    "another tool": {"tool": "shell_exec_saf"},
    "a blank behind": {"arguments": changed(command="make all ")},
    "another case": {"arguments": changed(command="make All")},
    "an invisible character": {"arguments": changed(command="make\u200b all")},
    "a text for a number": {"arguments": changed(seconds="5")},
    "a number in other words": {"arguments": json.dumps(ARGUMENTS).replace("2.5", "2.50")},
    "another order of a list": {"arguments": changed(deep={"a": [2.5, 1, True, None, "x"]})},
    "one more argument": {"arguments": changed(more=None)},
    "one argument less": {"arguments": {"command": "make all"}},
    "another name of an argument": {"arguments": {"Command": "make all", "seconds": 5, "deep": ARGUMENTS["deep"]}},
    "another folder": {"bound": {**BOUND, "cwd": "/work/x/"}},
    "another variable": {"bound": {**BOUND, "env": "HOME,LANG,LD_PRELOAD,PATH"}},
    "another script": {"bound": {**BOUND, "script": "ab" * 31 + "ac"}},
    "one thing less": {"bound": {"cwd": BOUND["cwd"], "env": BOUND["env"]}},
    "names and values moved": {"bound": {"cwd": "/work/x", "env": "HOME,LANG,PATH,script", "": "ab" * 32}},
    "a name that stands twice": {"arguments": '{"command": "rm x", ' + json.dumps(ARGUMENTS)[1:]},
}


@pytest.mark.parametrize("what", MUTATIONS)
def test_any_change_of_what_would_be_done_is_another_hash(what: str) -> None:
    assert hashed(**MUTATIONS[what]) != hashed()


def test_no_two_changes_have_the_same_hash() -> None:
    assert len({hashed(**mutation) for mutation in MUTATIONS.values()}) == len(MUTATIONS)


def test_the_order_and_the_spacing_of_names_are_no_change() -> None:
    turned = dict(reversed(ARGUMENTS.items()))
    assert hashed(arguments=turned) == hashed(arguments=json.dumps(ARGUMENTS, indent=4)) == hashed()
    assert hashed(bound=dict(reversed(BOUND.items()))) == hashed()


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(JSONS, JSONS)
def test_arguments_with_the_same_hash_are_the_same(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (hashed(arguments=json.dumps(one)) == hashed(arguments=json.dumps(other))) == same


@given(st.text(), st.text())
def test_text_that_is_no_json_has_a_hash_as_well(one: str, other: str) -> None:
    assert (bound_hash("t", "{" + one, {}) == bound_hash("t", "{" + other, {})) == (one == other)


@pytest.mark.parametrize("odd", ["[" * 100_000, "1" * 5000, "1e999", "NaN", '"\\ud800"', "\ud800", '{"a":' * 3000])
def test_arguments_that_few_readers_bear_have_a_hash(odd: str) -> None:
    assert bound_hash("t", odd, {}) != bound_hash("t", odd + " x", {})


def test_halves_of_characters_are_told_apart() -> None:
    texts = ["\ud800", "\ud801", "\ud83d\ude00", "\U0001f600", "?"]
    assert len({bound_hash("t", text, {}) for text in texts}) == len(texts)
    assert len({bound_hash("t", "{}", {"cwd": text}) for text in texts}) == len(texts)


def test_an_object_cannot_pass_for_the_way_it_is_written_down() -> None:
    texts = [
        '{"a": 1}',
        '{"object": [["a", {"number": "1"}]]}',
        '{"object": [["a", 1]]}',
        '[["a", 1]]',
        '{"number": "1"}',
        "1",
    ]
    assert len({bound_hash("t", text, {}) for text in texts}) == len(texts)


# Rules


@pytest.mark.parametrize("command", ["uname -a", "date -u", "apt list --upgradable", "pip list", "cat /etc/os-release"])
def test_always_makes_a_rule_for_exactly_one_query(command: str) -> None:
    rule = remember(judge(command))
    assert rule == f"shell_exec_safe {command}" == checked_rule(f"shell_exec_safe {command}")
    assert covers(rule, remember(judge(command)))
    others = [remember(judge(other)) for other in QUERIES if other != command]
    assert not any(covers(rule, other) for other in [*others, None])


@pytest.mark.parametrize(
    "command", [*HARMLESS_LOOKING, *EVERYDAY, "sudo apt update", "python3 --version", "rm -rf /", "*"]
)
def test_always_makes_no_rule_for_what_a_shell_the_sandbox_an_interpreter_or_sudo_runs(command: str) -> None:
    assert remember(judge(command)) is None
    with pytest.raises(Invalid) as caught:
        checked_rule(f"shell_exec_safe {command}")
    assert caught.value.code in {"rule_not_exact", "rule_too_wide"}


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("web_fetch", ()),
        ("web_fetch", ("*",)),
        ("web_fetch", ("*.example.org",)),
        ("web_fetch", ("",)),
        ("web_fetch", ("a b",)),
        ("web_fetch", ("a\n",)),
        ("web_fetch", ("\u0430",)),
        ("web_fetch", ("[ab]",)),
        ("*", ("a",)),
        ("", ("a",)),
        ("a b", ("a",)),
    ],
)
def test_a_rule_stands_for_one_exact_thing_or_is_none(tool: str, words: tuple[str, ...]) -> None:
    assert rule_for(tool, words) is None
    assert rule_for("web_fetch", ("example.org",)) == "web_fetch example.org"


@pytest.mark.parametrize(
    "text", ["", " ", "web_fetch", "web_fetch *", "web_fetch  a", "shell_exec_safe", "web_fetch a ", "file_write a"]
)
def test_a_rule_that_is_written_badly_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Invalid, match="uname -a"):
        checked_rule(text)
    assert checked_rule("web_fetch https://example.org/a") == "web_fetch https://example.org/a"


@pytest.mark.parametrize(
    "text", ["example.org", "https://example.org", "https:///x", "ftp://example.org/", "https://a/ https://b/"]
)
def test_a_rule_for_fetching_names_one_whole_address(text: str) -> None:
    with pytest.raises(Invalid, match="one whole address"):
        checked_rule(f"web_fetch {text}")


@given(st.lists(st.text("ab .*", max_size=3), max_size=3), st.lists(st.text("ab .*", max_size=3), max_size=3))
def test_two_things_never_share_a_rule(one: list[str], other: list[str]) -> None:
    first, second = rule_for("t", one), rule_for("t", other)
    assert first is None or covers(first, second) == (one == other)
