"""The tools that every run on this machine has."""

from __future__ import annotations

from collections.abc import Callable

from quarterdeck.adapters.tools.ask_user import AskUser
from quarterdeck.adapters.tools.output import Redacting
from quarterdeck.adapters.tools.reading import reading_tools
from quarterdeck.adapters.tools.sandbox import Sandbox
from quarterdeck.adapters.tools.shell_exec_safe import ShellExecSafe
from quarterdeck.adapters.tools.tool import Tool
from quarterdeck.adapters.tools.web_fetch import WebFetch
from quarterdeck.adapters.tools.writing import writing_tools
from quarterdeck.engine.policy.command import Judged


def everyday_tools(
    judge: Callable[[str], Judged],
    remember: Callable[[Judged], str | None],
    redacting: Redacting,
    *,
    sandbox: Sandbox | None = None,
    sudo_no_password: tuple[str, ...] = (),
    fetch_allow: tuple[str, ...] = (),
) -> tuple[Tool, ...]:
    shell = ShellExecSafe(judge, redacting, remember=remember, sandbox=sandbox, no_password_hosts=sudo_no_password)
    return (*reading_tools(), *writing_tools(), shell, WebFetch(fetch_allow), AskUser())
