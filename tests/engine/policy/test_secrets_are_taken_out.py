"""Secrets that are known are found in every form and across every cut; what looks like one is taken for one."""

from __future__ import annotations

import base64
import html
import json
import shlex
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.engine.policy.keys import REDACTED, redacted
from quarterdeck.engine.policy.redact import Redactor, without_secrets

SECRET = 'pä"ss/w ör+d\\&1'
SECRETS = st.text(min_size=4, max_size=12).filter(lambda text: len(set(text)) > 2)


def in_pieces(text: str, cuts: list[int], *secrets: str) -> str:
    redactor = Redactor(secrets)
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    return "".join(redactor.feed(text[a:b]) for a, b in pairwise(edges)) + redactor.end()


def ways(secret: str) -> dict[str, str]:
    raw = secret.encode()
    percent = "".join(f"%{byte:02x}" for byte in raw)
    return {
        "as it is": secret,
        "json": json.dumps(secret)[1:-1],
        "json in its own letters": json.dumps(secret, ensure_ascii=False)[1:-1],
        "json in json": json.dumps(json.dumps(secret))[3:-3],
        "an address": quote(secret, safe=""),
        "a path of an address": quote(secret),
        "a form": quote_plus(secret),
        "every byte of an address": percent,
        "every byte in capitals": percent.upper(),
        "base64": base64.b64encode(raw).decode(),
        "base64 without its end": base64.b64encode(raw).decode().rstrip("="),
        "base64url": base64.urlsafe_b64encode(raw).decode(),
        "hex": raw.hex(),
        "hex in capitals": raw.hex().upper(),
        "a word of a shell": shlex.quote(secret)[1:-1],
        "markup": html.escape(secret),
    }


@pytest.mark.parametrize("way", ways(SECRET))
def test_a_secret_is_found_however_it_is_written_and_wherever_it_is_cut(way: str) -> None:
    form = ways(SECRET)[way]
    text = f"before {form} after"
    assert without_secrets(text, [SECRET]) == f"before {REDACTED} after"
    assert {in_pieces(text, [cut], SECRET) for cut in range(len(text))} == {f"before {REDACTED} after"}
    assert in_pieces(text, list(range(len(text))), SECRET) == f"before {REDACTED} after"


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("code", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_amid_other_bytes_in_base64_is_found(before: str, code: object) -> None:
    assert callable(code)
    for after in ("", "x", "xy", "\n"):
        text = "Basic " + code((before + "correct?>horse~~" + after).encode()).decode() + " end"
        shown = without_secrets(text, ["correct?>horse~~"])
        assert REDACTED in shown
        assert len(shown.replace(REDACTED, "")) < len(text) - 16


@given(SECRETS, st.text(max_size=20), st.text(max_size=20), st.lists(st.integers(0, 60), max_size=6))
def test_nothing_of_a_secret_gets_through_in_any_pieces(secret: str, before: str, after: str, cuts: list[int]) -> None:
    text = before + secret + after
    given_out = in_pieces(text, cuts, secret)
    assert secret not in given_out.replace(REDACTED, "\0\0")
    assert given_out == without_secrets(text, [secret])


@given(
    st.text("ab", max_size=40),
    st.lists(st.text("ab", min_size=1, max_size=4), max_size=3),
    st.lists(st.integers(0, 40)),
)
def test_pieces_make_no_difference_even_where_secrets_overlap(text: str, secrets: list[str], cuts: list[int]) -> None:
    whole = without_secrets(text, secrets)
    assert in_pieces(text, cuts, *secrets) == whole
    assert all(secret not in part for secret in secrets for part in whole.split(REDACTED))


@given(st.text(), st.lists(st.integers(0, 40)))
def test_text_without_a_secret_is_passed_on_as_it_is(text: str, cuts: list[int]) -> None:
    assert in_pieces(text, cuts) == text
    assert in_pieces(text, cuts, "\x00never-in-it\x00", "") == text


def test_text_is_given_as_soon_as_no_secret_can_begin_in_it() -> None:
    redactor = Redactor(["hunter22"])
    given_out = redactor.feed("x" * 1000)
    assert len(given_out) > 900
    assert redactor.feed("hunter22" + "y" * 1000).startswith("x" * (1000 - len(given_out)) + REDACTED)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("xababax", f"x{REDACTED}x"),
        ("xabaabax", f"x{REDACTED}{REDACTED}x"),
        ("xabax", f"x{REDACTED}x"),
        ("xabx", "xabx"),
    ],
)
def test_secrets_that_overlap_are_one_and_those_that_touch_are_two(text: str, left: str) -> None:
    assert without_secrets(text, ["aba"]) == left
    assert all(in_pieces(text, [cut], "aba") == left for cut in range(len(text)))


