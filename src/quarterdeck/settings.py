"""The environment, read once into one frozen value. Nothing else in the house looks at it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar, cast

from quarterdeck.engine.money import DEFAULT_PRICES, Prices, read_prices
from quarterdeck.engine.windows import KNOWN, Windows, read_windows
from quarterdeck.kernel.errors import Invalid

T = TypeVar("T")
DATABASE = "quarterdeck.db"
MCP_FILE = "mcp.json"
# What a program that we start may know of our environment, unless it is told more.
SURROUNDINGS = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
DEADLINE_S = 1800.0
DRAIN_S = 10.0
MODEL_PATIENCE_S = 60.0
APPROVAL_S = 24 * 3600.0
TENANT_RATE, TENANT_RUNS, TENANT_OPEN = 100.0, 100.0, 500.0


@dataclass(frozen=True, slots=True)
class Settings:
    """`NAMES` says which variable each field comes from and what it is for."""

    database: Path
    storage: Literal["sqlite", "memory"] = "sqlite"
    model: str | None = None
    openai_key: str | None = field(default=None, repr=False)
    openai_base: str | None = None
    anthropic_key: str | None = field(default=None, repr=False)
    anthropic_base: str | None = None
    deadline_s: float = DEADLINE_S
    drain_s: float = DRAIN_S
    keep_days: float | None = None
    model_patience_s: float = MODEL_PATIENCE_S
    url: str | None = None
    no_color: bool = False
    folder: Path | None = None
    sudo_no_password: tuple[str, ...] = ()
    fetch_allow: tuple[str, ...] = ()
    prices: Prices = field(default_factory=lambda: DEFAULT_PRICES)
    windows: Windows = field(default_factory=lambda: KNOWN)
    run_budget_usd: float | None = None
    day_budget_usd: float | None = None
    mcp_config: Path | None = None
    approval_s: float = APPROVAL_S
    reflection: bool = False
    guarded: bool = False
    hosts: tuple[str, ...] = ()
    proxied: bool = False
    tenant_rate: float = TENANT_RATE
    tenant_runs: float = TENANT_RUNS
    tenant_open: float = TENANT_OPEN
    tls_cert: Path | None = None
    tls_key: Path | None = None
    token: str | None = field(default=None, repr=False)
    surroundings: Mapping[str, str] = field(default_factory=dict, repr=False)
    provider_allow: tuple[str, ...] = ()
    master_key: str | None = field(default=None, repr=False)
    master_key_path: Path | None = None

    @property
    def workspace(self) -> Path:
        """Where a run works that was not given a folder."""
        return self.folder or self.database.parent / "workspace"

    @property
    def master_key_file(self) -> Path:
        """Beside the data folder: who takes the folder away has not taken the key."""
        folder = self.database.parent
        return self.master_key_path or folder.with_name(f"{folder.name}.key")

    @property
    def mcp_file(self) -> Path:
        return self.mcp_config or self.database.parent / MCP_FILE


NAMES = {
    "QUARTERDECK_DATA_DIR": "the folder of the embedded database; by default one in your home folder",
    "DUCK_DB_PATH": "the database file itself; goes before QUARTERDECK_DATA_DIR",
    "QUARTERDECK_STORAGE": "`sqlite` (the default), or `memory`, which forgets everything at the end",
    "QUARTERDECK_MODEL": "provider/model: openai/…, anthropic/…, ollama/…, local/smollm2",
    "OPENAI_API_KEY": "key for an OpenAI-compatible provider",
    "OPENAI_BASE_URL": "its address, if it is not OpenAI's own",
    "ANTHROPIC_API_KEY": "key for Anthropic",
    "ANTHROPIC_BASE_URL": "its address, if it is not Anthropic's own",
    "QUARTERDECK_DEADLINE_S": f"seconds after which a run gives up; {DEADLINE_S:.0f} by default",
    "QUARTERDECK_DRAIN_S": f"seconds that runs are given to finish at a shutdown; {DRAIN_S:.0f} by default",
    "QUARTERDECK_MODEL_PATIENCE_S": "seconds of a model's silence after which it is asked again; "
    f"{MODEL_PATIENCE_S:.0f} by default",
    "QUARTERDECK_URL": "the server that the commands speak to; this machine's, by default",
    "QUARTERDECK_PRICES": "what models cost, in USD per million tokens: JSON, or the path of a file of it",
    "QUARTERDECK_WINDOWS": "how many tokens models take in: JSON by their names, or the path of a file of it",
    "QUARTERDECK_RUN_BUDGET_USD": "what one run may cost, in USD; no cap by default",
    "QUARTERDECK_DAY_BUDGET_USD": "what all runs of one day (UTC) may cost, in USD; no cap by default",
    "NO_COLOR": "anything: the commands print no colours",
    "QUARTERDECK_APPROVAL_S": "seconds after which what a run asks of people expires; a day by default",
    "DUCK_ENABLE_REFLECTION": "1: after each run the critic looks for a lesson in it",
    "QUARTERDECK_WORKSPACE": "the folder of runs that are not given one; by default `workspace` beside the database",
    "QUARTERDECK_SUDO_NO_PASSWORD": "names of hosts, with commas between, on which sudo needs no password",
    "QUARTERDECK_FETCH_ALLOW": "hosts that web_fetch may reach although they are not public, with commas between",
    "QUARTERDECK_MCP_CONFIG": f"the file that names MCP servers; by default `{MCP_FILE}` beside the database",
    "QUARTERDECK_PROVIDER_ALLOW": "addresses that tenants may have models at although they are not public or not over "
    "TLS, as `host` or `host:port`, with commas between: 127.0.0.1:11434 for Ollama on this machine",
    "QUARTERDECK_MASTER_KEY_FILE": "the file of the key that locks tenants' keys; by default beside the data folder",
    "QUARTERDECK_MASTER_KEY": "that key itself, 32 bytes in base64; goes before the file",
    "QUARTERDECK_AUTH": "`on`: whoever comes must show a token; `off` by default, for this machine alone",
    "QUARTERDECK_HOSTS": "the names that the server goes by besides localhost, with commas between",
    "QUARTERDECK_PROXY": "1: a proxy in front of the server does TLS",
    "QUARTERDECK_TENANT_RATE": f"requests that one tenant may make a second; {TENANT_RATE:.0f} by default, 0: no limit",
    "QUARTERDECK_TENANT_RUNS": f"runs that one tenant may have at work; {TENANT_RUNS:.0f} by default, 0: no limit",
    "QUARTERDECK_TENANT_OPEN": f"answers that one tenant may have under way; {TENANT_OPEN:.0f} by default, 0: no limit",
    "QUARTERDECK_TLS_CERT": "the file of the certificate, with its chain, of a server that does TLS itself",
    "QUARTERDECK_TLS_KEY": "the file of its private key",
    "QUARTERDECK_TOKEN": "the token that the commands show to the server",
    "QUARTERDECK_KEEP_DAYS": "days after which an ended run is trimmed to its answer; kept for ever by default",
}


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    env = os.environ if environ is None else environ
    storage = env.get("QUARTERDECK_STORAGE") or "sqlite"
    if storage not in {"sqlite", "memory"}:
        raise Invalid(f"QUARTERDECK_STORAGE is {storage!r}; it can be `sqlite` or `memory`.", code="bad_setting")
    return Settings(
        database=_database(env),
        storage=cast(Literal["sqlite", "memory"], storage),
        model=env.get("QUARTERDECK_MODEL") or None,
        openai_key=env.get("OPENAI_API_KEY") or None,
        openai_base=env.get("OPENAI_BASE_URL") or None,
        anthropic_key=env.get("ANTHROPIC_API_KEY") or None,
        anthropic_base=env.get("ANTHROPIC_BASE_URL") or None,
        deadline_s=_number(env, "QUARTERDECK_DEADLINE_S", DEADLINE_S),
        drain_s=_number(env, "QUARTERDECK_DRAIN_S", DRAIN_S),
        keep_days=_number(env, "QUARTERDECK_KEEP_DAYS", 0.0) or None,
        model_patience_s=_number(env, "QUARTERDECK_MODEL_PATIENCE_S", MODEL_PATIENCE_S) or MODEL_PATIENCE_S,
        url=env.get("QUARTERDECK_URL") or None,
        no_color=bool(env.get("NO_COLOR")),
        folder=_path(env.get("QUARTERDECK_WORKSPACE")),
        sudo_no_password=_listed(env, "QUARTERDECK_SUDO_NO_PASSWORD"),
        fetch_allow=_listed(env, "QUARTERDECK_FETCH_ALLOW"),
        prices=_by_model(env, "QUARTERDECK_PRICES", DEFAULT_PRICES, read_prices),
        windows=_by_model(env, "QUARTERDECK_WINDOWS", KNOWN, read_windows),
        run_budget_usd=_amount(env, "QUARTERDECK_RUN_BUDGET_USD"),
        day_budget_usd=_amount(env, "QUARTERDECK_DAY_BUDGET_USD"),
        mcp_config=_path(env.get("QUARTERDECK_MCP_CONFIG")),
        approval_s=_number(env, "QUARTERDECK_APPROVAL_S", APPROVAL_S) or APPROVAL_S,
        provider_allow=_listed(env, "QUARTERDECK_PROVIDER_ALLOW"),
        master_key=env.get("QUARTERDECK_MASTER_KEY") or None,
        master_key_path=_path(env.get("QUARTERDECK_MASTER_KEY_FILE")),
        reflection=_on(env, "DUCK_ENABLE_REFLECTION"),
        guarded=_on(env, "QUARTERDECK_AUTH"),
        hosts=tuple(host.lower() for host in _listed(env, "QUARTERDECK_HOSTS")),
        proxied=_on(env, "QUARTERDECK_PROXY"),
        tenant_rate=_number(env, "QUARTERDECK_TENANT_RATE", TENANT_RATE),
        tenant_runs=_number(env, "QUARTERDECK_TENANT_RUNS", TENANT_RUNS),
        tenant_open=_number(env, "QUARTERDECK_TENANT_OPEN", TENANT_OPEN),
        tls_cert=_path(env.get("QUARTERDECK_TLS_CERT")),
        tls_key=_path(env.get("QUARTERDECK_TLS_KEY")),
        token=(env.get("QUARTERDECK_TOKEN") or "").strip() or None,
        surroundings={name: env[name] for name in SURROUNDINGS if name in env},
    )


def _database(env: Mapping[str, str]) -> Path:
    if path := env.get("DUCK_DB_PATH"):
        return Path(path).expanduser().absolute()
    if folder := env.get("QUARTERDECK_DATA_DIR"):
        return Path(folder).expanduser().absolute() / DATABASE
    base = Path(env.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    return base / "quarterdeck" / DATABASE


def _path(path: str | None) -> Path | None:
    return Path(path).expanduser().absolute() if path else None


def _on(env: Mapping[str, str], name: str) -> bool:
    return (env.get(name) or "0").strip().lower() not in {"0", "false", "off", "no"}


def _listed(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in env.get(name, "").split(",") if part.strip())


def _by_model(env: Mapping[str, str], name: str, default: T, read: Callable[[object], T]) -> T:
    """What a setting says of models by their names."""
    given = env.get(name, "").strip()
    if not given:
        return default
    try:
        return read(json.loads(given if given.startswith("{") else Path(given).expanduser().read_bytes()))
    except OSError as error:
        why = f"{given[:200]!r} cannot be read: {error.strerror}"
    except (ValueError, RecursionError) as error:
        why = f"it is not JSON: {error}"
    raise Invalid(f"{name} is JSON by the names of models, or the path of a file of it; {why}.", code="bad_setting")


def _amount(env: Mapping[str, str], name: str) -> float | None:
    return _number(env, name, 0.0) if env.get(name) else None


def _number(env: Mapping[str, str], name: str, default: float) -> float:
    text = env.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1e9:
        raise Invalid(f"{name} is {text!r}; it must be a number, 0 or larger.", code="bad_setting")
    return value
