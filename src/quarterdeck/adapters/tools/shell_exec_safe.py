"""`shell_exec_safe`: a command, in the lane it was judged to belong to. `sudo` is run here and nowhere else.

direct: a known query, executed as it is. sandbox: in bubblewrap; where there is none, asked about and run plainly.
sudo: asked about, with a password that goes to sudo's standard input and to nothing else.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
import socket
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from quarterdeck.adapters.tools import privileged
from quarterdeck.adapters.tools.arguments import Says, read, written
from quarterdeck.adapters.tools.beneath import Place, identity, locate, real_path
from quarterdeck.adapters.tools.output import Output, Redacting
from quarterdeck.adapters.tools.process import Order, Outcome, carry_out
from quarterdeck.adapters.tools.programs import FOLDERS, environment, program, scripts
from quarterdeck.adapters.tools.sandbox import Sandbox
from quarterdeck.adapters.tools.tool import Say, spec_of
from quarterdeck.engine.policy.command import Judged
from quarterdeck.kernel.errors import ToolFailed
from quarterdeck.kernel.parts import Risk, ToolCall
from quarterdeck.ports import Deed, Done, Site, Weighed

TIMEOUT_S = 120
SUDO = "/usr/bin/sudo"
UNCONFINED = "There is no sandbox here to hold it."
Way = Literal["refused", "direct", "confined", "read-only", "plain", "sudo"]


@dataclass(frozen=True, slots=True)
class ShellCommand:
    command: Annotated[str, Says("the command, as for a shell", least=1, most=8192)]
    timeout_s: Annotated[int, Says("seconds after which it is ended", least=1, most=3600)] = TIMEOUT_S


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a command would run. `bound` is all that a permission hangs on, besides the command itself."""

    risk: Risk
    action: str
    why: str
    way: Way
    argv: tuple[str, ...]
    bound: Mapping[str, str]
    rule: str | None = None