def test_a_password_of_one_letter_is_taken_out_as_well() -> None:
    assert without_secrets("a b c", ["b"]) == f"a {REDACTED} c"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("export OPENAI_API_KEY=sk-abcdefghijklmnop1234", "export OPENAI_API_KEY=[redacted]"),
        ("use sk-abcdefghijklmnop1234 now", "use [redacted] now"),
        ("sk-ant-api03-abcdefghijklmnop", "[redacted]"),
        ("ghp_" + "a1" * 18, "[redacted]"),
        ("github_pat_" + "a1" * 20, "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        ("xoxb-123456789012-abc", "[redacted]"),
        ("-H 'Authorization: Bearer abc.def-ghi'", "-H 'Authorization: Bearer [redacted]'"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted]"),
        ("password=hunter2 x", "password=[redacted] x"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[redacted] psql"),
        ("password: 'two words' x", "password: [redacted] x"),
        ('{"password": "a\\"b c", "x": 1}', '{"password": [redacted], "x": 1}'),
        ("mysql --password hunter2 -h x", "mysql --password [redacted] -h x"),
        ("mysql --password=hunter2 -h x", "mysql --password=[redacted] -h x"),
        ("tool --api-key hunter2", "tool --api-key [redacted]"),
        ("--client-secret 'a b' c", "--client-secret [redacted] c"),
        ("sshpass -p hunter2 ssh h", "sshpass -p [redacted] ssh h"),
        ("curl -s -u me:hunter2 https://h", "curl -s -u me:[redacted] https://h"),
        ("git clone https://me:hunter2@h/x", "git clone https://[redacted]@h/x"),
        ("postgres://u:p%40ss@db/x?y=1", "postgres://[redacted]@db/x?y=1"),
        (
            "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b",
            "a -----BEGIN RSA PRIVATE KEY-----[redacted] b",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMII", "-----BEGIN PRIVATE KEY-----[redacted]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk", "[redacted]"),
    ],
)
def test_what_looks_like_a_secret_is_taken_for_one(text: str, left: str) -> None:
    assert redacted(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "apt list --upgradable",
        "max_tokens=100",
        "PWD=/work",
        "docker login --password-stdin",
        "mysql --password -h db",
        "docker run -u 1000:1000 x",
        "https://example.org/a?b=c#d@e",
        "git@github.com:a/b.git",
        "a task-list-of-things-to-do-today",
        "-----BEGIN CERTIFICATE-----\nMII",
        "the password is not here",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert redacted(text) == text


@given(
    st.lists(
        st.sampled_from(["password", "token", "=", ":", " ", '"', "'", "\\", "Bearer ", "://", "@", "a", "-", "\n"])
    )
)
def test_what_was_redacted_stays_as_it_is(parts: list[str]) -> None:
    once = redacted("".join(parts))
    assert redacted(once) == once


@pytest.mark.parametrize(
    "piece", ["password=", "://", "curl -u ", "--token ", "a-", "Bearer ", '"', "eyJaaaaaaaa.", "sk-"]
)
def test_a_text_full_of_beginnings_is_read_to_its_end(piece: str) -> None:
    assert redacted(piece * 2000 + " AKIAIOSFODNN7EXAMPLE").endswith(REDACTED)
