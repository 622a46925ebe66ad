"""Embed the chunks that wait, newest edits first, in the background."""

import asyncio
import json
from collections.abc import Sequence

import numpy as np
import structlog
from numpy.typing import NDArray

from bridge.embed import Embedder, EndpointDown
from bridge.embed.cache import EmbeddingCache, text_hash
from bridge.errors import TransomError
from bridge.feed import Feed
from bridge.model import ChunkId, NoteId
from bridge.stores.database import Database
from bridge.stores.embeddings import Embeddings

log = structlog.get_logger(__name__)

_BATCH = 8
_PAUSE_S = 15.0

Waiting = tuple[ChunkId, NoteId, str]


class Backfill:
    """Works through `pending`; owned by the bridge, which runs `run` as a task."""

    def __init__(
        self, db: Database, embeddings: Embeddings, cache: EmbeddingCache, feed: Feed, embedder: Embedder
    ) -> None:
        self._db = db
        self._embeddings = embeddings
        self._cache = cache
        self._feed = feed
        self._embedder = embedder
        self._wake = asyncio.Event()
        self._wake.set()
        self.trouble: TransomError | None = None
        """Why nothing is embedded at the moment; None while all is well."""

    def wake(self) -> None:
        """Say that something may be pending."""
        self._wake.set()

    async def run(self) -> None:
        """Embed whatever is pending, for ever; an endpoint that is away is tried again."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while await self.step():
                    pass
            except TransomError as error:
                self.trouble = error
                log.warning("embed.paused", reason=error.message, key=error.error_key)
                self._wake.set()
                await asyncio.sleep(_PAUSE_S)

    async def step(self) -> bool:
        """Embed one batch; False when nothing was pending."""
        rows = await self._db.rows(
            "SELECT chunk_id, note_id, embed_text FROM pending ORDER BY modified_ns DESC, chunk_id LIMIT ?",
            (_BATCH,),
        )
        if not rows:
            self.trouble = None
            return False
        vectors = await self._embed(rows)
        self.trouble = None
        await self._cache.put_many(
            self._embedder.identity, {text_hash(row[2]): vectors[row[0]] for row in rows if row[0] in vectors}
        )
        added = await self._store([row[0] for row in rows], vectors)
        await asyncio.to_thread(self._embeddings.refresh, (), added)
        self._feed.publish("progress", embedded=len(added))
        return True

    async def _embed(self, rows: Sequence[Waiting]) -> dict[ChunkId, NDArray[np.float32]]:
        """Embed a batch; when it fails as a whole, find the one text that is to blame."""
        try:
            vectors = await self._embedder.embed_documents([text for _, _, text in rows])
            return {row[0]: vector for row, vector in zip(rows, vectors, strict=True)}
        except EndpointDown:
            raise
        except TransomError as error:
            if len(rows) == 1:
                log.warning("embed.text_failed", chunk=rows[0][0], reason=error.message)
                return {}
        found: dict[ChunkId, NDArray[np.float32]] = {}
        for row in rows:
            found.update(await self._embed([row]))
        return found

    async def _store(
        self, tried: Sequence[ChunkId], vectors: dict[ChunkId, NDArray[np.float32]]
    ) -> list[tuple[ChunkId, NoteId, NDArray[np.float32]]]:
        """Store the vectors of chunks that are still wanted; all tried ones leave the queue."""
        async with self._db.write() as tx:
            still = await tx.execute_fetchall(
                "DELETE FROM pending WHERE chunk_id IN (SELECT value FROM json_each(?)) RETURNING chunk_id, note_id",
                (json.dumps([*tried]),),
            )
            added = [(ChunkId(id_), NoteId(owner), vectors[id_]) for id_, owner in still if id_ in vectors]
            await self._embeddings.put(tx, {id_: vector for id_, _, vector in added})
        return added
