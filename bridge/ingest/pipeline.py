"""From changes to rows: the one way by which anything enters the index.

SQLite's transaction is the truth. After it the full-text index is committed and its reached
`seq` noted; what lies between is replayed at the next start (`ingest.replay`).
"""

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import aiosqlite
import structlog

from bridge.embed import Embedder
from bridge.embed.cache import EmbeddingCache
from bridge.feed import Feed
from bridge.ingest.embedding import Embedding
from bridge.ingest.prepare import VERSION, prepare, revision_of
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
from bridge.stores.fulltext import ChunkDoc, Fulltext
from bridge.stores.notes import ChunkDiff, Known, Prepared
from bridge.stores.pins import Pins
from bridge.stores.embeddings import Embeddings, Vector

log = structlog.get_logger(__name__)

ESTIMATED_WINDOW = 192
"""Window of chunks, in estimated tokens, while no model counts them."""

_COMMIT_AFTER_CHUNKS = 4000


@dataclass(frozen=True, slots=True)
class _Batch:
    """The last word on each path of one call."""

    upserted: dict[NoteId, Upserted]
    touched: list[tuple[NotePath, int, int]]
    deleted: dict[NoteId, Deleted]
    failed: list[Failed]
    attachments: list[Attachment]

    @classmethod
    def of(cls, changes: Sequence[NoteChange]) -> "_Batch":
        batch = cls({}, [], {}, [], [])
        last = {change.path: change for change in changes}
        for path, change in last.items():
            match change:
                case Upserted():
                    batch.upserted[note_id(path)] = change
                case Touched():
                    batch.touched.append((path, change.modified_ns, change.size))
                case Deleted():
                    batch.deleted[note_id(path)] = change
                case Failed():
                    batch.failed.append(change)
                case Attachment():
                    batch.attachments.append(change)
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
        self._turn = asyncio.Lock()
        self._uncommitted = 0
        self._reached_seq = 0
        self.generation = 0
        """Grows with every change of what is stored; caches of visible notes hang on it."""
        self.logging_changes = True
        """Off while an index is filled for the first time: those notes are not news."""

    @property
    def shapes(self) -> tuple[str, ...]:
        """The shapes of rows that are up to date; without a model those of its absence are too."""
        identity = self._embedding.identity
        made = (_shape(identity),) if identity else ()
        return made if self._embedding.embedder else (*made, _shape(None))

    async def stamps(self, paths: Collection[NotePath] | None = None) -> dict[NotePath, Stamp]:
        """What the index knows of these paths and all below them (None: of all), for a source to compare with."""
        return await notes.stamps(self._db, self.shapes, paths)

    async def distrust(self) -> None:
        """Take every row for one of an older shape, so that the sources deliver all notes again."""
        async with self._turn, self._db.write() as tx:
            await tx.execute("UPDATE notes SET shape = ''")

    async def idle(self) -> None:
        """Wait until nothing is being stored."""
        async with self._turn:
            return

    async def apply(self, changes: Sequence[NoteChange], *, more: bool = False) -> None:
        """Store a batch; `more` says that another follows at once, so that commits can wait."""
        if not changes and not self._uncommitted:
            return
        await asyncio.shield(self._in_turn(_Batch.of(changes), more=more))

    async def _in_turn(self, batch: _Batch, *, more: bool) -> None:
        async with self._turn:
            await self._apply(batch, more=more)

    async def _apply(self, batch: _Batch, *, more: bool) -> None:
        if batch.upserted:
            await self._embedding.decided.wait()
        embedder = self._embedding.embedder
        revisions = {
            id_: revision
            for id_, revision in zip(
                batch.upserted, await asyncio.to_thread(_revisions, [*batch.upserted.values()]), strict=True
            )
        }
        old = await self._known([*batch.upserted, *batch.deleted])
        changed = [
            id_
            for id_ in batch.upserted
            if id_ not in old or old[id_].revision != revisions[id_] or old[id_].shape not in self.shapes
        ]
        for id_ in batch.upserted.keys() - set(changed):
            change = batch.upserted[id_]
            batch.touched.append((change.path, change.modified_ns, len(change.content)))
        prepared = await asyncio.to_thread(
            prepare,
            [batch.upserted[id_] for id_ in changed],
            [revisions[id_] for id_ in changed],
            embedder.count_tokens if embedder else None,
            embedder.window if embedder else ESTIMATED_WINDOW,
        )
        gone = [id_ for id_ in batch.deleted if id_ in old]
        diff, cached = await self._store(batch, prepared, gone, embedder)
        owners = {id_: owner for id_, owner, _ in diff.fresh}
        await asyncio.to_thread(
            self._embeddings.refresh, diff.gone, [(id_, owners[id_], vector) for id_, vector in cached.items()]
        )
        await self._index_words(prepared, gone, more=more)
        self.generation += 1
        await self._tell(batch, prepared, gone, old)
        if len(cached) < len(diff.fresh):
            self._embedding.wake()

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
            await notes.forget_failures(tx, [change.path for change in (*batch.upserted.values(), *batch.deleted.values())])
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

    async def _index_words(self, prepared: Sequence[Prepared], gone: Sequence[NoteId], *, more: bool) -> None:
        if not (prepared or gone or self._uncommitted):
            return

        def work() -> bool:
            for id_ in gone:
                self._fulltext.remove(id_)
            for item in prepared:
                self._fulltext.replace(item.id, _docs(item))
                self._uncommitted += len(item.chunks)
            if more and self._uncommitted < _COMMIT_AFTER_CHUNKS:
                return False
            self._fulltext.commit()
            self._uncommitted = 0
            return True

        if await asyncio.to_thread(work):
            async with self._db.write() as tx:
                await notes.put_meta(tx, "fulltext_seq", str(self._reached_seq))
                await tx.execute("DELETE FROM removals WHERE seq <= ?", (self._reached_seq,))

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
                LoggedChange(now, note.path, note.title, note.kind, change, item.origin, item.revision, moved_from)
            )
            self._feed.publish("indexed", path=note.path, revision=item.revision, change=change)
        for left in vanished.values():
            for id_ in left:
                was, gone_ = old[id_], batch.deleted[id_]
                entries.append(LoggedChange(now, gone_.path, was.title, was.kind, "deleted", gone_.origin))
        for id_ in gone:
            self._feed.publish("removed", path=batch.deleted[id_].path)
        if self.logging_changes:
            await changelog.append(self._state, entries)
        if prepared or gone:
            log.info("ingest.stored", notes=len(prepared), removed=len(gone), unchanged=len(batch.touched))


def _shape(identity: str | None) -> str:
    """Name the parser, the chunker and the model that counted its tokens."""
    return f"{VERSION}:{identity or 'estimate'}"


def _revisions(changes: Sequence[Upserted]) -> list[Revision]:
    return [revision_of(change.content) for change in changes]


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