class ShellExecSafe:
    """`judge` says what a command is by its text, `remember` what of it a person may allow for always."""

    def __init__(
        self,
        judge: Callable[[str], Judged],
        redacting: Redacting,
        *,
        remember: Callable[[Judged], str | None] = lambda judged: None,  # noqa: ARG005
        sandbox: Sandbox | None = None,
        sudo: str | None = None,
        no_password_hosts: tuple[str, ...] = (),
    ) -> None:
        self.spec = spec_of(
            "shell_exec_safe",
            "Run a command on this machine, in the workspace. Reading commands just run; others ask first.",
            ShellCommand,
            "irreversible",
        )
        self._judge, self._redacting, self._remember = judge, redacting, remember
        self._sandbox = sandbox or Sandbox()
        self._sudo, self._no_password_hosts = sudo or SUDO, {host.casefold() for host in no_password_hosts}

    async def weigh(self, call: ToolCall, site: Site) -> Weighed:
        asked = read(ShellCommand, call.arguments)
        plan = await asyncio.to_thread(self._plan, asked.command, site)
        pure = plan.way in {"direct", "read-only"}
        return Weighed(
            plan.risk,
            plan.action,
            "pure" if pure else "irreversible",
            written(asked),
            f"sudo {shlex.join(plan.argv)}" if plan.way == "sudo" else asked.command,
            plan.why,
            plan.bound,
            plan.rule,
            password=plan.way == "sudo" and not self._trusted_host(),
            command=asked.command,
        )

    async def use(self, deed: Deed, say: Say) -> Done:
        asked = read(ShellCommand, deed.weighed.arguments)
        plan = await asyncio.to_thread(self._plan, asked.command, deed.site)
        _agreed(plan, deed.weighed.bound)
        if plan.way == "refused":
            raise ToolFailed(f"This command is refused, whoever asks: {plan.why}")
        if plan.way == "sudo":
            return await self._as_root(plan.argv, asked.timeout_s, deed, say)
        with self._room(plan, deed.site):
            order = await asyncio.to_thread(self._order, plan, asked, deed.site)
            return _told(await carry_out(order, self._redacting(()), say))

    async def probe(self, deed: Deed) -> Done | None:  # noqa: ARG002 - nobody can tell
        return None

    # What it would come to

    def _plan(self, command: str, site: Site) -> _Plan:
        judged = self._judge(command)
        if judged.lane == "none" or judged.risk == "forbidden":
            return _Plan("forbidden", judged.action, judged.why, "refused", judged.argv, {})
        if judged.lane == "sudo":
            argv = (_as_root(judged.argv[0]), *judged.argv[1:])
            why, bound = judged.why, self._bound(command, site, "sudo", argv[0])
            return _Plan(_at_least(judged.risk, "medium"), "privileged", why, "sudo", argv, bound)
        if judged.lane == "direct":
            argv = (_absolute(judged.argv[0]), *judged.argv[1:])
            bound = {"lane": "direct", "program": argv[0], "environment": _names()}
            return _Plan(judged.risk, judged.action, judged.why, "direct", argv, bound, self._remember(judged))
        return self._sandboxed(command, judged, site)

    def _sandboxed(self, command: str, judged: Judged, site: Site) -> _Plan:
        """Reading commands come as they are, everything else as the shell's."""
        argv = (_absolute(judged.argv[0]), *judged.argv[1:])
        out = [place for path in judged.reads if not (place := _led(site.workspace, path)).inside]
        free = judged.risk in {"none", "low"}
        if out:
            # The sandbox would not let it see what it is asked about; a person who allows it allows that.
            places = {f"reads {place.shown}": identity(place) for place in out}
            why = f"{', '.join(place.shown for place in out)} is outside the workspace {site.workspace}."
            bound = {**self._bound(command, site, "plain", argv[0]), **places}
            return _Plan(_at_least(judged.risk, "medium"), "file_outside_workspace", why, "plain", argv, bound)
        if self._sandbox.fits(site.workspace) and self._sandbox.works():
            way: Way = "read-only" if free else "confined"
            bound = self._bound(command, site, way, argv[0])
            return _Plan(judged.risk, judged.action, judged.why, way, argv, bound, self._remember(judged))
        risk, why = _at_least(judged.risk, "medium"), f"{judged.why} {UNCONFINED}"
        return _Plan(risk, judged.action, why, "plain", argv, self._bound(command, site, "plain", argv[0]))

    def _bound(self, command: str, site: Site, way: Way, executed: str) -> dict[str, str]:
        here = locate(site.workspace, ".")
        if not Path(here.real).is_dir():
            raise ToolFailed(f"The workspace {site.workspace} is not there; make it, or name another.")
        return {
            "lane": way,
            "folder": here.real,
            "folder identity": identity(here),
            "environment": _names(),
            "program": executed,
            **scripts(command, site.workspace),
        }

    # Doing it

    def _room(self, plan: _Plan, site: Site) -> AbstractContextManager[None]:
        return self._sandbox.guest(site.workspace) if plan.way == "confined" else nullcontext()

    def _order(self, plan: _Plan, asked: ShellCommand, site: Site) -> Order:
        if plan.way == "direct":
            return Order(plan.argv, "/", environment(), asked.timeout_s)
        if plan.way == "plain":
            return Order(plan.argv, site.workspace, environment(), asked.timeout_s)
        env = environment(sandbox=True)
        argv = self._sandbox.argv(plan.argv, site.workspace, env, writable=plan.way == "confined")
        return Order(argv, "/", env, asked.timeout_s)

    def _trusted_host(self) -> bool:
        name = socket.gethostname().casefold()
        return not self._no_password_hosts.isdisjoint({name, name.partition(".")[0]})

    async def _as_root(self, argv: tuple[str, ...], timeout_s: int, deed: Deed, say: Say) -> Done:
        password = deed.password
        if self._trusted_host():
            password = None
        elif password is None:
            raise ToolFailed("This command needs a password, and none was given; nothing was run.")
        elif not password or not password.isprintable():
            raise ToolFailed("The password must be one line without control characters; nothing was run.")
        prompt = f"QD-{secrets.token_hex(16)}:"
        ran = asyncio.create_task(asyncio.to_thread(self._sudo_run, argv, prompt, password, timeout_s, deed.site))
        try:
            await asyncio.wait([ran], timeout=timeout_s)
        finally:
            if late := not ran.done():
                await privileged.end(prompt, ran)
        done = await ran
        if late:
            done = privileged.Ran(None, done.stdout, f"It took longer than {timeout_s:,} seconds and was ended.")
        said = Output(self._redacting((password,) if password else ()), say)
        said.take(done.said(prompt).encode("utf-8", "replace"))
        said.close()
        return privileged.told(done, prompt, said)

    def _sudo_run(
        self, argv: tuple[str, ...], prompt: str, password: str | None, timeout_s: int, site: Site
    ) -> privileged.Ran:
        """Waits, in a thread. The command's own input is empty, so that a sudo that does not ask cannot hand the
        password on; `-k` makes it ask although it was given one a moment ago."""
        how = ["-k", "-S"] if password is not None else ["-k", "-n"]
        behind = ["/bin/sh", "-c", 'exec "$@" < /dev/null', "sh", *argv]
        try:
            ran = subprocess.run(  # noqa: S603 - the one place where this is what is wanted
                [self._sudo, *how, "-p", prompt, "--", *behind],
                input=password + "\n" if password is not None else "",
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=timeout_s + 2 * privileged.END_S,  # the last resort: it ends sudo alone
                check=False,
                cwd=site.workspace,
                env=environment(),
                start_new_session=True,
            )
            return privileged.Ran(ran.returncode, ran.stdout, ran.stderr)
        except subprocess.TimeoutExpired:
            return privileged.Ran(None, "", f"It took longer than {timeout_s:,} seconds and was ended.")
        except PermissionError:
            return privileged.Ran(None, "", f"It took too long, or {self._sudo} may not be started or ended by us.")
        except OSError as error:
            return privileged.Ran(None, "", f"{self._sudo} could not be started: {error.strerror}. Nothing was run.")


