"""What bubblewrap must refuse, each beside what it must not."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest
from test_tool_shell import SHELL, shell
from toolroom import Bench, confined

from quarterdeck.adapters.tools.sandbox import Sandbox
from quarterdeck.kernel.errors import ToolFailed

pytestmark = confined()


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "secret").write_text("the secret")
    return shell(tmp_path / "workspace")


def test_what_pretends_to_be_bubblewrap_is_found_out(tmp_path: Path) -> None:
    """One that confines nothing would pass every other test of being there."""
    pretender = tmp_path / "bwrap"
    pretender.write_text('#!/bin/sh\nwhile [ "$1" != --chdir ]; do shift; done; cd "$2"; shift 3; exec "$@"\n')
    pretender.chmod(0o755)
    assert not Sandbox(str(pretender)).works()
    for none in (None, "/nonexistent", str(tmp_path), "/bin/true", "/bin/false"):
        assert not Sandbox(none).works()
    assert Sandbox().works()


@pytest.mark.parametrize(
    "command",
    [
        "true && cat ../secret",
        "true && cat /etc/shadow",
        "true && ls /root",
        "echo x > /usr/planted",
        "echo x > /planted",
        "echo x > /etc/planted",
        "mount -t tmpfs none /mnt",
        "unshare -Ur true",
        "kill -9 PID",
        "true && ls /proc/PID",
        "chroot / true",
        "mknod zero c 1 5 && cat zero",
        # What it is already, so that nothing is lost where it succeeds.
        "now=$(cat /proc/sys/kernel/core_pattern) && echo $now > /proc/sys/kernel/core_pattern",
        "now=$(cat /proc/sys/vm/swappiness) && echo $now > /proc/sys/vm/swappiness",
        "echo h > /proc/sysrq-trigger",
    ],
)
async def test_what_is_outside_is_neither_seen_nor_changed(bench: Bench, tmp_path: Path, command: str) -> None:
    deed = await bench.deed(SHELL, command=command.replace("PID", str(1 << 21)))
    assert deed.weighed.bound["lane"] == "confined"
    done = await bench.do(deed)
    assert not done.ok
    assert "the secret" not in done.text
    assert sorted(os.listdir(tmp_path)) == ["secret", "workspace"]


async def test_what_is_written_beside_the_workspace_stays_in_the_sandbox(bench: Bench, tmp_path: Path) -> None:
    """There lies memory of its own, which goes away with it."""
    await bench.use(SHELL, command="echo x > ../planted; echo x > ../secret")
    assert sorted(os.listdir(tmp_path)) == ["secret", "workspace"]
    assert (tmp_path / "secret").read_text() == "the secret"


async def test_processes_of_this_machine_are_not_seen(bench: Bench) -> None:
    said = (await bench.use(SHELL, command="cd /proc; ls -d [0-9]*")).text
    assert 0 < len([line for line in said.splitlines() if line.isdigit()]) < 10


@pytest.mark.parametrize(
    "command",
    [
        "echo x > made && cat made && rm made",
        "mkdir -p a/b && mv a c && rm -r c",
        "echo x > /tmp/draft && cat /tmp/draft",
        "awk 'BEGIN { print 1 }'",
        "ls -la / && id && ps > /dev/null || true",
        "python3 -c 'print(1)' || perl -e 'print 1'",
        "echo $HOME $TMPDIR | grep '/tmp /tmp'",
        "cd WORKSPACE && pwd",
    ],
)
async def test_everyday_work_in_the_workspace_goes_on(bench: Bench, command: str) -> None:
    done = await bench.use(SHELL, command=command.replace("WORKSPACE", bench.site.workspace))
    assert done.ok, done.text


async def test_there_is_no_network_not_even_to_this_machine(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"exec 3<> /dev/tcp/127.0.0.1/{port} && echo connected"
        assert "connected" not in (await bench.use(SHELL, command=f"bash -c '{connect}'")).text
        with socket.create_connection(("127.0.0.1", port)):
            pass


async def test_a_reading_command_cannot_write(bench: Bench) -> None:
    Path(bench.site.workspace, "f").write_text("x")
    sandbox = Sandbox()
    assert (await bench.use(SHELL, command="cat f")).ok
    env = {"PATH": "/usr/bin:/bin"}
    read_only = sandbox.argv(("/bin/sh", "-c", "echo y > f"), bench.site.workspace, env, writable=False)
    process = await asyncio.create_subprocess_exec(*read_only, stderr=asyncio.subprocess.PIPE)
    _, said = await process.communicate()
    assert b"Read-only" in said
    assert Path(bench.site.workspace, "f").read_text() == "x"


@pytest.mark.parametrize("name", [".git", ".quarterdeck"])
@pytest.mark.parametrize("present", [True, False])
async def test_protected_folders_cannot_be_written_nor_made(bench: Bench, name: str, present: bool) -> None:
    folder = Path(bench.site.workspace, name)
    if present:
        folder.mkdir()
        (folder / "config").write_text("old")
    for command in (
        f"echo x > {name}/config",
        f"mkdir -p {name}/hooks",
        f"mv {name} moved",
        f"rm -rf {name}",
        f"rmdir {name}; mkdir {name}/x",
        f"ln -s /tmp {name}/link",
    ):
        assert not (await bench.use(SHELL, command=command)).ok
    assert (await bench.use(SHELL, command="echo fine > beside")).ok
    assert set(os.listdir(bench.site.workspace)) == ({"beside", name} if present else {"beside"})
    if present:
        assert (folder / "config").read_text() == "old"
        assert (await bench.use(SHELL, command=f"cat {name}/config")).text == "old"


async def test_two_commands_at_once_are_both_kept_from_protected_folders(bench: Bench) -> None:
    slow = "touch slow.ready; while test ! -e go; do sleep 0.01; done; mkdir -p .git/hooks && echo broken"
    first = asyncio.create_task(bench.use(SHELL, command=slow))
    async with asyncio.timeout(20):
        while not Path(bench.site.workspace, "slow.ready").exists():
            await asyncio.sleep(0.01)
        assert (await bench.use(SHELL, command="true")).ok
        Path(bench.site.workspace, "go").touch()
        assert not (await first).ok
    assert not Path(bench.site.workspace, ".git").exists()


async def test_a_protected_folder_that_is_a_link_is_not_led_along(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    Path(bench.site.workspace, ".git").symlink_to("../outside")
    with pytest.raises(ToolFailed, match="is a link"):
        await bench.use(SHELL, command="true")
    Path(bench.site.workspace, ".git").unlink()
    assert (await bench.use(SHELL, command="true")).ok


def test_a_workspace_that_is_a_part_of_the_system_does_not_fit() -> None:
    for workspace in ("/", "/usr", "/usr/share", "/etc", "/proc/self", "/lib/x"):
        assert not Sandbox().fits(workspace)
    for workspace in ("/root", "/home/me", "/srv/usr", "/tmp/x", "/users"):
        assert Sandbox().fits(workspace)
