"""The journal of what was written to the vault, and the conflicts that were kept aside.

Bytes are stored once a revision, in `contents`; a conflict's incoming bytes also lie as a file
in `conflicts/`, where their owner finds them without any program.
"""

import asyncio
import os
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import aiosqlite
import structlog

from bridge.model import NotePath, Revision
from bridge.stores.database import Database
from bridge.times import rfc3339

log = structlog.get_logger(__name__)

Verb: TypeAlias = Literal["write", "delete", "move"]
ConflictKind: TypeAlias = Literal["refused", "displaced"]
"""`refused`: bytes that came with a wrong expectation; `displaced`: bytes that another program
wrote in the moment in which the file was replaced."""

_DAY_NS = 86_400_000_000_000
_ENTRY = "SELECT id, at, origin, verb, path, to_path, before, after FROM journal"
_CONFLICT = "SELECT id, at, path, kind, origin, base, ours, theirs, file, resolved_at FROM conflicts"


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One change of the vault; `before` and `after` are None where there was no file."""

    id: int
    at: str
    origin: str
    verb: Verb
    path: NotePath
    to_path: NotePath | None
    before: Revision | None
    after: Revision | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """Bytes (`theirs`) that did not reach the vault, or lost their place in it to `ours`."""

    id: str
    at: str
    path: NotePath
    kind: ConflictKind
    origin: str
    base: Revision | None
    ours: Revision | None
    theirs: Revision
    file: str
    resolved_at: str | None


Contents: TypeAlias = dict[Revision, bytes]


class StateStore:
    """Journal and conflicts of one data folder."""

    def __init__(self, db: Database, folder: Path) -> None:
        self.db = db
        self._conflicts = folder / "conflicts"

    async def record(
        self,
        verb: Verb,
        path: NotePath,
        before: Revision | None,
        after: Revision | None,
        origin: str,
        contents: Contents,
        to_path: NotePath | None = None,
    ) -> JournalEntry:
        """Write down a change that is about to happen, with the bytes of both sides."""
        values = (rfc3339(time.time_ns()), origin, verb, path, to_path, before, after)
        async with self.db.write() as tx:
            await _put_contents(tx, contents)
            cursor = await tx.execute(
                "INSERT INTO journal (at, origin, verb, path, to_path, before, after) VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            assert cursor.lastrowid is not None
        return JournalEntry(cursor.lastrowid, *values)

    async def strike(self, entry: JournalEntry) -> None:
        """Take back an entry whose change did not happen."""
        async with self.db.write() as tx:
            await tx.execute("DELETE FROM journal WHERE id = ?", (entry.id,))

    async def journal(
        self, path: NotePath | None = None, *, limit: int = 100, before_id: int | None = None
    ) -> list[JournalEntry]:
        """List entries, newest first; those of a path include moves to it."""
        rows = await self.db.rows(
            f"{_ENTRY} WHERE (?1 IS NULL OR path = ?1 OR to_path = ?1) AND (?2 IS NULL OR id < ?2) "
            "ORDER BY id DESC LIMIT ?3",
            (path, before_id, limit),
        )
        return [JournalEntry(*row) for row in rows]

    async def content(self, revision: Revision) -> bytes | None:
        """The bytes of a revision that the journal or a conflict speaks of; None once they were pruned."""
        rows = await self.db.rows("SELECT bytes FROM contents WHERE revision = ?", (revision,))
        return bytes(rows[0][0]) if rows else None

    async def keep_conflict(
        self,
        kind: ConflictKind,
        path: NotePath,
        origin: str,
        *,
        base: Revision | None,
        ours: Revision | None,
        theirs: Revision,
        contents: Contents,
    ) -> Conflict:
        """Keep bytes aside as a file and a row; the same ones for the same path are kept once."""
        rows = await self.db.rows(
            f"{_CONFLICT} WHERE path = ? AND theirs = ? AND resolved_at IS NULL", (path, theirs)
        )
        if rows:
            return Conflict(*rows[0])
        at = rfc3339(time.time_ns())
        id_ = f"{at[:19].replace(':', '')}-{secrets.token_hex(4)}"
        file = f"{id_} {path.rpartition('/')[2][-40:]}"
        await asyncio.to_thread(self._write_file, file, contents[theirs])
        values = (id_, at, path, kind, origin, base, ours, theirs, file, None)
        async with self.db.write() as tx:
            await _put_contents(tx, contents)
            await tx.execute("INSERT INTO conflicts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        log.warning("conflict.kept", path=path, kind=kind, origin=origin, id=id_)
        return Conflict(*values)

    async def conflicts(self, *, resolved: bool = False) -> list[Conflict]:
        """List conflicts, newest first."""
        rows = await self.db.rows(
            f"{_CONFLICT} WHERE (resolved_at IS NOT NULL) = ? ORDER BY id DESC", (resolved,)
        )
        return [Conflict(*row) for row in rows]

    async def conflict(self, id_: str) -> Conflict | None:
        rows = await self.db.rows(f"{_CONFLICT} WHERE id = ?", (id_,))
        return Conflict(*rows[0]) if rows else None

    async def resolve(self, id_: str) -> None:
        """Mark a conflict as settled; its bytes stay until they are pruned."""
        async with self.db.write() as tx:
            await tx.execute(
                "UPDATE conflicts SET resolved_at = ? WHERE id = ? AND resolved_at IS NULL",
                (rfc3339(time.time_ns()), id_),
            )

    async def prune(self, keep_days: int, keep_mb: float) -> None:
        """Bound what is kept, oldest first: by age, then by size.

        An unresolved conflict has no age limit and is the last to go by size.
        """
        oldest_ns = time.time_ns() - keep_days * _DAY_NS
        oldest = rfc3339(oldest_ns)
        async with self.db.write() as tx:
            await tx.execute("DELETE FROM change_log WHERE at_ns < ?", (oldest_ns,))
            await tx.execute("DELETE FROM journal WHERE at < ?", (oldest,))
            rows = await tx.execute_fetchall(
                "DELETE FROM conflicts WHERE resolved_at < ? RETURNING file", (oldest,)
            )
            await tx.execute(_DROP_UNUSED)
            files = [str(row[0]) for row in rows] + await _shrink(tx, keep_mb * 1_000_000)
        await asyncio.to_thread(self._remove_files, files)

    def _write_file(self, name: str, content: bytes) -> None:
        self._conflicts.mkdir(mode=0o700, exist_ok=True)
        with (self._conflicts / name).open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _remove_files(self, names: Iterable[str]) -> None:
        for name in names:
            (self._conflicts / name).unlink(missing_ok=True)


async def _put_contents(tx: aiosqlite.Connection, contents: Contents) -> None:
    await tx.executemany("INSERT OR IGNORE INTO contents VALUES (?, ?)", contents.items())


_DROP_UNUSED = """
DELETE FROM contents WHERE revision NOT IN (
    SELECT before FROM journal WHERE before IS NOT NULL
    UNION SELECT after FROM journal WHERE after IS NOT NULL
    UNION SELECT base FROM conflicts WHERE base IS NOT NULL
    UNION SELECT ours FROM conflicts WHERE ours IS NOT NULL
    UNION SELECT theirs FROM conflicts
)"""
_TOTAL_BYTES = """
SELECT (SELECT coalesce(sum(length(bytes)), 0) FROM contents)
     + (SELECT coalesce(sum(length(bytes)), 0) FROM conflicts JOIN contents ON revision = theirs)
     + (SELECT count(*) FROM change_log) * 256"""
_OLDEST_TENTH = """
DELETE FROM {0} WHERE id IN (
    SELECT id FROM {0} WHERE {1} ORDER BY id LIMIT (SELECT (count(*) + 9) / 10 FROM {0} WHERE {1})
) RETURNING {2}"""
_RESOLVED = _OLDEST_TENTH.format("conflicts", "resolved_at IS NOT NULL", "file")
_CONFLICTS = _OLDEST_TENTH.format("conflicts", "true", "file")
_JOURNAL = _OLDEST_TENTH.format("journal", "true", "NULL")
_CHANGES = _OLDEST_TENTH.format("change_log", "true", "NULL")


async def _shrink(tx: aiosqlite.Connection, max_bytes: float) -> list[str]:
    """Drop the oldest until the rest fits; return the conflict files to remove."""
    files: list[str] = []
    for statements in ((_RESOLVED,), (_JOURNAL, _CHANGES), (_CONFLICTS,)):
        while True:
            [[total]] = await tx.execute_fetchall(_TOTAL_BYTES)
            dropped = [
                row for sql in statements if total > max_bytes for row in await tx.execute_fetchall(sql)
            ]
            if not dropped:
                break
            files += [str(row[0]) for row in dropped if row[0]]
            await tx.execute(_DROP_UNUSED)
    return files
