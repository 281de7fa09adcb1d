"""The vault: what it keeps can be had by nobody else, at no other place, and not without the master key."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quarterdeck.adapters.master_key import KeyFile, KeysInMemory, MasterKey, read_keys
from quarterdeck.adapters.sqlite.store import SqliteStore
from quarterdeck.adapters.system import SystemClock
from quarterdeck.adapters.vault import SealedVault
from quarterdeck.kernel.errors import Conflict, Problem, Unavailable
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.tenancy import Sealed
from quarterdeck.log.log import Log
from quarterdeck.views.tables import TABLES, VIEWS

ANN, BOB = TenantId("ann"), TenantId("bob")
HERE, THERE = "https://api.example.org:443", "https://api.example.org.evil:443"
SECRET = "sk-live-3fA9xQ7zT1bN5mK8"


def opened(path: Path) -> Log:
    return Log(SqliteStore(path), SystemClock(), TABLES, VIEWS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
async def log(folder: Path) -> AsyncIterator[Log]:
    log = opened(folder / "log.db")
    yield log
    await log.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data.key"


@pytest.fixture
def vault(log: Log, file: Path) -> SealedVault:
    return SealedVault(log, KeyFile(file))


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_what_was_put_can_be_taken_where_it_belongs(vault: SealedVault) -> None:
    one, two = await vault.put(ANN, HERE, [SECRET, "second-key-of-ann"])
    assert await vault.take(ANN, one, HERE) == SECRET
    assert await vault.take(ANN, two, HERE) == "second-key-of-ann"
    assert await vault.last_four(ANN, (one, two, "nobody")) == ("5mK8", "-ann", None)


async def test_of_a_short_key_nothing_is_shown(vault: SealedVault) -> None:
    (ident,) = await vault.put(ANN, HERE, ["ollama"])
    assert await vault.last_four(ANN, (ident,)) == (None,)


async def test_a_key_goes_to_no_other_place_and_to_no_other_tenant(vault: SealedVault, log: Log) -> None:
    (ident,) = await vault.put(ANN, HERE, [SECRET])
    await vault.put(BOB, HERE, ["bobs-own-key-1234"])
    with pytest.raises(Conflict) as told:
        await vault.take(ANN, ident, THERE)
    assert told.value.code == "key_bound"
    with pytest.raises(Unavailable) as missing:
        await vault.take(BOB, ident, HERE)
    assert missing.value.code == "key_missing"


@pytest.mark.parametrize("meddle", ["origin", "tenant", "ident", "box"])
async def test_who_changes_what_is_stored_gets_nothing(vault: SealedVault, log: Log, meddle: str) -> None:
    """As somebody might who can write to the database, but does not have the master key."""
    (ident,) = await vault.put(ANN, HERE, [SECRET])
    await vault.put(BOB, HERE, ["bobs-own-key-1234"])
    box = next(each for each in await log.sealed(ANN) if each.id == ident)
    tenant, name, where = ANN, ident, HERE
    if meddle == "origin":
        box, where = Sealed(ANN, ident, box.data.replace(HERE.encode(), THERE.encode())), THERE
    elif meddle == "tenant":
        tenant, box = BOB, Sealed(BOB, ident, box.data)
    elif meddle == "ident":
        name, box = "f" * 16, Sealed(ANN, "f" * 16, box.data)
    else:
        box = Sealed(ANN, ident, box.data.replace(b'"box":"A', b'"box":"B').replace(b'"box":"', b'"box":"AAAA', 1))
    await log.seal(None, lambda _: ([box], []))
    with pytest.raises(Unavailable) as told:
        await vault.take(tenant, name, where)
    assert told.value.code == "key_damaged"
    assert SECRET not in told.value.detail


async def test_two_who_put_the_first_key_at_once_lock_with_one_data_key(log: Log, file: Path) -> None:
    vaults = [SealedVault(log, KeyFile(file)) for _ in range(8)]
    put = await asyncio.gather(*(each.put(ANN, HERE, [f"{SECRET}-{n}"]) for n, each in enumerate(vaults)))
    taken = await asyncio.gather(*(vaults[0].take(ANN, ident, HERE) for (ident,) in put))
    assert taken == [f"{SECRET}-{n}" for n in range(8)]


async def test_no_file_of_the_data_folder_holds_a_key(vault: SealedVault, folder: Path, file: Path, log: Log) -> None:
    (ident,) = await vault.put(ANN, HERE, [SECRET])
    await log.backup(str(folder / "backup.db"))
    stored = everything(folder)
    (master,) = read_keys(file.read_text().split(), "")
    assert ident.encode() in stored
    for secret in (SECRET.encode(), master.secret, base64.b64encode(master.secret), file.read_bytes().strip()):
        assert secret not in stored


async def test_what_is_dropped_is_in_no_file_any_more(vault: SealedVault, folder: Path, log: Log) -> None:
    idents = await vault.put(ANN, HERE, [SECRET, "another-key-12345"])
    boxes = [each.data for each in await log.sealed(ANN) if each.id in idents]
    assert all(box in everything(folder) for box in boxes)
    await vault.drop(ANN, idents)
    assert not any(box in everything(folder) for box in boxes)
    with pytest.raises(Unavailable):
        await vault.take(ANN, idents[0], HERE)


# The master key


async def test_the_file_of_the_master_key_is_ours_alone(vault: SealedVault, file: Path) -> None:
    assert not file.exists()
    (ident,) = await vault.put(ANN, HERE, [SECRET])
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    with pytest.raises(Unavailable) as told:
        await vault.take(ANN, ident, HERE)
    assert told.value.code == "master_key_unusable"
    assert "chmod 600" in told.value.detail


async def test_a_master_key_that_is_gone_is_told_and_none_is_made_in_its_place(
    vault: SealedVault, file: Path, log: Log
) -> None:
    (ident,) = await vault.put(ANN, HERE, [SECRET])
    kept = file.read_text()
    file.unlink()
    more = (vault.put(tenant, HERE, ["one-more-key-1234"]) for tenant in (ANN, BOB))
    for failing in (vault.take(ANN, ident, HERE), *more):
        with pytest.raises(Unavailable) as told:
            await failing
        assert told.value.code == "master_key_missing"
    assert not file.exists()
    file.touch(0o600)
    file.write_text(kept)
    assert await vault.take(ANN, ident, HERE) == SECRET


async def test_the_master_key_is_changed_while_keys_are_in_use(vault: SealedVault, file: Path, log: Log) -> None:
    put = {tenant: (await vault.put(tenant, HERE, [f"{SECRET}-{tenant}"]))[0] for tenant in (ANN, BOB)}
    before = file.read_text()
    in_use = asyncio.gather(*(vault.take(ANN, put[ANN], HERE) for _ in range(200)))
    assert await vault.rotate() == 2
    assert set(await in_use) == {f"{SECRET}-ann"}
    assert len(file.read_text().split()) == 1
    assert file.read_text() != before
    for tenant, ident in put.items():
        assert await vault.take(tenant, ident, HERE) == f"{SECRET}-{tenant}"
    lost = SealedVault(log, KeysInMemory(read_keys(before.split(), "")))
    with pytest.raises(Unavailable):
        await lost.take(ANN, put[ANN], HERE)


async def test_changing_a_master_key_that_never_was_makes_none(vault: SealedVault, file: Path) -> None:
    assert await vault.rotate() == 0
    assert not file.exists()


class Cut(KeyFile):
    """Loses power at one of the two moments in which the file is written."""

    def __init__(self, path: Path, at: int) -> None:
        super().__init__(path)
        self._left = at

    def change(self, keys: object) -> None:
        if not self._left:
            raise OSError("power cut")
        self._left -= 1
        super().change(keys)  # type: ignore[arg-type]


@pytest.mark.parametrize("moment", [0, 1])
async def test_a_change_that_was_cut_off_loses_nothing_and_can_be_made_again(
    log: Log, file: Path, vault: SealedVault, moment: int
) -> None:
    (ident,) = await vault.put(ANN, HERE, [SECRET])
    with pytest.raises(OSError, match="power cut"):
        await SealedVault(log, Cut(file, moment)).rotate()
    assert await vault.take(ANN, ident, HERE) == SECRET
    await vault.rotate()
    assert len(file.read_text().split()) == 1
    assert await vault.take(ANN, ident, HERE) == SECRET


async def test_keys_from_the_environment_are_changed_by_putting_a_new_one_in_front(log: Log) -> None:
    old, new = MasterKey.fresh(), MasterKey.fresh()
    (ident,) = await SealedVault(log, KeysInMemory((old,))).put(ANN, HERE, [SECRET])
    with pytest.raises(Conflict) as told:
        await SealedVault(log, KeysInMemory((old,))).rotate()
    assert told.value.code == "master_key_given"
    assert await SealedVault(log, KeysInMemory((new, old))).rotate() == 1
    assert await SealedVault(log, KeysInMemory((new,))).take(ANN, ident, HERE) == SECRET


@pytest.mark.parametrize("text", ["", "short", base64.b64encode(b"x" * 31).decode(), "!" * 44, "ключ"])
def test_what_is_no_key_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(Unavailable) as told:
        read_keys(text.split(","), "QUARTERDECK_MASTER_KEY")
    assert not text or text not in told.value.detail


def test_a_key_as_openssl_writes_it_and_one_as_we_do_are_the_same() -> None:
    secret = b"\xfb\xff" * 16
    (one,) = read_keys([base64.b64encode(secret).decode()], "")
    (two,) = read_keys([MasterKey.of(secret).written()], "")
    assert one == two
    assert secret.hex() not in repr(one)


async def test_a_pipe_keeps_no_key(tmp_path: Path, log: Log) -> None:
    pipe = tmp_path / "pipe.key"
    os.mkfifo(pipe, 0o600)
    writer = os.open(pipe, os.O_RDWR)
    try:
        with pytest.raises(Problem) as told:
            await SealedVault(log, KeyFile(pipe)).put(ANN, HERE, [SECRET])
    finally:
        os.close(writer)
    assert told.value.code == "master_key_unusable"
