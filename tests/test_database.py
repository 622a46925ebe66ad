"""The database: one writer, readers that see whole transactions, honest errors."""

import asyncio
from pathlib import Path

import pytest

from bridge.errors import InstallationError
from bridge.stores import sqlite
from bridge.stores.database import CorruptDatabase, Database
from bridge.stores.schema import INDEX, STATE, Migration

SIMPLE = (Migration(1, "CREATE TABLE t (x INTEGER)"),)


async def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    """What was written before the error is rolled back and the next writer gets its turn."""
    db = await Database.open(tmp_path / "a.sqlite", SIMPLE)
    with pytest.raises(ValueError, match="stop"):
        async with db.write() as tx:
            await tx.execute("INSERT INTO t VALUES (1)")
            raise ValueError("stop")
    async with db.write() as tx:
        await tx.execute("INSERT INTO t VALUES (2)")

    assert [(2,)] == await db.rows("SELECT x FROM t")
    await db.close()


async def test_a_cancelled_writer_rolls_back(tmp_path: Path) -> None:
    """Cancelling a task inside a transaction neither commits it nor blocks the next one."""
    db = await Database.open(tmp_path / "a.sqlite", SIMPLE)
    inside = asyncio.Event()

    async def writer() -> None:
        async with db.write() as tx:
            await tx.execute("INSERT INTO t VALUES (1)")
            inside.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(writer())
    await inside.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with db.write() as tx:
        await tx.execute("INSERT INTO t VALUES (2)")

    assert [(2,)] == await db.rows("SELECT x FROM t")
    await db.close()


async def test_a_reader_sees_one_state(tmp_path: Path) -> None:
    """Statements inside one `read` do not see what was committed in between."""
    db = await Database.open(tmp_path / "a.sqlite", SIMPLE)
    async with db.read() as conn:
        before = [*await conn.execute_fetchall("SELECT count(*) FROM t")]
        async with db.write() as tx:
            await tx.execute("INSERT INTO t VALUES (1)")
        after = [*await conn.execute_fetchall("SELECT count(*) FROM t")]

    assert before == after
    assert [(1,)] == await db.rows("SELECT count(*) FROM t")
    await db.close()


async def test_a_newer_file_is_refused_and_untouched(tmp_path: Path) -> None:
    """Data of a newer version is refused with a sentence."""
    path = tmp_path / "index.sqlite"
    connection = sqlite.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = path.read_bytes()

    with pytest.raises(InstallationError, match="newer version") as caught:
        await Database.open(path, INDEX, vectors=True)

    assert "newer_data" == caught.value.error_key
    assert before[:100] == path.read_bytes()[:100] or path.stat().st_size


async def test_rubbish_is_called_corrupt(tmp_path: Path) -> None:
    """A file that is no database is named as such, so that a derived one can be rebuilt."""
    path = tmp_path / "index.sqlite"
    path.write_bytes(b"not a database at all" * 200)

    with pytest.raises(CorruptDatabase):
        await Database.open(path, INDEX, vectors=True)


async def test_both_schemas_apply_and_vectors_work(tmp_path: Path) -> None:
    """The real tables are made once, survive a reopening, and vec0 is there for readers too."""
    for _ in range(2):
        index = await Database.open(tmp_path / "index.sqlite", INDEX, vectors=True)
        state = await Database.open(tmp_path / "state.sqlite", STATE, durable=True)
        [(version,)] = await index.rows("SELECT vec_version()")
        await state.close()
        await index.close()

        assert version.startswith("v0.")
