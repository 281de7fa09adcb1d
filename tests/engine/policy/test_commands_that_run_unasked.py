"""Which commands run without anyone being asked: those known word for word, and nothing that resembles them."""

from __future__ import annotations

import string
from itertools import chain

import pytest
from harmless_looking import EVERYDAY, HARMLESS_LOOKING, PACKAGE_QUERIES, QUERIES
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quarterdeck.engine.policy.reading import beneath
from quarterdeck.engine.policy.shell import judge
from quarterdeck.engine.policy.verdict import verdict

ALLOWED = (*EVERYDAY, *QUERIES, *PACKAGE_QUERIES)
META = "|&;<>()$`\\\"'*?[]#~{}!^\n\r\t\0"
ODD = st.one_of(
    st.sampled_from(META),
    st.characters(max_codepoint=0x1F),
    st.characters(min_codepoint=0x7F),
    st.sampled_from("\u00a0\u2028\u202e\u200b\u3000\ufeff\U000e0041\ud800"),
)
WORDS = sorted({word for command in (*ALLOWED, *HARMLESS_LOOKING) for word in command.split()})


def runs_unasked(command: str) -> bool:
    return verdict("none", judge(command).risk) == "run"


@pytest.mark.parametrize("command", HARMLESS_LOOKING)
def test_what_looks_harmless_and_is_not_never_runs_unasked(command: str) -> None:
    assert not runs_unasked(command)


def test_the_corpus_is_wide_and_says_nothing_twice() -> None:
    assert len(HARMLESS_LOOKING) >= 110
    assert len(set(HARMLESS_LOOKING)) == len(HARMLESS_LOOKING)
    assert len(set(EVERYDAY)) >= 30
    assert set(ALLOWED).isdisjoint(HARMLESS_LOOKING)


@pytest.mark.parametrize("command", EVERYDAY)
def test_everyday_reading_runs_unasked_in_the_sandbox_and_without_a_shell(command: str) -> None:
    judged = judge(command)
    assert (judged.risk, judged.action, judged.lane) == ("low", "file_read", "sandbox")
    assert judged.argv == tuple(command.split(" "))
    assert all(map(beneath, judged.reads))


@pytest.mark.parametrize("command", [*QUERIES, *PACKAGE_QUERIES])
def test_a_known_query_runs_as_it_is(command: str) -> None:
    judged = judge(command)
    kind = "package_check" if command in PACKAGE_QUERIES else "system_info"
    assert (judged.risk, judged.action, judged.lane) == ("low", kind, "direct")
    assert (judged.argv, judged.reads) == (tuple(command.split(" ")), ())


@pytest.mark.parametrize(
    ("command", "reads"),
    [
        ("cat a b/c", ("a", "b/c")),
        ("grep -rn -m 2 src docs", ("docs",)),
        ("grep -r word", (".",)),
        ("head -n 5 x", ("x",)),
        ("find src -name y", ("src",)),
        ("ls", (".",)),
        ("jq .a x.json", ("x.json",)),
        ("pwd", ()),
        ("echo a b", ()),
        ("dirname a/b", ()),
    ],
)
def test_a_reading_command_says_which_paths_it_would_open(command: str, reads: tuple[str, ...]) -> None:
    assert judge(command).reads == reads


@pytest.mark.parametrize("path", [".", "a", "./a", "a/b.c", "a/", ".hidden", "a-b/c+d", "...", "a/...b"])
def test_a_path_beneath_the_workspace_may_be_read(path: str) -> None:
    assert beneath(path)
    assert runs_unasked(f"cat {path}")


@pytest.mark.parametrize("path", ["..", "../a", "a/..", "a/../b", "/a", "~", "~/a", "-", "-a", "", "a//b", "a:b"])
def test_a_path_that_may_lead_out_is_asked_about(path: str) -> None:
    assert not beneath(path)
    assert not runs_unasked(f"cat {path}")


@given(st.text(st.sampled_from(string.ascii_letters + string.digits + " -./")), ODD, st.text(max_size=20))
def test_a_command_with_anything_a_shell_or_an_eye_could_trip_over_is_never_unasked(a: str, odd: str, b: str) -> None:
    assert not runs_unasked(a + odd + b)


@given(st.sampled_from(ALLOWED), st.data(), ODD)
def test_an_allowed_command_is_asked_about_with_any_odd_character_put_into_it(
    command: str, data: st.DataObject, odd: str
) -> None:
    at = data.draw(st.integers(0, len(command)))
    assert runs_unasked(command)
    assert not runs_unasked(command[:at] + odd + command[at:])


@given(st.text())
@example("'")
@example('"$(`')
@example("<<")
@example("cat <<a <<b\n")
@example("\\")
@example("$(" * 4000)
@example("`" * 8000)
@example("((" * 3000)
@example("a <<x\n" * 1000)
@example("x" * 8192)
@example("x(){" * 2000)
@example("x() { " * 1300)
@example("x { " * 2000)
@example("x " * 4000)
@example("env " * 2000)
@example("'" * 8192)
@example("/.." * 2700)
@example("x" * 8193)
@settings(deadline=None)
def test_judging_never_fails_and_what_is_refused_has_nothing_to_run(command: str) -> None:
    judged = judge(command)
    assert judged.why
    assert (judged.risk == "forbidden") == (judged.lane == "none") == (judged.argv == ())


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join))
def test_whatever_words_come_together_what_runs_unasked_is_one_plain_command_beneath_the_workspace(line: str) -> None:
    judged = judge(line)
    if judged.risk != "low":
        return
    assert judged.argv == tuple(line.split(" "))
    assert judged.lane in {"direct", "sandbox"}
    assert all(map(beneath, judged.reads))
    only_text = {"echo", "basename", "dirname", "grep", "cut"}  # a word of theirs may look like a path that leads out
    if judged.lane == "sandbox" and judged.argv[0] not in only_text:
        assert not any(word.startswith(("/", "~")) or ".." in word.split("/") for word in judged.argv[1:])


def shortened() -> list[str]:
    """GNU programs take a long option however short it is cut, as long as it is clear which one is meant."""
    options = {
        "sort": ["--output=x", "--compress-program=x", "--files0-from=x", "--temporary-directory=x", "--debug"],
        "date": ["--set=x", "--file=x", "--reference=x"],
        "wc": ["--files0-from=x"],
        "du": ["--files0-from=x", "--exclude-from=x", "--dereference"],
        "grep": ["--file=x", "--dereference-recursive", "--include=x", "--binary-files=text"],
        "file": ["--magic-file=x", "--files-from=x", "--compile", "--uncompress"],
        "ls": ["--dereference", "--hyperlink", "--color", "--ignore=x"],
        "tail": ["--follow", "--retry", "--pid=1"],
        "diff": ["--paginate", "--from-file=x", "--to-file=x", "--recursive"],
    }
    return [
        f"{program} {option.partition('=')[0][:length]}{value} y"
        for program, long in options.items()
        for option in long
        for value in {"", "=x" if "=" in option else ""}
        for length in range(3, len(option.partition("=")[0]) + 1)
    ]


def test_no_abbreviation_of_an_option_runs_unasked() -> None:
    tried = shortened()
    assert len(tried) > 300
    assert list(filter(runs_unasked, tried)) == []


def test_no_two_allowed_commands_run_unasked_together() -> None:
    pairs = [f"{a}{by}{b}" for a in ("ls", "uname -a") for b in ("pwd", "date") for by in (";", "&&", "|", "\n", " & ")]
    assert list(filter(runs_unasked, chain(pairs, (f"{pair} " for pair in pairs)))) == []
