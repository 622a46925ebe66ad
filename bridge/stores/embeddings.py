"""Embeddings of chunks: sqlite-vec's table is the store, two indexes in memory answer from it.

One index holds every chunk, the other the mean of each note's chunks.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import aiosqlite
import numpy as np
from numpy.typing import NDArray

from bridge.model import ChunkId, NoteId
from bridge.stores.database import Database
from bridge.stores.vectors import Near, Vector, VectorIndex

_BATCH = 4000

Floats: TypeAlias = NDArray[np.float32]


class Embeddings:
    """Writing happens inside a writer's transaction; `refresh` follows its commit."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.chunks: VectorIndex | None = None
        self.notes: VectorIndex | None = None
        self.generation = 0
        """Grows with every change of what is stored."""

    def __len__(self) -> int:
        return len(self.chunks) if self.chunks else 0

    async def create(self, tx: aiosqlite.Connection, dimensions: int) -> None:
        """Make an empty table for vectors of a new model."""
        await self.discard(tx)
        await tx.execute(
            "CREATE VIRTUAL TABLE vectors USING vec0("
            f"chunk_id INTEGER PRIMARY KEY, embedding FLOAT[{dimensions}] distance_metric=cosine)"
        )

    async def discard(self, tx: aiosqlite.Connection) -> None:
        """Drop the table with all vectors."""
        await tx.execute("DROP TABLE IF EXISTS vectors")
        self.chunks = self.notes = None
        self.generation += 1

    async def put(self, tx: aiosqlite.Connection, vectors: Mapping[ChunkId, Vector]) -> None:
        """Store vectors of chunks that have none."""
        await tx.executemany(
            "INSERT INTO vectors (chunk_id, embedding) VALUES (?, ?)",
            [(id_, vector.astype(np.float32).tobytes()) for id_, vector in vectors.items()],
        )

    async def drop(self, tx: aiosqlite.Connection, ids: Iterable[ChunkId]) -> None:
        """Delete the vectors of chunks, as far as they have any."""
        await tx.executemany("DELETE FROM vectors WHERE chunk_id = ?", [(id_,) for id_ in ids])

    async def load(self, db: Database, dimensions: int) -> None:
        """Fill the indexes from the table."""
        self._folder.mkdir(exist_ok=True)
        chunks, notes = VectorIndex(dimensions, self._folder), VectorIndex(dimensions, self._folder)
        owners: set[int] = set()
        async for ids, owners_, vectors in _stored(db, dimensions):
            await asyncio.to_thread(chunks.upsert, ids, owners_, vectors)
            owners.update(owners_)
        self.chunks, self.notes = chunks, notes
        await asyncio.to_thread(self._average, owners)
        self.generation += 1

    def refresh(self, gone: Collection[ChunkId], added: Sequence[tuple[ChunkId, NoteId, Vector]]) -> None:
        """Bring the indexes up to what a transaction stored; blocks."""
        if self.chunks is None or not (gone or added):
            return
        touched = self.chunks.owners_of(gone) | {owner for _, owner, _ in added}
        self.chunks.remove(gone)
        if added:
            ids, owners, vectors = zip(*added, strict=True)
            self.chunks.upsert(ids, owners, np.stack(vectors))
        self._average(touched)
        self.generation += 1

    def search(self, query: Vector, k: int, notes: frozenset[NoteId] | None) -> list[Near]:
        """Find the best chunk of each of the `k` nearest notes, among `notes` if given; blocks."""
        if self.chunks is None:
            return []
        wanted = 2 * k
        while True:
            found = self.chunks.search(query, wanted, notes)
            best: dict[int, Near] = {}
            for near in found:
                best.setdefault(near.owner, near)
            if len(best) >= k or len(found) < wanted:
                return [*best.values()][:k]
            wanted *= 4

    def count(self, notes: frozenset[NoteId] | None) -> int:
        """Count the embedded chunks of `notes`, or of all; blocks."""
        return self.chunks.count(notes) if self.chunks else 0

    def _average(self, notes: Collection[int]) -> None:
        """Bring the means of these notes up to date; those without vectors go."""
        assert self.chunks is not None
        assert self.notes is not None
        _, owners, vectors = self.chunks.of(notes)
        self.notes.remove(set(notes) - set(owners.tolist()))
        if not len(owners):
            return
        ids, places = np.unique(owners, return_inverse=True)
        means = np.zeros((len(ids), vectors.shape[1]), np.float32)
        np.add.at(means, places, vectors)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        self.notes.upsert(ids.tolist(), ids.tolist(), means)


async def _stored(db: Database, dimensions: int) -> AsyncIterator[tuple[list[int], list[int], Floats]]:
    """Read ids, owners and vectors in parts: one pass, since sqlite-vec is slow at single rows."""
    async with db.read() as conn:
        owners: dict[int, int] = dict(
            await conn.execute_fetchall("SELECT id, note_id FROM chunks WHERE embed_hash IS NOT NULL")  # type: ignore[arg-type] -- pairs
        )
        async with conn.execute("SELECT chunk_id, embedding FROM vectors") as cursor:
            while rows := await cursor.fetchmany(_BATCH):
                rows = [row for row in rows if row[0] in owners]
                vectors = np.frombuffer(b"".join(row[1] for row in rows), np.float32).reshape(-1, dimensions)
                yield [row[0] for row in rows], [owners[row[0]] for row in rows], vectors
