"""`mcp.json`: what it may say, and what is said where it makes no sense."""

import json
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.adapters.mcp.config import ServerConfig, read_servers
from quarterdeck.kernel.errors import Invalid


def written(folder: Path, content: Any) -> Path:
    path = folder / "mcp.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def read(folder: Path, **server: Any) -> ServerConfig:
    return read_servers(written(folder, {"servers": {"one": server}}))[0]


def test_no_file_means_no_servers(tmp_path: Path) -> None:
    assert read_servers(tmp_path / "mcp.json") == ()


def test_a_program_and_an_address_are_read(tmp_path: Path) -> None:
    servers = {
        "files": {"command": ["npx", "files"], "env": {"A": "b"}, "allow": ["list"], "timeout_s": 5},
        "issues": {"url": "https://mcp.example.org/mcp?key=1", "headers": {"Authorization": "Bearer abcdef"}},
    }
    files, issues = read_servers(written(tmp_path, {"servers": servers}))
    assert (files.name, files.command, files.env, files.timeout_s) == ("files", ("npx", "files"), {"A": "b"}, 5)
    assert files.allow == {"list"}
    assert issues.where == "https://mcp.example.org/mcp"
    assert issues.timeout_s == 120
    assert "abcdef" not in repr(issues)
    assert issues.hide("it said abcdef") == "it said [hidden]"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "it is no JSON"),
        ([], r'it must read \{"servers"'),
        ({"servers": {}, "more": 1}, r'it must read \{"servers"'),
        ({"mcpServers": {}}, r'it must read \{"servers"'),
        ({"servers": {"a__b": {"command": ["x"]}}}, "a name such as 'a__b' will not do"),
        ({"servers": {"a b": {"command": ["x"]}}}, "will not do"),
        ({"servers": {"": {"command": ["x"]}}}, "will not do"),
        ({"servers": {"x" * 25: {"command": ["x"]}}}, "will not do"),
        ({"servers": {"a": []}}, 'needs either a "command" or a "url"'),
        ({"servers": {"a": {"command": ["x"], "url": "https://x"}}}, 'needs either a "command" or a "url"'),
        ({"servers": {"a": {"command": "rm -rf /"}}}, '"command" must be a list'),
        ({"servers": {"a": {"command": []}}}, '"command" must be a list'),
        ({"servers": {"a": {"command": ["x", 1]}}}, '"command" must be a list'),
        ({"servers": {"a": {"command": ["x"], "headers": {}}}}, "'headers' is not known here; there are allow, "),
        ({"servers": {"a": {"command": ["x"], "env": {"A": 1}}}}, '"env" must be names with texts'),
        ({"servers": {"a": {"command": ["x"], "env": {"A=B": "1"}}}}, '"env" has a name or value'),
        ({"servers": {"a": {"command": ["x"], "cwd": "here"}}}, '"cwd" must be the absolute path'),
        ({"servers": {"a": {"command": ["x"], "allow": "all"}}}, '"allow" must be a list'),
        ({"servers": {"a": {"command": ["x"], "timeout_s": 0}}}, '"timeout_s" must be seconds'),
        ({"servers": {"a": {"command": ["x"], "timeout_s": True}}}, '"timeout_s" must be seconds'),
        ({"servers": {"a": {"command": ["x"], "era": "old"}}}, '"era" can be'),
        ({"servers": {"a": {"url": "file:///etc/passwd"}}}, '"url" must be an address'),
        ({"servers": {"a": {"url": "https://"}}}, '"url" must be an address'),
        ({"servers": {"a": {"url": "https://x:port"}}}, '"url" must be an address'),
        ({"servers": {"a": {"url": "http://example.org/mcp"}}}, '"url" must begin with https://'),
        ({"servers": {"a": {"url": "https://me:secret@example.org/"}}}, '"headers" is the place for secrets'),
        ({"servers": {"a": {"url": "https://x/", "headers": {"Host": "y"}}}}, "\"headers\" cannot set 'Host'"),
        ({"servers": {"a": {"url": "https://x/", "headers": {"mcp-name": "y"}}}}, "cannot set 'mcp-name'"),
        ({"servers": {"a": {"url": "https://x/", "headers": {"a": "b\r\nc: d"}}}}, "HTTP cannot carry"),
    ],
)
def test_a_file_that_makes_no_sense_says_what_to_mend(content: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=words) as refused:
        read_servers(written(tmp_path, content))
    assert refused.value.code == "bad_setting"
    assert str(tmp_path / "mcp.json") in refused.value.detail
    assert "secret" not in refused.value.detail.replace("secrets", "")


def test_plain_http_is_for_this_machine_or_said_aloud(tmp_path: Path) -> None:
    assert read(tmp_path, url="http://localhost:1/mcp").url
    assert read(tmp_path, url="http://[::1]:1/mcp").url
    assert read(tmp_path, url="http://example.org/mcp", insecure=True).url


def test_a_file_that_everybody_may_write_is_not_believed(tmp_path: Path) -> None:
    path = written(tmp_path, {"servers": {"one": {"command": ["x"]}}})
    path.chmod(0o666)
    with pytest.raises(Invalid, match="everybody may write it"):
        read_servers(path)
    path.chmod(0o664)
    assert read_servers(path)


def test_the_digest_changes_with_what_the_server_is_and_only_with_that(tmp_path: Path) -> None:
    plain = read(tmp_path, command=["x", "y"], env={"A": "1"}).digest
    assert len(plain) == 64
    assert plain == read(tmp_path, env={"A": "1"}, command=["x", "y"], allow=["t"], timeout_s=3).digest
    others = [
        read(tmp_path, command=["x", "z"], env={"A": "1"}),
        read(tmp_path, command=["x", "y"], env={"A": "2"}),
        read(tmp_path, command=["x", "y"], env={"A": "1"}, cwd="/"),
        read(tmp_path, url="https://x/", headers={"a": "b"}),
        read(tmp_path, url="https://x/", headers={"a": "c"}),
    ]
    assert len({plain, *(other.digest for other in others)}) == 6
