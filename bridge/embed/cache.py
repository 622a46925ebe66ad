"""Embeddings by model identity and text, so that the same text is embedded once.

They live in a file of their own that may be deleted at any time: that costs the time to
embed again and nothing else.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import structlog
from numpy.typing import NDArray

from bridge.data import remove_database
from bridge.stores.database import CorruptDatabase, Database
from bridge.stores.schema import Migration

log = structlog.get_logger(__name__)

MAX_ROWS = 1_000_000
"""About 0.9 GB at 384 dimensions."""

_SLICE = 500
_MIGRATIONS = (
    Migration(
        1,
        """
        CREATE TABLE models (id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);
        CREATE TABLE vectors (
            id INTEGER PRIMARY KEY,
            model INTEGER NOT NULL,
            hash BLOB NOT NULL,
            vector BLOB NOT NULL,
            UNIQUE (model, hash)
        );
        """,
    ),
)
"""`vector` is little-endian float16; higher ids are newer."""


def text_hash(embed_text: str) -> bytes:
    """Hash what the model sees of a chunk (BLAKE2b, 16 bytes)."""
    return hashlib.blake2b(embed_text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class EmbeddingCache:
    """The cache's file; open it with `EmbeddingCache.open`, close it with `close`."""

    def __init__(self, db: Database) -> None:
        self.db = db

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open or create the cache; a damaged file is deleted and begun anew."""
        try:
            return cls(await Database.open(path, _MIGRATIONS))
        except CorruptDatabase:
            log.warning("embed.cache_damaged", path=str(path))
            await asyncio.to_thread(remove_database, path)
            return cls(await Database.open(path, _MIGRATIONS))

    async def get_many(self, identity: str, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Look up embeddings; absent ones are left out."""
        found: dict[bytes, NDArray[np.float32]] = {}
        for start in range(0, len(hashes), _SLICE):
            some = hashes[start : start + _SLICE]
            marks = ",".join("?" * len(some))
            sql = f"""
                SELECT hash, vector FROM vectors
                WHERE model = (SELECT id FROM models WHERE identity = ?) AND hash IN ({marks})
                """
            rows = await self.db.rows(sql, (identity, *some))
            found.update((key, np.frombuffer(vector, "<f2").astype(np.float32)) for key, vector in rows)
        return found

    async def put_many(self, identity: str, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Keep embeddings, as float16."""
        if not vectors:
            return
        async with self.db.write() as tx:
            await tx.execute("INSERT OR IGNORE INTO models (identity) VALUES (?)", (identity,))
            await tx.executemany(
                "INSERT OR REPLACE INTO vectors (model, hash, vector) "
                "SELECT id, ?, ? FROM models WHERE identity = ?",
                [(key, vector.astype("<f2").tobytes(), identity) for key, vector in vectors.items()],
            )

    async def prune(self, identity_in_use: str, max_rows: int = MAX_ROWS) -> int:
        """Drop embeddings beyond `max_rows`, those of other models first, then the oldest; returns how many."""
        async with self.db.write() as tx:
            dropped = await tx.execute_fetchall(
                """
                DELETE FROM vectors WHERE id IN (
                    SELECT vectors.id FROM vectors JOIN models ON models.id = model
                    ORDER BY identity = ?, vectors.id
                    LIMIT max(0, (SELECT count(*) FROM vectors) - ?)
                ) RETURNING id
                """,
                (identity_in_use, max_rows),
            )
            n = len(list(dropped))
        if n:
            log.info("embed.cache_pruned", n=n)
        return n

    async def clear(self) -> None:
        """Forget all embeddings."""
        async with self.db.write() as tx:
            await tx.execute("DELETE FROM vectors")

    async def close(self) -> None:
        """Close the file."""
        await self.db.close()
