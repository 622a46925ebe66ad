"""The embedding model's life: opened in the background, told apart from the one before, kept busy."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import structlog

from bridge.answers import MissingReason
from bridge.embed import Embedder, EndpointDown
from bridge.embed.cache import EmbeddingCache
from bridge.errors import TransomError
from bridge.feed import Feed
from bridge.ingest.backfill import Backfill
from bridge.stores import notes
from bridge.stores.database import Database
from bridge.stores.embeddings import Embeddings

log = structlog.get_logger(__name__)

IDENTITY = "embedding_identity"
_RETRY_S = 30.0

State = Literal["off", "loading", "ready", "failed", "endpoint_down"]
Opener = Callable[[], Awaitable[Embedder | None]]


class Embedding:
    """Opens the model that the settings name and embeds what waits for it; the bridge runs `run`."""

    def __init__(
        self,
        name: str,
        opener: Opener,
        db: Database,
        embeddings: Embeddings,
        cache: EmbeddingCache,
        feed: Feed,
        on_adopted: Callable[[], None],
    ) -> None:
        self.name = name
        self.embedder: Embedder | None = None
        self.identity: str | None = None
        """Of the model whose vectors the index holds; known before the model is open."""
        self.decided = asyncio.Event()
        """Set once the model is open, or known to be out of reach for now."""
        self.loaded = asyncio.Event()
        """Set once the stored vectors can be searched."""
        self._open = opener
        self._opened: Embedder | None = None
        """Kept for when `run` begins anew: a model is loaded once."""
        self._db = db
        self._embeddings = embeddings
        self._cache = cache
        self._feed = feed
        self._on_adopted = on_adopted
        self._backfill: Backfill | None = None
        self._trouble: TransomError | None = None

    @property
    def off(self) -> bool:
        return self.name == "none"

    @property
    def dimensions(self) -> int | None:
        return self.embedder.dimensions if self.embedder else None

    @property
    def settled(self) -> bool:
        """Whether nothing more is to be expected of the model than to embed what comes."""
        return self.off or self.loaded.is_set()

    @property
    def trouble(self) -> TransomError | None:
        """Why there are no embeddings at the moment; None while all is well."""
        return self._trouble or (self._backfill.trouble if self._backfill else None)

    @property
    def state(self) -> State:
        if self.off:
            return "off"
        if self.trouble:
            return "endpoint_down" if isinstance(self.trouble, EndpointDown) else "failed"
        return "ready" if self.loaded.is_set() else "loading"

    def knows(self, language: str) -> bool:
        """Whether the model was trained on a language; one that is not told may well be known."""
        languages = self.embedder.languages if self.embedder else None
        return languages is None or not language or language in languages

    @property
    def missing(self) -> MissingReason | None:
        """Why the semantic signal cannot answer now; None when it can."""
        if self.state == "endpoint_down":
            return "endpoint_down"
        if self.embedder is None or not self.loaded.is_set():
            return "indexing" if self.state == "loading" else "no_model"
        return None

    async def recall(self) -> None:
        """Learn which model the index was made with."""
        self.identity = await notes.get_meta(self._db, IDENTITY) or None

    def wake(self) -> None:
        """Say that chunks may be waiting."""
        if self._backfill:
            self._backfill.wake()

    async def run(self) -> None:
        """Open the model, trying again while it is out of reach, then embed for ever."""
        embedder = self._opened = self._opened or await self._open_in_the_end()
        if embedder is None:
            await self._forget()
            self.decided.set()
            return
        await self._adopt(embedder)
        await self._embeddings.load(self._db, embedder.dimensions)
        self.loaded.set()
        log.info("embed.ready", model=self.name, vectors=len(self._embeddings))
        self._backfill = Backfill(self._db, self._embeddings, self._cache, self._feed, embedder)
        await self._backfill.run()

    async def _open_in_the_end(self) -> Embedder | None:
        """Open the model; while it is out of reach, say so and try again."""
        while True:
            try:
                embedder = await self._open()
            except TransomError as error:
                self._trouble = error
                self.decided.set()
                log.warning("embed.unavailable", model=self.name, reason=error.message, key=error.error_key)
                await asyncio.sleep(_RETRY_S)
            else:
                self._trouble = None
                return embedder

    async def _adopt(self, embedder: Embedder) -> None:
        """Make room for the model's vectors; those of another model are dropped."""
        if self.identity != embedder.identity:
            async with self._db.write() as tx:
                await self._embeddings.create(tx, embedder.dimensions)
                await notes.forget_embeddings(tx)
                await notes.put_meta(tx, IDENTITY, embedder.identity)
            log.info("embed.new_model", model=self.name, dimensions=embedder.dimensions)
        self.identity = embedder.identity
        self.embedder = embedder
        self.decided.set()
        self._on_adopted()

    async def _forget(self) -> None:
        """Without a model no vectors are kept; the cache has them should it come back."""
        if self.identity:
            async with self._db.write() as tx:
                await self._embeddings.discard(tx)
                await notes.forget_embeddings(tx)
                await notes.put_meta(tx, IDENTITY, "")
        self.identity = None

    async def close(self) -> None:
        """Free the model."""
        if self._opened:
            await self._opened.close()
