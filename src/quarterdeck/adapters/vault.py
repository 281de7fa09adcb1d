"""The vault: AES-GCM, a data key for each tenant, each data key locked by a master key that is not in the database.

What is locked lies beside the log, in no event. Losing a tenant's data key is losing all that it ever locked.
"""

from __future__ import annotations

import base64
import importlib
import secrets
import threading
from collections.abc import Sequence
from typing import Any, Protocol

import orjson

from quarterdeck.adapters.master_key import MasterKey
from quarterdeck.kernel.errors import Conflict, Unavailable
from quarterdeck.kernel.ids import TenantId
from quarterdeck.kernel.tenancy import Sealed
from quarterdeck.log.log import Log

KEY_BYTES = 32
NONCE = 12
SHOWN = 4
SHORTEST_SHOWN = 12  # of a shorter key, four characters would be too much of it
DATA_KEY = "data-key"


class MasterKeys(Protocol):
    """Where the master keys are. The first one locks; all of them open."""

    @property
    def fixed(self) -> bool:
        """Whether they cannot be changed by us."""

    def held(self, *, make: bool = False) -> tuple[MasterKey, ...]: ...

    def change(self, keys: Sequence[MasterKey]) -> None: ...


class SealedVault:
    """Keeps the `Vault` port."""

    def __init__(self, log: Log, masters: MasterKeys) -> None:
        self._log, self._masters = log, masters
        self._rotating = threading.Lock()

    async def put(self, tenant: TenantId, origin: str, secrets_: Sequence[str]) -> tuple[str, ...]:
        idents = tuple(secrets.token_hex(8) for _ in secrets_)

        def change(everybodys: list[Sealed]) -> tuple[list[Sealed], list[Sealed]]:
            locked = _data_key([each for each in everybodys if each.tenant == tenant])
            data_key = secrets.token_bytes(KEY_BYTES) if locked is None else self._opened(locked)
            kept = [_closed(tenant, ident, origin, one, data_key) for ident, one in zip(idents, secrets_, strict=True)]
            # A master key is made for the very first lock alone: one that is missing must be found again.
            lock = [] if locked else [self._locked(tenant, data_key, make=_data_key(everybodys) is None)]
            return [*lock, *kept], []

        await self._log.seal(None, change)
        return idents

    async def take(self, tenant: TenantId, ident: str, origin: str) -> str:
        there = await self._log.sealed(tenant)
        box, locked = next((each for each in there if each.id == ident), None), _data_key(there)
        if box is None or locked is None:
            raise Unavailable("The key of this provider is gone; set it again.", code="key_missing")
        told = orjson.loads(box.data)
        if told["origin"] != origin:
            raise Conflict(f"The stored key belongs to {told['origin']} and goes nowhere else.", code="key_bound")
        data_key = self._opened(locked)
        return _unlocked(data_key, told, _place(tenant, ident, origin)).decode()

    async def last_four(self, tenant: TenantId, idents: Sequence[str]) -> tuple[str | None, ...]:
        shown = {each.id: orjson.loads(each.data).get("last_four") for each in await self._log.sealed(tenant)}
        return tuple(shown.get(ident) for ident in idents)

    async def drop(self, tenant: TenantId, idents: Sequence[str]) -> None:
        gone = set(idents)
        if gone:
            await self._log.seal(tenant, lambda there: ([], [each for each in there if each.id in gone]))

    async def rotate(self) -> int:
        """Whatever moment it is cut off at, the file holds every key that something is locked with."""
        if not self._rotating.acquire(blocking=False):
            raise Conflict("The master key is being changed already.", code="busy")
        try:
            return await self._rotated()
        finally:
            self._rotating.release()

    async def _rotated(self) -> int:
        before, fresh = self._masters.held(), MasterKey.fresh()
        if not before:
            return 0  # nothing was ever locked
        if len(before) == 1:
            self._masters.change((fresh, *before))
        count = 0

        def relocked(there: list[Sealed]) -> tuple[list[Sealed], list[Sealed]]:
            nonlocal count
            locks = [each for each in there if each.id == DATA_KEY]
            count = len(locks)
            return [self._locked(each.tenant, self._opened(each)) for each in locks], []

        await self._log.seal(None, relocked)
        if not self._masters.fixed:
            self._masters.change(self._masters.held()[:1])
        return count

    def _locked(self, tenant: TenantId, data_key: bytes, *, make: bool = False) -> Sealed:
        masters = self._masters.held(make=make)
        if not masters:
            raise _not_at_hand()
        master = masters[0]
        return Sealed(tenant, DATA_KEY, orjson.dumps({"key": master.id, **_box(master.secret, data_key, _lid(tenant))}))

    def _opened(self, locked: Sealed) -> bytes:
        told = orjson.loads(locked.data)
        master = next((key for key in self._masters.held() if key.id == told["key"]), None)
        if master is None:
            raise _not_at_hand()
        return _unlocked(master.secret, told, _lid(locked.tenant))


def _not_at_hand() -> Unavailable:
    return Unavailable(
        "The master key that the tenants' keys are locked with is not at hand. Put it back where "
        "QUARTERDECK_MASTER_KEY_FILE says.",
        code="master_key_missing",
    )


def _closed(tenant: TenantId, ident: str, origin: str, secret: str, data_key: bytes) -> Sealed:
    shown = secret[-SHOWN:] if len(secret) >= SHORTEST_SHOWN else None
    box = _box(data_key, secret.encode(), _place(tenant, ident, origin))
    return Sealed(tenant, ident, orjson.dumps({"origin": origin, "last_four": shown, **box}))


def _box(key: bytes, plain: bytes, bound_to: bytes) -> dict[str, str]:
    nonce = secrets.token_bytes(NONCE)
    return {"box": base64.b64encode(nonce + _cipher(key).encrypt(nonce, plain, bound_to)).decode()}


def _unlocked(key: bytes, told: dict[str, Any], bound_to: bytes) -> bytes:
    box, cipher = base64.b64decode(told["box"]), _cipher(key)
    try:
        return bytes(cipher.decrypt(box[:NONCE], box[NONCE:], bound_to))
    except importlib.import_module("cryptography.exceptions").InvalidTag:
        raise Unavailable(
            "A stored key was tampered with or belongs to somebody else; set it again.", code="key_damaged"
        ) from None


def _cipher(key: bytes) -> Any:
    """Loaded when something is first locked: it takes six megabytes, and most servers keep no key."""
    return importlib.import_module("cryptography.hazmat.primitives.ciphers.aead").AESGCM(key)


def _data_key(there: Sequence[Sealed]) -> Sealed | None:
    return next((each for each in there if each.id == DATA_KEY), None)


def _place(tenant: TenantId, ident: str, origin: str) -> bytes:
    return orjson.dumps(["quarterdeck provider key", tenant, ident, origin])


def _lid(tenant: TenantId) -> bytes:
    return orjson.dumps(["quarterdeck data key", tenant])