def _agreed(plan: _Plan, asked: Mapping[str, str]) -> None:
    """What runs is what was asked about, and hangs on nothing that has changed since."""
    for name in sorted({*plan.bound, *asked}):
        if plan.bound.get(name) != asked.get(name):
            raise ToolFailed(f"The {name} changed since this was asked about, so nothing was run. Ask again.")


def _told(outcome: Outcome) -> Done:
    text = outcome.text or "(it said nothing)"
    if outcome.cut_short:
        return Done(f"{text.rstrip()}\n[ended: {outcome.cut_short}]", ok=False, digest=outcome.digest)
    if outcome.status:
        text = f"{text.rstrip()}\n[exit status {outcome.status}]"
    return Done(text, ok=outcome.status == 0, exit_status=outcome.status, digest=outcome.digest)


def _led(workspace: str, path: str) -> Place:
    """Where a path leads that a command will read; the system's own files count as outside."""
    try:
        return locate(workspace, path)
    except ToolFailed:
        return Place("/", real_path(workspace, path).lstrip("/"), inside=False)


def _absolute(word: str) -> str:
    """The system's program of this name. Where there is none, executing it says so, as a shell would."""
    found = program(word)
    if found is None and "/" in word:
        raise ToolFailed(f"{word!r} is no program in the folders of the system.")
    return found or f"{FOLDERS[0]}/{word}"


def _as_root(word: str) -> str:
    """For sudo a plain name may be what only root can find; a path must be a system program's."""
    found = program(word)
    if found is None and "/" in word:
        raise ToolFailed(f"{word!r} is no program in the folders of the system; sudo runs no other.")
    return found or word


def _names() -> str:
    return " ".join(environment())


def _at_least(risk: Risk, least: Risk) -> Risk:
    order: tuple[Risk, ...] = ("none", "low", "medium", "high", "forbidden")
    return max(risk, least, key=order.index)
