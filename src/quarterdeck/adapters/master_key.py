"""The master key: outside the database, in a file that only we can read, or from the environment.

The file has a key on each line, the one that locks first. Behind it stand those that may still be needed, which is only
so while one takes another's place.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from quarterdeck.kernel.errors import Conflict, Unavailable

LENGTH = 32


@dataclass(frozen=True, slots=True)
class MasterKey:
    """`id` tells keys apart and gives nothing away."""

    id: str
    secret: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: bytes) -> MasterKey:
        return cls(hashlib.sha256(b"quarterdeck master key\0" + secret).hexdigest()[:16], secret)

    @classmethod
    def fresh(cls) -> MasterKey:
        return cls.of(secrets.token_bytes(LENGTH))

    def written(self) -> str:
        return base64.urlsafe_b64encode(self.secret).decode()


class KeysInMemory:
    """Of a server that keeps nothing, or that was handed its keys; the first one locks."""

    def __init__(self, keys: Sequence[MasterKey] = ()) -> None:
        self.fixed = bool(keys)
        self._keys = tuple(keys) or (MasterKey.fresh(),)

    def held(self, *, make: bool = False) -> tuple[MasterKey, ...]:  # noqa: ARG002 - there is one from the start
        return self._keys

    def change(self, keys: Sequence[MasterKey]) -> None:
        if self.fixed:
            raise Conflict(
                "The master key comes from QUARTERDECK_MASTER_KEY, which this server cannot change. Put a new key in "
                "front of the old one with a comma between, restart, and when `quarterdeck vault rotate` has answered "
                "take the old one away; or keep the key in a file, with QUARTERDECK_MASTER_KEY_FILE.",
                code="master_key_given",
            )
        self._keys = tuple(keys)


class KeyFile:
    """A file of mode 0600. It is made when the first thing is locked, and never where something was locked before."""

    fixed = False

    def __init__(self, path: Path) -> None:
        self._path = path

    def held(self, *, make: bool = False) -> tuple[MasterKey, ...]:
        """None where there is no file, unless one is to be made."""
        try:
            with self._path.open("rb") as file:
                self._must_be_private(os.fstat(file.fileno()))
                text = file.read(64 * 1024).decode("ascii", "replace")
        except FileNotFoundError:
            if not make:
                return ()
            fresh = (MasterKey.fresh(),)
            self.change(fresh)
            return fresh
        except OSError as error:
            raise self._unusable(f"cannot be read: {error.strerror}") from None
        return read_keys(text.split(), str(self._path))

    def change(self, keys: Sequence[MasterKey]) -> None:
        """The whole file at once: after a crash it is the old one or the new one."""
        partial = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}")
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.writelines(f"{key.written()}\n" for key in keys)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise self._unusable(f"cannot be written: {error.strerror}") from None

    def _must_be_private(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise self._unusable("is not a file")
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise self._unusable("can be read by others; take that away with `chmod 600`")

    def _unusable(self, why: str) -> Unavailable:
        return Unavailable(
            f"The master key file {self._path} {why}. QUARTERDECK_MASTER_KEY_FILE names another place.",
            code="master_key_unusable",
        )


def read_keys(words: Sequence[str], where: str) -> tuple[MasterKey, ...]:
    """Keys as they are written: 32 bytes each, in base64."""
    found = []
    for word in filter(None, words):
        try:
            secret = base64.b64decode(word.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            secret = b""
        if len(secret) != LENGTH:
            raise Unavailable(
                f"{where} holds something that is no master key: each must be {LENGTH} random bytes in base64, as "
                "`openssl rand -base64 32` prints them.",
                code="master_key_unusable",
            )
        found.append(MasterKey.of(secret))
    if not found:
        raise Unavailable(f"{where} holds no master key.", code="master_key_unusable")
    return tuple(found)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
