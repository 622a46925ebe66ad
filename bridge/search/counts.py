"""How many notes, chunks and links a key may see, and how many of them are embedded."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

from bridge.answers import VaultCounts
from bridge.ingest.embedding import Embedding
from bridge.model import Scope
from bridge.search.visible import Visible
from bridge.stores.database import Database
from bridge.stores.embeddings import Embeddings

_FRESH_S = 0.25


@dataclass(frozen=True, slots=True)
class Embedded:
    """Visible chunks that should have an embedding, that have one, and that wait in the queue."""

    wanted: int
    embedded: int
    pending: int

    @property
    def coverage(self) -> float:
        return min(1.0, self.embedded / self.wanted) if self.wanted else 1.0


class Counts:
    """Counts within a scope, kept until the index changes; while it does, a quarter of a second."""

    def __init__(
        self,
        db: Database,
        visible: Visible,
        embeddings: Embeddings,
        embedding: Embedding,
        generation: Callable[[], int],
    ) -> None:
        self._db = db
        self._visible = visible
        self._embeddings = embeddings
        self._embedding = embedding
        self._generation = generation
        self._kept: dict[Scope, tuple[int, float, Embedded]] = {}

    async def embedded(self, scope: Scope, *, exact: bool = False) -> Embedded:
        """Count embeddings; `exact` never answers a count from before a change."""
        generation, now = self._generation(), time.monotonic()
        kept = self._kept.get(scope)
        if kept and (kept[0] == generation or (not exact and now - kept[1] < _FRESH_S)):
            return kept[2]
        notes = await self._visible.notes(scope)
        ids = None if notes is None else json.dumps([*notes])
        within = "" if ids is None else " AND note_id IN (SELECT value FROM json_each(?))"
        params = () if ids is None else (ids,)
        [(wanted,)] = await self._db.rows(
            f"SELECT count(*) FROM chunks WHERE embed_hash IS NOT NULL{within}", params
        )
        [(pending,)] = await self._db.rows(f"SELECT count(*) FROM pending WHERE 1{within}", params)
        embedded = await asyncio.to_thread(self._embeddings.count, notes)
        counted = Embedded(wanted, embedded, pending)
        self._kept[scope] = (generation, now, counted)
        return counted

    async def coverage(self, scope: Scope) -> float | None:
        """Give the share of visible chunks that are embedded; None without a model."""
        return None if self._embedding.off else (await self.embedded(scope)).coverage

    async def vault(self, scope: Scope) -> VaultCounts:
        """Count notes, chunks and links."""
        notes = await self._visible.notes(scope)
        within = "" if notes is None else "WHERE {} IN (SELECT value FROM json_each(?))"
        params = () if notes is None else (json.dumps([*notes]),)
        kinds: dict[str, int] = dict(
            await self._db.rows(
                f"SELECT kind, count(*) FROM notes {within.format('id')} GROUP BY kind", params
            )
        )
        [(chunks,)] = await self._db.rows(f"SELECT count(*) FROM chunks {within.format('note_id')}", params)
        [(links,)] = await self._db.rows(f"SELECT count(*) FROM links {within.format('note_id')}", params)
        return VaultCounts(
            kinds.get("note", 0), kinds.get("canvas", 0), kinds.get("transcript", 0), chunks, links
        )
