"""What is kept of a command: secrets of the usual shapes are taken out, and what is no secret stays readable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.actions.audit import CUT, LONGEST, audit_entry
from quarterdeck.engine.policy.keys import REDACTED
from quarterdeck.events.audit import CommandAudited
from quarterdeck.kernel.scope import LOCAL_TENANT

SECRET = "hunter2-Xq9"


def kept(command: str, *secrets: str) -> str:
    asked = CommandAudited("r1", "c1", command, "shell", "shell", "medium", "person", approved=True, ok=True)
    (event,) = audit_entry(LOCAL_TENANT, asked, secrets=secrets).events
    assert isinstance(event, CommandAudited)
    return event.command


@pytest.mark.parametrize(
    "command",
    [
        f"curl https://ann:{SECRET}@example.org/x",
        f"git clone https://{'x'}:{SECRET}@github.com/a/b.git",
        f"curl -H 'Authorization: Bearer {SECRET}' https://example.org",
        f'curl -H "authorization: Basic {SECRET}" https://example.org',
        f"curl -H 'Cookie: a=b; session={SECRET}' https://example.org",
        f"curl -H 'X-Api-Key: {SECRET}' https://example.org",
        f"curl -u ann:{SECRET} https://example.org",
        f"curl --user 'ann:{SECRET}' https://example.org",
        f"curl https://example.org/?access_token={SECRET}",
        f"mysql --password={SECRET} db",
        f"mysql -p{SECRET} db",
        f"mysql -u root -p{SECRET} db",
        f"sshpass -p {SECRET} ssh host",
        f"sshpass -p '{SECRET}' ssh host",
        f"export AWS_SECRET_ACCESS_KEY={SECRET}",
        f"OPENAI_API_KEY={SECRET} python run.py",
        f'OPENAI_API_KEY="{SECRET} and more" python run.py',
        f"PGPASSWORD={SECRET} psql",
        f"tool --token {SECRET} go",
        f"tool --token={SECRET} go",
        f"tool --client-secret '{SECRET}' go",
        f"tool --api-key {SECRET}",
        f"tool -password {SECRET}",
        f"""echo '{{"api_key": "{SECRET}"}}' > x.json""",
        f"""echo "{{'secret' : '{SECRET}'}}" > x.json""",
        f"echo password: {SECRET} >> x.yml",
    ],
)
def test_what_follows_the_name_of_a_secret_is_taken_out(command: str) -> None:
    clean = kept(command)
    assert SECRET not in clean
    assert REDACTED in clean


@pytest.mark.parametrize(
    "token",
    [
        "sk-proj-abcdefghijklmnopqrstuvwx",
        "sk-ant-api03-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuvwxyz012345",
        "github_pat_11ABCDEFG0abcdefghijkl",
        "glpat-abcdefghijklmnopqrst",
        "xoxb-1234567890-abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
        "hf_abcdefghijklmnopqrstuv",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghij",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_taken_out_wherever_it_stands(token: str) -> None:
    assert kept(f"echo {token} | tool").replace("-----BEGIN OPENSSH PRIVATE KEY-----", "") == f"echo {REDACTED} | tool"


@pytest.mark.parametrize(
    "command",
    [
        "apt list --upgradable",
        "ls -la /home/ann",
        "git log --oneline -p 3",
        "grep -rn 'def main' src",
        "python -m pytest tests/test_tokens.py",
        "curl https://example.org:8080/path",
        "mysql --port 3306 db",
        "ssh -p 2222 host",
        "cd $PWD && make",
        "sort -k 2 keys.txt",
        "docker run --name keyboard image",
        "echo Всё хорошо; echo 一切都好",
        "",
    ],
)
def test_what_is_no_secret_stays_as_it_is(command: str) -> None:
    assert kept(command) == command


def test_a_secret_that_is_known_is_taken_out_in_every_form_of_it() -> None:
    assert (
        kept("echo tulip9; echo dHVsaXA5; echo tulip9tulip9", "tulip9")
        == f"echo {REDACTED}; echo {REDACTED}; echo {REDACTED}{REDACTED}"
    )
    assert kept("echo tulip9") == "echo tulip9"


@pytest.mark.parametrize("word", ["password", "PASSWORD", "sudo_password", "my-Password-file"])
def test_the_word_itself_is_never_kept(word: str) -> None:
    assert "password" not in kept(f"cat {word}").lower()


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a-",
        "-a",
        "a_",
        "--token",
        "token=",
        "mysql -p ",
        "://a:",
        "'",
        'token="',
        "Authorization: ",
        "eyJaaaaaaaa.",
    ],
)
def test_a_text_without_end_is_cut_visibly(piece: str) -> None:
    """Nor does it take for ever: no expression goes back and forth over the whole of it."""
    clean = kept(piece * 100_000)
    assert len(clean) <= LONGEST + len(CUT)
    assert clean.endswith(CUT) or REDACTED in clean


@given(st.text(max_size=300))
def test_any_text_becomes_one_that_can_be_stored_and_is_as_clean_the_second_time(text: str) -> None:
    clean = kept(text)
    clean.encode()
    assert "password" not in clean.lower()
    assert kept(clean) == clean
