"""One SQLite file in WAL mode: one writer, a few readers, numbered migrations."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self, cast

import aiosqlite

from bridge.errors import InstallationError, TransomError, Unavailable
from bridge.stores import sqlite
from bridge.stores.schema import Migration

Row = tuple[Any, ...]


class CorruptDatabase(InstallationError):
    """The file is not a sound SQLite database; a derived one may be deleted and built again."""

    key = "corrupt_database"


class Database:
    """A database file; open it with `Database.open`, close it with `close`."""

    def __init__(
        self, path: Path, writer: aiosqlite.Connection, readers: list[aiosqlite.Connection], *, durable: bool
    ) -> None:
        self.path = path
        self.damaged = asyncio.Event()
        """Set once SQLite finds the file damaged."""
        self._durable = durable
        self._writer = writer
        self._writing = asyncio.Lock()
        self._readers = readers
        self._idle: asyncio.LifoQueue[aiosqlite.Connection] = asyncio.LifoQueue()
        for reader in readers:
            self._idle.put_nowait(reader)

    @classmethod
    async def open(
        cls,
        path: Path,
        migrations: Sequence[Migration],
        *,
        readers: int = 2,
        durable: bool = False,
        vectors: bool = False,
    ) -> Self:
        """Open or create the file and bring it to the last migration.

        `durable` makes each commit survive a power cut; without it the last ones may be
        lost, never half of one. Raises `InstallationError` for a file of a newer version
        and `CorruptDatabase` for one that is none.
        """
        opened: list[aiosqlite.Connection] = []
        try:
            writer = await _connect(path, vectors=vectors)
            opened.append(writer)
            await writer.execute("PRAGMA journal_mode = WAL")
            await writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            await writer.execute("PRAGMA wal_autocheckpoint = 2000")
            await _migrate(writer, path, migrations)
            for _ in range(readers):
                reader = await _connect(path, vectors=vectors)
                opened.append(reader)
                await reader.execute("PRAGMA query_only = ON")
        except BaseException as error:
            for connection in opened:
                await connection.close()
            if isinstance(error, sqlite.Error):
                raise explain(error, path, durable=durable) from error
            raise
        return cls(path, writer, opened[1:], durable=durable)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[aiosqlite.Connection]:
        """Hold the only writing connection inside one transaction; roll back on any error."""
        async with self._writing:
            try:
                await self._writer.execute("BEGIN IMMEDIATE")
                try:
                    yield self._writer
                    await self._writer.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite.Error):
                        await asyncio.shield(self._writer.rollback())
                    raise
            except sqlite.Error as error:
                raise self._explained(error) from error

    @asynccontextmanager
    async def read(self) -> AsyncIterator[aiosqlite.Connection]:
        """Hold one reader; its statements see one state of the data."""
        reader = await self._idle.get()
        try:
            await reader.execute("BEGIN")
            yield reader
        except sqlite.Error as error:
            raise self._explained(error) from error
        finally:
            with suppress(sqlite.Error):
                await asyncio.shield(reader.rollback())
            self._idle.put_nowait(reader)

    async def rows(self, sql: str, params: Iterable[Any] = ()) -> list[Row]:
        """Run one query on a reader."""
        reader = await self._idle.get()
        try:
            return cast("list[Row]", await reader.execute_fetchall(sql, params))
        except sqlite.Error as error:
            raise self._explained(error) from error
        finally:
            self._idle.put_nowait(reader)

    def _explained(self, error: sqlite3.Error) -> TransomError:
        explained = explain(error, self.path, durable=self._durable)
        if isinstance(explained, CorruptDatabase):
            self.damaged.set()
        return explained

    async def close(self) -> None:
        """Close every connection; safe while nothing else uses them."""
        async with self._writing:
            for reader in self._readers:
                await reader.close()
            with suppress(sqlite.Error):
                await self._writer.execute("PRAGMA optimize")
            await self._writer.close()


async def _connect(path: Path, *, vectors: bool) -> aiosqlite.Connection:
    connection = await aiosqlite.Connection(lambda: sqlite.connect(path, vectors=vectors), 256)
    try:
        for pragma in ("foreign_keys = ON", "temp_store = MEMORY", "cache_size = -4000"):
            await connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        await connection.close()
        raise
    return connection


async def _migrate(writer: aiosqlite.Connection, path: Path, migrations: Sequence[Migration]) -> None:
    [row] = await writer.execute_fetchall("PRAGMA user_version")
    version = row[0]
    newest = migrations[-1].number
    if version > newest:
        raise InstallationError(
            f"{path.name} was written by a newer version of Transom and was left as it is; "
            "update this installation, or give another data folder with --data.",
            key="newer_data",
            path=str(path),
            found=version,
            known=newest,
        )
    for migration in migrations:
        if migration.number > version:
            await writer.executescript(
                f"BEGIN IMMEDIATE; {migration.sql}; PRAGMA user_version = {migration.number}; COMMIT;"
            )


def explain(error: sqlite3.Error, path: Path, *, durable: bool) -> TransomError:
    """Say in a sentence what an SQLite error means for the owner."""
    text = str(error).lower()
    fields: dict[str, Any] = {"path": str(path), "detail": str(error)}
    if "full" in text:
        message = "The disk is full; nothing was lost. Free some space and the work goes on by itself."
        return Unavailable(message, key="disk_full", retry_after_s=30, **fields)
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        message = (
            f"{path.name} cannot be written; nothing was changed. "
            "Make the data folder writable for this user, or give another one with --data."
        )
        return InstallationError(message, key="data_not_writable", **fields)
    if "locked" in text or "busy" in text:
        message = f"{path.name} is in use by another program; nothing was changed. Close it and try again."
        return Unavailable(message, key="database_locked", **fields)
    if "malformed" in text or "not a database" in text or "corrupt" in text:
        mend = (
            "It holds keys, journal and conflicts, so it was left as it is: restore it from a backup, "
            "or move it away and it is made anew."
            if durable
            else "It holds nothing of its own and is built again at the next start."
        )
        return CorruptDatabase(f"{path.name} is damaged; your notes are untouched. {mend}", **fields)
    message = f"{path.name} could not be used ({error}); your notes are untouched. Ask: transom doctor"
    return InstallationError(message, key="database_error", **fields)
