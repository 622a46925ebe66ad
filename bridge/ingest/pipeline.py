"""From changes to rows: the one way by which anything enters the index.

SQLite's transaction is the truth. After it the full-text index is committed and its reached
`seq` noted; what lies between is replayed at the next start (`ingest.replay`).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import assert_never

import aiosqlite
import structlog

from bridge.embed import Embedder
from bridge.embed.cache import EmbeddingCache
from bridge.feed import Feed
from bridge.ingest.embedding import Embedding
from bridge.ingest.prepare import VERSION, prepare
from bridge.ingest.replay import replay
from bridge.model import (
    Attachment,
    ChunkId,
    Deleted,
    Failed,
    NoteChange,
    NoteId,
    NotePath,
    Revision,
    Stamp,
    Touched,
    Upserted,
)
from bridge.paths import note_id
from bridge.stores import changelog, links, notes
from bridge.stores.changelog import LoggedChange
from bridge.stores.database import Database
from bridge.stores.documents import ChunkDoc
from bridge.stores.embeddings import Embeddings
from bridge.stores.fulltext import Fulltext
from bridge.stores.notes import ChunkDiff, Known, Prepared
from bridge.stores.pins import Pins
from bridge.stores.vectors import Vector

log = structlog.get_logger(__name__)

ESTIMATED_WINDOW = 192
"""Window of chunks, in estimated tokens, while no model counts them."""

_FILLED = "filled"
_LARGE = 64
"""Changes of a batch from which on it is worth preparing the next one meanwhile."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """The last word on each path of one call."""

    upserted: dict[NoteId, Upserted]
    touched: list[Touched]
    deleted: dict[NoteId, Deleted]
    failed: list[Failed]
    attachments: list[Attachment]

    @property
    def well(self) -> list[NotePath]:
        """Paths that are no failures any more."""
        changes: list[Upserted | Touched | Deleted] = [
            *self.upserted.values(),
            *self.touched,
            *self.deleted.values(),
        ]
        return [change.path for change in changes]

    @classmethod
    def of(cls, changes: Sequence[NoteChange]) -> "_Batch":
        batch = cls({}, [], {}, [], [])
        last = {change.path: change for change in changes}
        for path, change in last.items():
            match change:
                case Upserted():
                    batch.upserted[note_id(path)] = change
                case Touched():
                    batch.touched.append(change)
                case Deleted():
                    batch.deleted[note_id(path)] = change
                case Failed():
                    batch.failed.append(change)
                case Attachment():
                    batch.attachments.append(change)
                case _:
                    assert_never(change)
        return batch


class Pipeline:
    """Stores batches of changes; one at a time, whoever calls."""

    def __init__(
        self,
        db: Database,
        state: Database,
        fulltext: Fulltext,
        embeddings: Embeddings,
        cache: EmbeddingCache,
        pins: Pins,
        feed: Feed,
        embedding: Embedding,
    ) -> None:
        self._db = db
        self._state = state
        self._fulltext = fulltext
        self._embeddings = embeddings
        self._cache = cache
        self._pins = pins
        self._feed = feed
        self._embedding = embedding
        self._preparing = asyncio.Lock()
        self._storing = asyncio.Lock()
        self._under_way: set[asyncio.Task[None]] = set()
        self._reached_seq = 0
        self._behind = False
        """Whether the full-text index may lack what the last batches stored."""
        self.generation = 0
        """Grows with every change of what is stored; caches of visible notes hang on it."""
        self.filled = False
        """Whether the sources once delivered all they had: only what came after that is news."""

    @property
    def shapes(self) -> tuple[str, ...]:
        """The shapes of rows that are up to date; without a model those of its absence are too."""
        identity = self._embedding.identity
        made = (_shape(identity),) if identity else ()
        return made if self._embedding.embedder else (*made, _shape(None))

    async def stamps(self, paths: Collection[NotePath] | None = None) -> dict[NotePath, Stamp]:
        """What the index knows of these paths and all below them (None: of all), for a source to compare with."""
        await self.idle()
        return await notes.stamps(self._db, self.shapes, paths)

    async def recall(self) -> None:
        """Learn whether this index was filled before."""
        self.filled = await notes.get_meta(self._db, _FILLED) is not None

    async def fill_ended(self) -> None:
        """Note that the sources delivered all they had; what comes from now on is news."""
        await self.idle()
        if not self.filled:
            async with self._db.write() as tx:
                await notes.put_meta(tx, _FILLED, "")
            self.filled = True

    async def distrust(self) -> None:
        """Take every row for one of an older shape, so that the sources deliver all notes again."""
        async with self._storing, self._db.write() as tx:
            await tx.execute("UPDATE notes SET shape = ''")

    @property
    def busy(self) -> bool:
        """Whether a batch is on its way into the stores, or the words of one are still to be caught up."""
        return bool(self._under_way) or self._behind

    async def idle(self) -> None:
        """Wait until nothing is on its way."""
        while self._under_way:
            await asyncio.wait(self._under_way)

    async def apply(self, changes: Sequence[NoteChange]) -> None:
        """Store a batch, to the end even when the one who asked goes away."""
        if changes:
            await asyncio.shield(self._begin(changes))

    async def follow(self, batches: AsyncIterator[Sequence[NoteChange]]) -> None:
        """Store batch after batch; while a large one is stored, the next is read and prepared."""
        async with self._storing:
            await self._catch_up()
        before: asyncio.Task[None] | None = None
        async for changes in batches:
            storing = self._begin(changes)
            if before:
                await asyncio.shield(before)
            before = storing
            if len(changes) < _LARGE:
                await asyncio.shield(storing)
        if before:
            await asyncio.shield(before)

    def _begin(self, changes: Sequence[NoteChange]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._apply(_Batch.of(changes)))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # whoever awaits it has it; when the batch before failed, nobody does

    async def _apply(self, batch: _Batch) -> None:
        """Prepare and store in turn; two locks let one batch be prepared while the one before is stored."""
        async with self._preparing:
            embedder, prepared = await self._prepare(batch)
            await self._storing.acquire()
        try:
            await self._put(batch, embedder, prepared)
        finally:
            self._storing.release()

    async def _prepare(self, batch: _Batch) -> tuple[Embedder | None, list[Prepared]]:
        if not batch.upserted:
            return self._embedding.embedder, []
        await self._embedding.decided.wait()
        embedder = self._embedding.embedder
        count, window = (embedder.count_tokens, embedder.window) if embedder else (None, ESTIMATED_WINDOW)
        return embedder, await asyncio.to_thread(prepare, [*batch.upserted.values()], count, window)

    async def _put(self, batch: _Batch, embedder: Embedder | None, prepared: Sequence[Prepared]) -> None:
        await self._catch_up()
        old = await self._known([*batch.upserted, *batch.deleted])
        changed: list[Prepared] = []
        for item in prepared:
            if self._is_current(item, old.get(item.id)):
                batch.touched.append(Touched(item.note.path, item.modified_ns, item.size))
            else:
                changed.append(item)
        gone = [id_ for id_ in batch.deleted if id_ in old]
        if changed or gone:
            async with self._words_staged(changed, gone, old):
                diff, cached = await self._store(batch, changed, gone, embedder)
                await self._refresh(diff, cached)
        else:
            diff, cached = await self._store(batch, (), (), embedder)
            await self._refresh(diff, cached)
        await self._tell(batch, changed, gone, old)
        if len(cached) < len(diff.fresh):
            self._embedding.wake()

    async def _refresh(self, diff: ChunkDiff, cached: dict[ChunkId, Vector]) -> None:
        """Let what hangs on the rows follow them."""
        self.generation += 1
        owners = {id_: owner for id_, owner, _ in diff.fresh}
        added = [(id_, owners[id_], vector) for id_, vector in cached.items()]
        await asyncio.to_thread(self._embeddings.refresh, diff.gone, added)

    async def _catch_up(self) -> None:
        """Bring the full-text index up to the rows where a commit of it failed (a full disk, say)."""
        if self._behind:
            try:
                await replay(self._db, self._fulltext)
            except BaseException:
                await asyncio.to_thread(self._fulltext.rollback)
                raise
            self._behind = False

    def _is_current(self, item: Prepared, known: Known | None) -> bool:
        return known is not None and known.revision == item.revision and known.shape in self.shapes

    async def _known(self, ids: Sequence[NoteId]) -> dict[NoteId, Known]:
        async with self._db.read() as conn:
            return await notes.known(conn, ids)

    async def _store(
        self, batch: _Batch, prepared: Sequence[Prepared], gone: Sequence[NoteId], embedder: Embedder | None
    ) -> tuple[ChunkDiff, dict[ChunkId, Vector]]:
        wanted = {digest for item in prepared for digest in item.hashes if digest}
        hits = await self._cache.get_many(embedder.identity, [*wanted]) if embedder and wanted else {}
        shape = _shape(embedder.identity if embedder else None)
        async with self._db.write() as tx:
            seq = await notes.next_seq(tx) if prepared or gone else self._reached_seq
            names = await notes.names(tx, [*batch.upserted, *batch.deleted])
            diff = await notes.store(tx, seq, shape, prepared) if prepared else ChunkDiff((), ())
            removed = await notes.remove(tx, seq, gone) if gone else ()
            await notes.forget_files(tx, [change.path for change in batch.deleted.values()])
            await notes.touch(tx, batch.touched)
            await notes.forget_failures(tx, batch.well)
            await notes.put_attachments(tx, batch.attachments)
            await notes.put_failures(tx, batch.failed)
            cached = {id_: hits[digest] for id_, _, digest in diff.fresh if digest in hits}
            diff = ChunkDiff((*diff.gone, *removed), diff.fresh)
            if self._embedding.identity:
                await self._embeddings.drop(tx, diff.gone)
            if embedder:
                await self._embeddings.put(tx, cached)
                queued = {id_: owner for id_, owner, digest in diff.fresh if digest and id_ not in cached}
                await notes.put_pending(tx, prepared, queued)
            await self._relink(tx, batch, prepared, names)
        self._reached_seq = seq
        return diff, cached

    async def _relink(
        self, tx: aiosqlite.Connection, batch: _Batch, prepared: Sequence[Prepared], names: set[notes.NameRow]
    ) -> None:
        """Store the notes' links and resolve again whatever could mean a name that came or went.

        `names` is what the batch's notes were called before it.
        """
        await links.replace_links(tx, {item.id: item.note.links for item in prepared})
        moved = names ^ await notes.names(tx, [*batch.upserted, *batch.deleted])
        keys = {key for _, key in moved}.union(
            *(links.link_keys(file.path) for file in batch.attachments),
            *(links.link_keys(change.path) for change in batch.deleted.values()),
        )
        await links.resolve_links(tx, notes=[item.id for item in prepared], keys=keys)

    @asynccontextmanager
    async def _words_staged(
        self, prepared: Sequence[Prepared], gone: Sequence[NoteId], old: Collection[NoteId]
    ) -> AsyncIterator[None]:
        """Analyse words while the block stores rows; commit them after it, or drop them with its error."""

        def stage() -> None:
            for id_ in gone:
                self._fulltext.remove(id_)
            for item in prepared:
                put = self._fulltext.replace if item.id in old else self._fulltext.add
                put(item.id, _docs(item))

        self._behind = True
        staging = asyncio.create_task(asyncio.to_thread(stage))
        try:
            yield
            await staging
            await asyncio.to_thread(self._fulltext.commit)
        except BaseException:
            await asyncio.gather(staging, return_exceptions=True)
            await asyncio.to_thread(self._fulltext.rollback)
            raise
        async with self._db.write() as tx:
            await notes.words_reached(tx, self._reached_seq)
        self._behind = False

    async def _tell(
        self, batch: _Batch, prepared: Sequence[Prepared], gone: Sequence[NoteId], old: dict[NoteId, Known]
    ) -> None:
        """Write the change log and wake those who wait for changes."""
        now = time.time_ns()
        vanished: dict[Revision, list[NoteId]] = {}
        for id_ in gone:
            vanished.setdefault(old[id_].revision, []).append(id_)
        entries: list[LoggedChange] = []
        for item in prepared:
            note, before = item.note, old.get(item.id)
            if before and before.revision == item.revision:
                continue
            moved_from = None
            if before is None and vanished.get(item.revision):
                moved_from = batch.deleted[vanished[item.revision].pop()].path
                await self._pins.moved(moved_from, note.path)
            change: changelog.ChangeKind = "renamed" if moved_from else "modified" if before else "created"
            entries.append(
                LoggedChange(
                    now, note.path, note.title, note.kind, change, item.origin, item.revision, moved_from
                )
            )
            self._feed.publish("indexed", path=note.path, revision=item.revision, change=change)
        for left in vanished.values():
            for id_ in left:
                was, gone_ = old[id_], batch.deleted[id_]
                entries.append(LoggedChange(now, gone_.path, was.title, was.kind, "deleted", gone_.origin))
        for id_ in gone:
            self._feed.publish("removed", path=batch.deleted[id_].path)
        if self.filled:
            await changelog.append(self._state, entries)
        if prepared or gone:
            log.info("ingest.stored", notes=len(prepared), removed=len(gone), unchanged=len(batch.touched))


def _shape(identity: str | None) -> str:
    """Name the parser, the chunker and the model that counted its tokens."""
    return f"{VERSION}:{identity or 'estimate'}"


def _docs(item: Prepared) -> list[ChunkDoc]:
    note = item.note
    return [
        ChunkDoc(
            chunk_id=chunk.id,
            note_id=item.id,
            title=note.title,
            aliases=note.aliases,
            tags=note.tags,
            headings=chunk.heading_path,
            text=chunk.text,
            language=item.language,
        )
        for chunk in item.chunks
    ]
