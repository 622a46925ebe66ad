"""The durable state: what the journal and the conflicts keep, and in which order they let go."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.model import NotePath
from bridge.stores.database import Database
from bridge.stores.schema import STATE
from bridge.stores.state import StateStore
from bridge.vault.reader import revision_of

A, B = NotePath("a.md"), NotePath("sub/b.md")


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[StateStore]:
    db = await Database.open(tmp_path / "state.sqlite", STATE)
    yield StateStore(db, tmp_path)
    await db.close()


async def write(state: StateStore, path: NotePath, data: bytes) -> None:
    revision = revision_of(data)
    await state.record("write", path, None, revision, "test", {revision: data})


async def keep(state: StateStore, data: bytes) -> str:
    revision = revision_of(data)
    conflict = await state.keep_conflict(
        "refused", B, "test", base=None, ours=None, theirs=revision, contents={revision: data}
    )
    return conflict.id


async def age(state: StateStore, table: str, column: str) -> None:
    """Let all rows be of long ago."""
    async with state.db.write() as tx:
        await tx.execute(f"UPDATE {table} SET {column} = '2001-01-01T00:00:00.000Z'")


async def test_journal(state: StateStore) -> None:
    """The journal lists a path's changes newest first, moves to it included, and takes back what did not happen."""
    await write(state, A, b"1")
    moved = await state.record("move", B, revision_of(b"1"), revision_of(b"1"), "test", {}, A)
    struck = await state.record("delete", A, revision_of(b"1"), None, "test", {})
    await state.strike(struck)
    await write(state, B, b"2")

    assert ["move", "write"] == [entry.verb for entry in await state.journal(A)]
    assert [moved] == await state.journal(limit=1, before_id=moved.id + 1)
    assert 3 == len(await state.journal())
    assert b"1" == await state.content(revision_of(b"1"))
    assert await state.content(revision_of(b"never")) is None


async def test_conflicts(state: StateStore, tmp_path: Path) -> None:
    """A conflict is a file beside the database and a row; equal bytes are kept once until it is resolved."""
    first = await keep(state, b"theirs")

    assert first == await keep(state, b"theirs")
    await state.resolve(first)
    second = await keep(state, b"theirs")
    conflict = await state.conflict(second)
    assert conflict
    assert conflict.resolved_at is None
    assert [second] == [kept.id for kept in await state.conflicts()]
    assert [first] == [kept.id for kept in await state.conflicts(resolved=True)]
    assert 2 == len([*(tmp_path / "conflicts").iterdir()])
    assert conflict.file.endswith("b.md")


async def test_prune_by_age(state: StateStore, tmp_path: Path) -> None:
    """What is older than the limit goes, with its bytes; an unresolved conflict stays however old it is."""
    await write(state, A, b"old")
    resolved, unresolved = await keep(state, b"resolved"), await keep(state, b"unresolved")
    await state.resolve(resolved)
    await age(state, "journal", "at")
    await age(state, "conflicts", "at")
    await age(state, "conflicts", "resolved_at")
    async with state.db.write() as tx:
        await tx.execute("UPDATE conflicts SET resolved_at = NULL WHERE id = ?", (unresolved,))
    await write(state, A, b"new")
    await state.prune(90, 512)

    assert [b"new"] == [await state.content(entry.after) for entry in await state.journal() if entry.after]
    assert [unresolved] == [kept.id for kept in await state.conflicts()]
    assert await state.conflict(resolved) is None
    assert [None, None] == [await state.content(revision_of(data)) for data in (b"old", b"resolved")]
    assert [b"unresolved"] == [file.read_bytes() for file in (tmp_path / "conflicts").iterdir()]


async def test_prune_by_size(state: StateStore) -> None:
    """What is too much goes oldest first: resolved conflicts, then the journal, unresolved conflicts last."""
    unresolved, resolved = await keep(state, bytes(50_000)), await keep(state, b"r" * 50_000)
    await state.resolve(resolved)
    for number in range(20):
        await write(state, A, str(number).encode() * 10_000)
    await state.prune(90, 0.45)

    assert await state.conflict(resolved) is None
    assert 20 == len(await state.journal())

    await state.prune(90, 0.25)
    left = [await state.content(entry.after) for entry in await state.journal() if entry.after]
    assert 0 < len(left) < 20
    assert b"19" * 10_000 == left[0]
    assert [unresolved] == [kept.id for kept in await state.conflicts()]

    await state.prune(90, 0.01)
    assert [] == await state.journal()
    assert [] == await state.conflicts()
