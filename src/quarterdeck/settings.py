"""The environment, read once into one frozen value. Nothing else in the house looks at it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from quarterdeck.kernel.errors import Invalid

DATABASE = "quarterdeck.db"
DEADLINE_S = 1800.0
DRAIN_S = 10.0
MODEL_PATIENCE_S = 60.0


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

    @property
    def workspace(self) -> Path:
        """Where a run works that was not given a folder."""
        return self.folder or self.database.parent / "workspace"


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
    "NO_COLOR": "anything: the commands print no colours",
    "QUARTERDECK_WORKSPACE": "the folder of runs that are not given one; by default `workspace` beside the database",
    "QUARTERDECK_KEEP_DAYS": "days after which an ended run is trimmed to its answer; kept for ever by default",
}


def read_settings(environ: Mapping[str, str] | None = None) -> Settings:
    env = os.environ if environ is None else environ
    storage = env.get("QUARTERDECK_STORAGE") or "sqlite"
    if storage not in {"sqlite", "memory"}:
        raise Invalid(f"QUARTERDECK_STORAGE is {storage!r}; it can be `sqlite` or `memory`.", code="bad_setting")
    return Settings(
        _database(env),
        cast(Literal["sqlite", "memory"], storage),
        env.get("QUARTERDECK_MODEL") or None,
        env.get("OPENAI_API_KEY") or None,
        env.get("OPENAI_BASE_URL") or None,
        env.get("ANTHROPIC_API_KEY") or None,
        env.get("ANTHROPIC_BASE_URL") or None,
        _seconds(env, "QUARTERDECK_DEADLINE_S", DEADLINE_S),
        _seconds(env, "QUARTERDECK_DRAIN_S", DRAIN_S),
        _seconds(env, "QUARTERDECK_KEEP_DAYS", 0.0) or None,
        _seconds(env, "QUARTERDECK_MODEL_PATIENCE_S", MODEL_PATIENCE_S) or MODEL_PATIENCE_S,
        env.get("QUARTERDECK_URL") or None,
        bool(env.get("NO_COLOR")),
        _folder(env.get("QUARTERDECK_WORKSPACE")),
    )


def _database(env: Mapping[str, str]) -> Path:
    if path := env.get("DUCK_DB_PATH"):
        return Path(path).expanduser().absolute()
    if folder := env.get("QUARTERDECK_DATA_DIR"):
        return Path(folder).expanduser().absolute() / DATABASE
    base = Path(env.get("XDG_DATA_HOME") or "~/.local/share").expanduser()
    return base / "quarterdeck" / DATABASE


def _folder(path: str | None) -> Path | None:
    return Path(path).expanduser().absolute() if path else None


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
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
