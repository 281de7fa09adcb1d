"""What a start refuses: storage that cannot be trusted, or that belongs to somebody else."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from quarterdeck.adapters.sqlite.folder import REMOTE, file_system, refuse_remote
from quarterdeck.adapters.sqlite.store import SqliteStore, refuse_old
from quarterdeck.kernel.errors import StorageBroken, Unavailable

OPEN_AND_WAIT = """
import sys
from pathlib import Path
from quarterdeck.adapters.sqlite.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""
OPEN_AS_NOBODY = """
import os, sys
from pathlib import Path
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.kernel.errors import Unavailable
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    SqliteStore(Path(sys.argv[1]))
except Unavailable as refused:
    print(refused.code, refused.detail)
"""


@pytest.mark.parametrize("version", ["3.51.2", "3.40.1", "3.7.0", "2.8.17", "3.50.99"])
def test_an_sqlite_that_can_lose_commits_is_refused(version: str) -> None:
    with pytest.raises(StorageBroken, match=re.escape(f"{version} can lose commits")):
        refuse_old(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "3.100.0", "4.0.0"])
def test_an_sqlite_that_keeps_its_commits_is_taken(version: str) -> None:
    refuse_old(version)


def test_the_sqlite_that_we_carry_keeps_its_commits() -> None:
    refuse_old(apsw.sqlite_lib_version())


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the database open."""
    command = [sys.executable, "-c", OPEN_AND_WAIT, str(tmp_path / "log.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def test_a_folder_in_use_by_another_process_is_refused_and_the_process_named(
    holder: subprocess.Popen[str], tmp_path: Path
) -> None:
    with pytest.raises(Unavailable) as refused:
        SqliteStore(tmp_path / "log.db")
    assert refused.value.code == "data_folder_locked"
    assert f"process {holder.pid}" in refused.value.detail
    assert "--data-dir" in refused.value.detail


def test_a_folder_is_free_as_soon_as_its_process_was_killed(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    holder.kill()
    holder.wait(20)
    SqliteStore(tmp_path / "log.db").close()


def test_a_second_store_in_this_process_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / "log.db")
    with pytest.raises(Unavailable) as refused:
        SqliteStore(tmp_path / "log.db")
    assert refused.value.code == "data_folder_locked"
    assert first.next_stream_id() == 1
    first.close()
    first.close()
    SqliteStore(tmp_path / "log.db").close()


MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /srv/share rw - nfs4 server:/share rw
31 22 0:41 / /srv/with\\040blank rw - cifs //server/x rw
32 30 254:1 / /srv/share/local rw - ext4 /dev/vdb rw
33 22 0:42 / /srv/данные rw - fuse.sshfs me@there:/ rw
34 22 0:43 / /srv/twice rw - ext4 /dev/vdc rw
35 34 0:44 / /srv/twice rw - 9p share rw
36 22 0:45 / /srv/back\\134slash rw - nfs server:/ rw
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(MOUNTS, "utf-8")
    return path


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/srv/share", "nfs4"),
        ("/srv/share/deep/er", "nfs4"),
        ("/srv/with blank/x", "cifs"),
        ("/srv/данные/x", "fuse.sshfs"),
        ("/srv/twice/x", "9p"),
        ("/srv/back\\slash", "nfs"),
    ],
)
def test_a_folder_on_a_remote_file_system_is_refused(mounts: Path, folder: str, kind: str) -> None:
    with pytest.raises(Unavailable, match="locks and syncs") as refused:
        refuse_remote(Path(folder), mounts)
    assert refused.value.code == "data_folder_remote"
    assert kind in refused.value.detail


@pytest.mark.parametrize("folder", ["/srv/share/local/x", "/srv/shared-not", "/home/me", "/"])
def test_a_folder_on_a_local_disk_is_taken_whatever_lies_beside_it(mounts: Path, folder: str) -> None:
    refuse_remote(Path(folder), mounts)
    assert file_system(Path(folder), mounts) == "ext4"


def test_a_system_that_does_not_tell_its_mounts_is_taken_on_trust(tmp_path: Path) -> None:
    refuse_remote(tmp_path, tmp_path / "nothing here")


def test_the_folder_that_tests_run_in_is_known_and_local(tmp_path: Path) -> None:
    assert file_system(tmp_path)
    assert file_system(tmp_path) not in REMOTE


def test_a_database_of_a_later_release_is_refused_left_alone_and_let_go(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    SqliteStore(path).close()
    database = apsw.Connection(str(path))
    database.pragma("user_version", 99)
    database.close()
    for _ in range(2):
        with pytest.raises(Unavailable, match="later release") as refused:
            SqliteStore(path)
        assert refused.value.code == "schema_too_new"
    assert apsw.Connection(str(path)).pragma("user_version") == 99


def test_a_file_that_is_no_database_is_refused_left_alone_and_let_go(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(b"a letter to my grandmother, " * 200)
    for _ in range(2):
        with pytest.raises(StorageBroken, match="no database"):
            SqliteStore(path)
    assert path.read_bytes().startswith(b"a letter")


def test_a_folder_that_cannot_be_written_is_refused() -> None:
    folder = Path(tempfile.mkdtemp(prefix="quarterdeck-readonly-"))
    try:
        folder.chmod(0o555)
        command = [sys.executable, "-c", OPEN_AS_NOBODY, str(folder / "log.db")]
        said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, cwd="/")
        assert said.stdout.startswith("data_folder_unusable"), said.stderr
        assert str(folder) in said.stdout
        assert "--data-dir" in said.stdout
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable) as refused:
        SqliteStore(tmp_path / "file" / "deeper" / "log.db")
    assert refused.value.code == "data_folder_unusable"


def test_a_lock_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.db.lock").mkdir()
    with pytest.raises(Unavailable) as refused:
        SqliteStore(tmp_path / "log.db")
    assert refused.value.code == "data_folder_unusable"


def test_every_open_is_in_wal_mode_with_full_syncs(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    for _ in range(2):
        store = SqliteStore(path)
        assert store._writer.pragma("journal_mode") == "wal"
        assert store._writer.pragma("synchronous") == 2
        store.close()
        outside = apsw.Connection(str(path))
        outside.pragma("journal_mode", "delete")
        outside.close()


def test_a_database_that_does_not_take_wal_is_refused_and_let_go() -> None:
    with pytest.raises(StorageBroken, match="does not take WAL"):
        SqliteStore(Path(":memory:"))
    Path(":memory:.lock").unlink(missing_ok=True)


def test_readers_cannot_write(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "log.db")
    with pytest.raises(apsw.Error):
        store._reader().execute("DELETE FROM row")
    store.close()


def test_what_is_stored_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "fresh" / "log.db")
        store.prepare([])
        files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "fresh").iterdir()}
        store.close()
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o700
    assert set(files) == {"log.db", "log.db-wal", "log.db-shm", "log.db.lock"}
    assert set(files.values()) == {0o600}
