"""What docs/approvals.md says can be copied: all of it, in order, in a shell, as somebody would who reads it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

# Whoever reads on gives a run the time that it takes; here it is waited for.
SETTLED = """
of() { curl -s "$QUARTERDECK_URL/v1/$1"; }
settled() {
  until of "approvals/$ID" | grep -Eq '"status":"(consumed|voided)"'; do sleep 0.05; done
  until of 'tasks?limit=1' | grep -Eq '"status":"(completed|waiting_for_approval)"'; do sleep 0.05; done
}
"""
LEAVING = "trap 'kill $(jobs -p) 2> /dev/null' EXIT\n"
ROOT = Path(__file__).parents[2]
BOUND_S = 120


def blocks(page: str) -> str:
    return "\n".join(re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.S | re.M))


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_the_tour_of_an_approval_can_be_copied(tmp_path: Path) -> None:
    script = blocks("approvals.md").replace("8101", str(free_port())).replace("/tmp/deck", str(tmp_path / "deck"))
    script = LEAVING + SETTLED + script.replace("sleep 1\n", "settled\n")
    script = script.replace("$PWD/.venv/bin", str(Path(sys.executable).parent))
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-e", "-m", "-c", script],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for said in ("(it waits, as it should)", "Hello, Bob", "Good morning, Bob", "(too late, as it should)"):
        assert said in done.stdout, done.stdout
    for said in ("See you soon!", "event: tool_approval_requested", '"status": "completed"', "Filesystem"):
        assert said in done.stdout, done.stdout
    assert "status  voided" in done.stdout
