"""The limits of the hub, told to every client in `auth.ok` and kept."""

from __future__ import annotations

from typing import Any

FRAME_BYTES = 256 * 1024
FRAMES_PER_S = 200
BURST = 400
UNACKED = 32
STREAMS = 16
ASKED = 20  # approvals that nobody has answered yet
TEAM_RUNS = 64  # followed at a time
SOCKETS = 16  # of one member
NEWCOMERS = 64  # of one address that have not said who they are
HELLO_S = 5.0
PING_S = 20.0
DEAD_S = 40.0
GRACE_S = 60.0
STRIKES = 3
MOST_BAD = 50


def told() -> dict[str, Any]:
    return {
        "frame_bytes": FRAME_BYTES,
        "frames_per_second": FRAMES_PER_S,
        "burst": BURST,
        "unacked_deliveries": UNACKED,
        "streams": STREAMS,
        "open_approvals": ASKED,
        "team_runs": TEAM_RUNS,
        "connections": SOCKETS,
        "ping_seconds": PING_S,
        "dead_after_seconds": DEAD_S,
        "stream_grace_seconds": GRACE_S,
    }
