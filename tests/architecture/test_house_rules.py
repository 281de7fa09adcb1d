"""The rules of the house, read from the source with nothing but the standard library."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import quarterdeck
from quarterdeck.settings import NAMES

ROOT = Path(quarterdeck.__file__).parent
CHECKOUT = ROOT.parents[1]
T = TypeVar("T", bound=ast.AST)
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60
VAGUE_CLASS = re.compile(r"(Manager|Helper|Util|Misc|Common)(s|ities)?(?![a-z])")
VAGUE_MODULE = re.compile(r"(^|_)(manager|helper|util|misc|common)(s|ities)?(_|$)")
SQL = re.compile(
    r"\s*(SELECT |INSERT (OR|INTO) |UPDATE \w+ SET |DELETE FROM |CREATE (TABLE|INDEX|VIEW) |PRAGMA )", re.I
)
NEVER_CALLED = {"eval", "exec", "compile", "__import__", "os.system", "os.popen"}
NEVER_IMPORTED = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "yaml"}


def trees() -> Iterator[tuple[str, ast.Module]]:
    return ((name, ast.parse(path.read_text("utf-8"))) for name, path in MODULES.items())


def nodes(*kinds: type[T]) -> Iterator[tuple[str, T]]:
    """Every node of these kinds, with the place it stands at."""
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield f"{name}:{node.lineno}", node  # type: ignore[attr-defined]


def test_a_module_says_what_lives_in_it() -> None:
    assert [name for name, tree in trees() if not ast.get_docstring(tree)] == []


def test_a_module_is_short_enough_to_be_read() -> None:
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_a_function_is_short_enough_to_be_understood() -> None:
    found = nodes(ast.FunctionDef, ast.AsyncFunctionDef)
    assert [at for at, node in found if (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION] == []


def test_imports_are_absolute_and_stand_at_the_top() -> None:
    assert [at for at, node in nodes(ast.ImportFrom) if node.level] == []
    lower = [
        f"{at} in {function.name}"
        for at, function in nodes(ast.FunctionDef, ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert lower == []


def test_names_say_what_a_thing_is() -> None:
    assert [name for name in MODULES if VAGUE_MODULE.search(Path(name).stem)] == []
    assert [at for at, node in nodes(ast.ClassDef) if VAGUE_CLASS.search(node.name)] == []


def test_nothing_is_executed_that_came_as_text() -> None:
    assert [at for at, node in nodes(ast.Call) if ast.unparse(node.func) in NEVER_CALLED] == []
    imported = [(at, alias.name) for at, node in nodes(ast.Import) for alias in node.names]
    imported += [(at, node.module or "") for at, node in nodes(ast.ImportFrom)]
    assert [at for at, name in imported if name.split(".")[0] in NEVER_IMPORTED] == []


def test_no_shell_is_asked_to_understand_a_command() -> None:
    given = [(at, keyword) for at, node in nodes(ast.Call) for keyword in node.keywords if keyword.arg == "shell"]
    assert [at for at, keyword in given if ast.unparse(keyword.value) != "False"] == []
    called = [(at, ast.unparse(node.func)) for at, node in nodes(ast.Call)]
    assert [at for at, name in called if name.endswith("create_subprocess_shell")] == []


def test_statements_for_a_database_are_put_together_in_its_own_room() -> None:
    def text(node: ast.JoinedStr) -> str:
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)

    found = [at for at, node in nodes(ast.JoinedStr) if SQL.match(text(node))]
    assert [at for at in found if not at.startswith("adapters/sqlite/")] == []
    assert found, "the rule sees no statement at all"


def test_only_the_settings_and_the_command_line_read_the_environment() -> None:
    found = [at for at, node in nodes(ast.Attribute) if ast.unparse(node) in {"os.environ", "os.getenv"}]
    assert [at for at in found if not at.startswith(("settings.py", "cli/"))] == []


def loaded(statement: str) -> set[str]:
    """What a fresh interpreter has loaded after a statement, beyond what it had before."""
    script = f"import sys; before = set(sys.modules)\n{statement}\nprint('\\n'.join(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


def modules_of(*rooms: str) -> str:
    names = ["quarterdeck." + name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in MODULES]
    return "import " + ", ".join(name for name in names if name.split(".")[1] in rooms)


def test_the_pure_rooms_load_nothing_that_waits_or_talks() -> None:
    found = loaded(modules_of("kernel", "events", "engine"))
    assert "quarterdeck.events.codec" in found
    impure = {"asyncio", "socket", "ssl", "subprocess", "logging", "threading", "sqlite3", "apsw", "aiohttp", "fastapi"}
    assert found & impure == set()


def test_importing_the_house_opens_no_room() -> None:
    found = loaded("import quarterdeck")
    assert {name for name in found if not name.startswith("quarterdeck")} == set()
    assert {name for name in found if name.startswith("quarterdeck.")} == set()


def test_the_log_and_its_store_need_no_web() -> None:
    found = loaded(modules_of("log") + "\nimport quarterdeck.adapters.sqlite.store")
    assert not any(name.split(".")[0] in {"aiohttp", "fastapi", "starlette", "uvicorn", "pydantic"} for name in found)


def test_every_setting_is_explained_to_people() -> None:
    pages = [CHECKOUT / "README.md", *(CHECKOUT / "docs").rglob("*.md")]
    said = "\n".join(page.read_text("utf-8") for page in pages)
    assert [name for name in NAMES if not re.search(rf"\b{name}\b", said)] == []


def test_every_setting_that_is_read_has_a_name_that_is_listed() -> None:
    read = re.findall(r'"((?:QUARTERDECK|DUCK|OPENAI|ANTHROPIC)_[A-Z_]+)"', MODULES["settings.py"].read_text("utf-8"))
    assert read
    assert set(read) - set(NAMES) == set()
