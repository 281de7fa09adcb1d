"""Which servers there are: `mcp.json`, which only the operator writes. A workspace cannot name a server.

{"servers": {"files": {"command": ["npx", "-y", "server-files", "/srv"], "env": {"LOG": "warn"}},
             "issues": {"url": "https://mcp.example.org/mcp", "headers": {"Authorization": "Bearer …"}}}}
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import orjson

from quarterdeck.kernel.errors import Invalid

Era: TypeAlias = Literal["auto", "modern", "legacy"]

CONNECT_S = 10.0
CALL_S = 120.0
LONGEST_FILE = 1 << 20
LEAST_SECRET = 6
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Two underscores divide the parts of a tool's name, so a server's has none; and models accept 64 signs in all.
NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]|_(?!_)){0,22}[A-Za-z0-9]|[A-Za-z0-9]")
TOKEN = re.compile(r"[!#$%&'*+.^`|~\w-]+", re.ASCII)
OURS = re.compile(r"(?i)mcp-.*|host|connection|content-.*|transfer-encoding|accept|accept-encoding|last-event-id")

COMMON = {"allow", "pure", "timeout_s", "connect_s", "era"}
KNOWN = {"command": COMMON | {"command", "env", "cwd"}, "url": COMMON | {"url", "headers", "insecure"}}


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server: `command` if we start it, else `url`. `digest` stands for what it is, its secrets included."""

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    allow: frozenset[str] = frozenset()
    pure: frozenset[str] = frozenset()
    timeout_s: float = CALL_S
    connect_s: float = CONNECT_S
    era: Era = "auto"
    digest: str = ""

    @property
    def where(self) -> str:
        """For people: what it is started with, or where it is, without what may be a secret."""
        if self.command:
            return Path(self.command[0]).name
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def hide(self, text: str) -> str:
        """Without the values that were given to this server in confidence."""
        for value in (*self.env.values(), *self.headers.values()):
            for secret in {value, value.rpartition(" ")[2]}:
                if len(secret) >= LEAST_SECRET:
                    text = text.replace(secret, "[hidden]")
        return text


def read_servers(path: Path) -> tuple[ServerConfig, ...]:
    """The servers of a file; none if there is no such file. Raises `Invalid` with what to mend."""
    try:
        with path.open("rb") as file:
            _check_owner(os.fstat(file.fileno()), path)
            data = file.read(LONGEST_FILE + 1)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _bad(path, f"it cannot be read: {error.strerror}") from None
    if len(data) > LONGEST_FILE:
        raise _bad(path, f"it is larger than {LONGEST_FILE >> 20} MiB")
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise _bad(path, f"it is no JSON: {error}") from None
    servers = found.get("servers") if isinstance(found, dict) and set(found) == {"servers"} else None
    if not isinstance(servers, dict):
        raise _bad(path, 'it must read {"servers": {"name": {…}}}')
    return tuple(_server(path, name, entry) for name, entry in servers.items())


def _check_owner(found: os.stat_result, path: Path) -> None:
    if found.st_mode & 0o002:
        raise _bad(path, "everybody may write it, and it names programs to start; run chmod o-w on it")
    if hasattr(os, "getuid") and found.st_uid not in (0, os.getuid()):
        raise _bad(path, "it belongs to somebody else, and it names programs to start")


def _bad(path: Path, why: str) -> Invalid:
    return Invalid(f"The MCP servers in {path} cannot be used: {why}.", code="bad_setting")


def _server(path: Path, name: str, entry: Any) -> ServerConfig:
    if not NAME.fullmatch(name):
        raise _bad(path, f"a name such as {name[:40]!r} will not do: up to 24 letters, digits, - and single _")
    try:
        return _checked(name, entry)
    except ValueError as error:
        raise _bad(path, f"server {name!r}: {error}") from None


def _checked(name: str, entry: Any) -> ServerConfig:
    if not isinstance(entry, dict) or ("command" in entry) == ("url" in entry):
        raise ValueError('it needs either a "command" or a "url"')
    known = KNOWN["command" if "command" in entry else "url"]
    if strange := sorted(set(entry) - known):
        raise ValueError(f"{strange[0]!r} is not known here; there are {', '.join(sorted(known))}")
    era = entry.get("era", "auto")
    if era not in ("auto", "modern", "legacy"):
        raise ValueError('"era" can be "auto", "modern" or "legacy"')
    command, url = _command(entry), _url(entry)
    env, headers = _pairs(entry, "env"), _headers(entry)
    cwd = entry.get("cwd")
    if cwd is not None and not (isinstance(cwd, str) and Path(cwd).is_absolute()):
        raise ValueError('"cwd" must be the absolute path of a folder')
    return ServerConfig(
        name,
        command,
        env,
        cwd,
        url,
        headers,
        _names(entry, "allow"),
        _names(entry, "pure"),
        _seconds(entry, "timeout_s", CALL_S),
        _seconds(entry, "connect_s", CONNECT_S),
        era,
        digest_of([name, command, sorted(env.items()), cwd, url, sorted(headers.items())]),
    )


def digest_of(identity: Any) -> str:
    """Costly on purpose: it stands in events, and a weak secret among the values could be guessed from a cheap one."""
    return hashlib.scrypt(orjson.dumps(identity), salt=b"quarterdeck mcp server", n=1 << 12, r=8, p=1, dklen=32).hex()


def _command(entry: dict[str, Any]) -> tuple[str, ...]:
    command = entry.get("command", [])
    if "command" not in entry:
        return ()
    words = isinstance(command, list) and command and all(isinstance(word, str) for word in command)
    if not words or not command[0] or any("\0" in word for word in command):
        raise ValueError('"command" must be a list: the program, then its arguments')
    return tuple(command)


def _url(entry: dict[str, Any]) -> str:
    if "url" not in entry:
        return ""
    url = entry["url"]
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        _port = parts.port if parts else None
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable():
        raise ValueError('"url" must be an address such as https://mcp.example.org/mcp')
    if "@" in parts.netloc or parts.fragment:
        raise ValueError('"url" must have no name, password or fragment in it; "headers" is the place for secrets')
    if parts.scheme == "http" and parts.hostname not in LOOPBACK and entry.get("insecure") is not True:
        raise ValueError('"url" must begin with https://, unless "insecure": true says that anybody may read along')
    return str(url)


def _headers(entry: dict[str, Any]) -> Mapping[str, str]:
    headers = _pairs(entry, "headers")
    for name, value in headers.items():
        if not TOKEN.fullmatch(name) or OURS.fullmatch(name):
            raise ValueError(f'"headers" cannot set {name!r}')
        if not value.isprintable() or not value.isascii():
            raise ValueError(f"the value of header {name!r} has signs that HTTP cannot carry")
    return headers


def _pairs(entry: dict[str, Any], key: str) -> Mapping[str, str]:
    found = entry.get(key, {})
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ValueError(f'"{key}" must be names with texts: {{"NAME": "value"}}')
    if any(not name or "=" in name or "\0" in name + value for name, value in found.items()):
        raise ValueError(f'"{key}" has a name or value that cannot be passed on')
    return found


def _names(entry: dict[str, Any], key: str) -> frozenset[str]:
    found = entry.get(key, [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError(f'"{key}" must be a list of the names of tools')
    return frozenset(found)


def _seconds(entry: dict[str, Any], key: str, default: float) -> float:
    found = entry.get(key, default)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= 86400:
        raise ValueError(f'"{key}" must be seconds, more than 0 and at most a day')
    return float(found)
