"""Keys of the API: who may call, what they see, whether they may write.

Of each key only its SHA-256 is stored. The first key, made at the first start, also stands in the
file `token` of the data folder, which is what counts for it: a deleted file gives a new key.
"""

import asyncio
import hashlib
import hmac
import json
import secrets
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bridge.data import FIRST_KEY, write_private
from bridge.errors import Clash, InstallationError, InvalidRequest, NotFound
from bridge.model import OWNER, Scope
from bridge.stores.database import Database
from bridge.times import rfc3339

PREFIX = "transom_"
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """What may be told of a key: all but the key itself."""

    name: str
    created_at: str
    read_only: bool
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    transcripts: bool


class Keys:
    """The keys of one data folder; open them with `Keys.open`."""

    def __init__(self, state: Database, token_file: Path) -> None:
        self._state = state
        self.token_file = token_file
        self._scopes: dict[bytes, Scope] = {}

    @classmethod
    async def open(cls, state: Database, folder: Path) -> Self:
        """Read the keys, and make the first one where there is none yet."""
        keys = cls(state, folder / FIRST_KEY)
        token = await keys.first_key()
        if not token:
            token = _new_token()
            await asyncio.to_thread(write_private, keys.token_file, token + "\n")
        await keys._store(OWNER, token)
        await keys._load()
        return keys

    async def first_key(self) -> str:
        """Return the owner's key as the file `token` holds it."""
        return await asyncio.to_thread(_read, self.token_file)

    async def create(
        self,
        name: str,
        *,
        read_only: bool = False,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        transcripts: bool = False,
    ) -> str:
        """Make a key and return it, this once; `allow` and `deny` are globs over note paths."""
        scope = Scope(_name(name), _globs("allow", allow), _globs("deny", deny), read_only, transcripts)
        if any(scope.key == known.key for known in self._scopes.values()):
            raise Clash(
                "A key of this name exists; nothing was changed. Revoke it first, or take another name.",
                key="name_taken",
                name=scope.key,
            )
        token = _new_token()
        await self._store(scope, token)
        await self._load()
        return token

    async def list(self) -> tuple[KeyInfo, ...]:
        """Describe all keys, in order of their names."""
        rows = await self._state.rows(
            "SELECT name, allow, deny, read_only, transcripts, created_at FROM keys ORDER BY name"
        )
        return tuple(_info(row) for row in rows)

    async def revoke(self, name: str) -> None:
        """Make a key worthless from now on; the first one is replaced by a new one in the file `token`."""
        if name == OWNER.key:
            token = _new_token()
            await asyncio.to_thread(write_private, self.token_file, token + "\n")
            await self._store(OWNER, token)
        else:
            async with self._state.write() as tx:
                cursor = await tx.execute("DELETE FROM keys WHERE name = ?", (name,))
            if not cursor.rowcount:
                raise NotFound("There is no key of this name.", key="key_not_found", name=name)
        await self._load()

    def find(self, token: str) -> Scope | None:
        """Return what the key may see and do; None for a key that is not one.

        Digests are compared in constant time, and all of them, so that time tells nothing.
        """
        digest = _digest(token)
        found = None
        for known, scope in self._scopes.items():
            if hmac.compare_digest(known, digest):
                found = scope
        return found

    async def _store(self, scope: Scope, token: str) -> None:
        async with self._state.write() as tx:
            await tx.execute(
                "INSERT INTO keys (name, hash, created_at, read_only, allow, deny, transcripts) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (name) DO UPDATE SET hash = excluded.hash, created_at = excluded.created_at "
                "WHERE hash != excluded.hash",
                (
                    scope.key,
                    _digest(token),
                    rfc3339(time.time_ns()),
                    scope.read_only,
                    json.dumps(scope.allow),
                    json.dumps(scope.deny),
                    scope.transcripts,
                ),
            )

    async def _load(self) -> None:
        rows = await self._state.rows("SELECT name, allow, deny, read_only, transcripts, hash FROM keys")
        self._scopes = {bytes(digest): _scope(row) for *row, digest in rows}


def _scope(row: Sequence[Any]) -> Scope:
    name, allow, deny, read_only, transcripts = row
    return Scope(name, tuple(json.loads(allow)), tuple(json.loads(deny)), bool(read_only), bool(transcripts))


def _info(row: Sequence[Any]) -> KeyInfo:
    scope = _scope(row[:5])
    return KeyInfo(scope.key, row[5], scope.read_only, scope.allow, scope.deny, scope.transcripts)


def _new_token() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _name(name: str) -> str:
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise InvalidRequest(
            f"A key's name has 1 to {_LONGEST_NAME} visible characters and no blank at its ends.", name=name
        )
    return name


def _globs(field: str, globs: Sequence[str]) -> tuple[str, ...]:
    if any(not glob.strip() for glob in globs):
        raise InvalidRequest(f"A glob of `{field}` is empty.", field=field)
    return tuple(unicodedata.normalize("NFC", glob) for glob in globs)


def _read(file: Path) -> str:
    try:
        file.chmod(0o600)
        return file.read_text("ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeError) as error:
        raise InstallationError(
            f"The file {file} holds no key that can be read ({error}); it was left as it is. "
            "Put the key back, or move the file away and a new key is made.",
            key="token_unreadable",
            path=str(file),
        ) from error
