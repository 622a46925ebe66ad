"""The bridge: its parts wired by name, and the verbs that REST, the page and the commands share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Self

import structlog

from bridge import __version__
from bridge.answers import (
    EmbeddingStatus,
    FilesStatus,
    GraphLinks,
    Neighbors,
    NoteMap,
    NoteStatus,
    NoteSummary,
    NoteView,
    PluginStatus,
    RecentChange,
    RelatedAnswer,
    SearchAnswer,
    Sources,
    Status,
    Unresolved,
)
from bridge.background import Background
from bridge.data import VECTORS
from bridge.embed import open_embedder
from bridge.errors import NotFound, Unavailable
from bridge.feed import Feed
from bridge.ingest.embedding import Embedding
from bridge.ingest.pipeline import Pipeline
from bridge.ingest.replay import replay
from bridge.model import OWNER, Filter, Mode, NotePath, Scope
from bridge.paths import is_note, note_id
from bridge.search import browse
from bridge.search.browse import Browse
from bridge.search.counts import Counts
from bridge.search.graph import Graph
from bridge.search.related import Related
from bridge.search.search import Search
from bridge.search.visible import Visible, scope_matcher
from bridge.settings import Settings, data_dir, models_dir
from bridge.sources.events import EventsSource
from bridge.sources.files import FilesSource
from bridge.stores import notes as note_rows
from bridge.stores.embeddings import Embeddings
from bridge.stores.opened import Stores
from bridge.stores.pins import Pin, Pins
from bridge.vault.reader import FileOnDisk, VaultReader
from bridge.vault.writer import VaultWriter

log = structlog.get_logger(__name__)

_HOUSEKEEPING_S = 6 * 3600
_LOOKED = ("watching", "polling")
"""States of the files source that follow a look through the whole vault."""
_POLL_S = 0.02


class Bridge:
    """Everything that serves one vault; open it with `Bridge.open`.

    Verbs take the `scope` of the key that asks, and answer as if nothing outside it existed.
    """

    version = __version__

    def __init__(self, settings: Settings, stores: Stores) -> None:
        root = settings.vault.root
        db, state = stores.index, stores.state
        embeddings = Embeddings(stores.folder / VECTORS)
        pins = Pins(state.db)
        self.settings = settings
        self.state = state
        self.keys = stores.keys
        self.feed = Feed()
        self.reader = VaultReader(root)
        self.writer = VaultWriter(root, state, self._why_held)
        self._db = db
        self._fulltext = stores.fulltext
        self._cache = stores.cache
        self._embedding = Embedding(
            settings.embedding.model,
            lambda: open_embedder(settings.embedding, models_dir()),
            db,
            embeddings,
            stores.cache,
            self.feed,
            on_adopted=self._look_again,
        )
        self._pipeline = Pipeline(
            db, state.db, stores.fulltext, embeddings, stores.cache, pins, self.feed, self._embedding
        )
        self._files = FilesSource(
            root,
            self._pipeline.stamps,
            include=settings.vault.include,
            exclude=settings.vault.exclude,
            origin_of=self.writer.origin_of,
        )
        self.events = EventsSource(
            index=db,
            state=state.db,
            reader=self.reader,
            writer=self.writer,
            files=self._files,
            apply=self._pipeline.apply,
            feed=self.feed,
            pull_only=settings.livesync.mode == "pull",
        )
        self._visible = Visible(db, lambda: self._pipeline.generation)
        self._counts = Counts(
            db,
            self._visible,
            embeddings,
            self._embedding,
            lambda: self._pipeline.generation + embeddings.generation,
        )
        self._browse = Browse(db, state.db, self._visible)
        self._graph = Graph(db)
        self._pins = pins
        self._search = Search(
            settings.vault.name,
            db,
            stores.fulltext,
            embeddings,
            self._embedding,
            self._graph,
            self._visible,
            self._counts,
        )
        self._related = Related(
            settings.vault.name, db, stores.fulltext, embeddings, self._embedding, self._graph, pins
        )
        self._background = Background()

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings) -> AsyncIterator[Self]:
        """Hold the data folder and open all stores; nothing is indexed until `start` or `index`.

        Raises `InstallationError` when the folder is held, not writable or of a newer version.
        """
        async with Stores.open(data_dir(settings)) as stores:
            bridge = cls(settings, stores)
            await bridge._embedding.recall()
            await bridge._pipeline.recall()
            await replay(stores.index, stores.fulltext)
            await bridge.writer.recover()
            try:
                yield bridge
            finally:
                await bridge._close()

    def start(self) -> None:
        """Follow the sources and embed in the background, until the bridge is closed."""
        self._background.run("embedding", self._embedding.run)
        self._background.run("files", self._follow_files)
        self._background.run("housekeeping", self._keep_house)

    async def damaged(self) -> None:
        """Wait until a derived database is found damaged; closed and opened again, it is built anew."""
        events = (self._db.damaged, self._cache.db.damaged)
        waits = [asyncio.create_task(event.wait()) for event in events]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def refresh(self) -> None:
        """Look at the vault once, and wait until the model is ready or known to be out of reach."""
        self._background.run("embedding", self._embedding.run)
        await self._embedding.decided.wait()
        await self._pipeline.follow(self._files.scan())
        if self._files.status().state != "held":
            await self._pipeline.fill_ended()
        while not (self._embedding.settled or self._embedding.trouble):
            await asyncio.sleep(_POLL_S)

    async def index(self) -> None:
        """Bring the index up to date, embeddings included; raises what keeps the embeddings from it."""
        await self.refresh()
        while not self._embedding.settled or (await self._counts.embedded(OWNER, exact=True)).pending:
            if self._embedding.trouble:
                raise self._embedding.trouble
            await asyncio.sleep(_POLL_S)

    async def rebuild(self, *, embeddings: bool = False) -> None:
        """Prepare and store every note again, while searches go on with what is there.

        With `embeddings` the cached ones are thrown away too.
        """
        if embeddings:
            await self._cache.clear()
            async with self._db.write() as tx:
                await note_rows.forget_embeddings(tx)
        await self._pipeline.distrust()
        self._look_again()

    def _is_settled(self, files: FilesStatus) -> bool:
        pipeline = self._pipeline
        return files.state in _LOOKED and self._embedding.settled and pipeline.filled and not pipeline.busy

    def _files_status(self) -> FilesStatus:
        """How the files source is; held while what it delivers cannot be stored."""
        fault = self._background.trouble("files")
        return FilesStatus("held", fault) if fault else self._files.status()

    def _why_held(self) -> str | None:
        status = self._files_status()
        return status.reason if status.state == "held" else None

    async def _close(self) -> None:
        self.feed.close()
        await self._background.close()
        await self.writer.close()
        await self._pipeline.idle()
        await self._embedding.close()

    def _look_again(self) -> None:
        """Begin the files source anew, so that it looks at everything."""
        if self._background.runs("files"):
            self._files.begin_anew()
            self._background.run("files", self._follow_files)

    async def _follow_files(self) -> None:
        await self._pipeline.follow(self._files.watch())

    async def _keep_house(self) -> None:
        while self._files.status().state not in _LOOKED:
            await asyncio.sleep(_POLL_S)
        await self._pipeline.fill_ended()
        while True:
            if self._embedding.identity:
                await self._cache.prune(self._embedding.identity)
            await self.state.prune(self.settings.data.keep_days, self.settings.data.keep_mb)
            await asyncio.sleep(_HOUSEKEEPING_S)

    # --- verbs ---------------------------------------------------------------------------

    async def search(
        self,
        query: str,
        *,
        limit: int = 10,
        mode: Mode = "hybrid",
        filter: Filter = Filter(),
        deadline_ms: float | None = None,
        scope: Scope = OWNER,
    ) -> SearchAnswer:
        """Find notes by words, by meaning and by their links."""
        return await self._search.search(
            query, limit=limit, mode=mode, filter=filter, deadline_ms=deadline_ms, scope=scope
        )

    async def related(
        self,
        *,
        path: NotePath | None = None,
        text: str | None = None,
        limit: int = 10,
        min_score: float | None = None,
        exclude_linked: bool = False,
        exclude_same_folder: bool = False,
        scope: Scope = OWNER,
    ) -> RelatedAnswer:
        """List the notes that belong to a note or a text, and why; raises `NotFound`."""
        hits = await self._related.related(
            path=path,
            text=text,
            limit=limit,
            min_score=min_score,
            exclude_linked=exclude_linked,
            exclude_same_folder=exclude_same_folder,
            notes=await self._visible.notes(scope),
        )
        return RelatedAnswer(path, hits, await self._counts.coverage(scope))

    async def graph_links(self, path: NotePath, *, scope: Scope = OWNER) -> GraphLinks:
        """List a note's links, backlinks and unresolved targets; raises `NotFound`."""
        return await self._graph.links(path, scope_matcher(scope))

    async def neighbors(self, path: NotePath, depth: int = 2, *, scope: Scope = OWNER) -> Neighbors:
        """List the notes within `depth` links of a note, both ways; raises `NotFound`."""
        return await self._graph.neighbors(path, depth, await self._visible.notes(scope))

    async def unresolved(self, limit: int = 100, *, scope: Scope = OWNER) -> tuple[Unresolved, ...]:
        """List link targets that no note or file has, the most wanted first."""
        return await self._graph.unresolved(limit, await self._visible.notes(scope))

    async def orphans(self, limit: int = 100, *, scope: Scope = OWNER) -> tuple[NoteSummary, ...]:
        """List notes that no other links to and that link to none."""
        return await self._graph.orphans(limit, await self._visible.notes(scope))

    async def pin(self, path: NotePath, other: NotePath, state: Pin | None, *, scope: Scope = OWNER) -> None:
        """Remember what the person said of a related note; raises `NotFound`."""
        sees = scope_matcher(scope)
        known = await note_rows.paths_of(self._db, [note_id(path), note_id(other)])
        for one in (path, other):
            if one not in known or not sees(one):
                raise browse.missing(one)
        await self._pins.set(path, other, state)

    async def note(self, path: NotePath, *, scope: Scope = OWNER) -> NoteView:
        """Show a note of the vault; raises `NotFound`."""
        file = await self.file(path, scope=scope)
        return await browse.view(self._db, path, file, scope_matcher(scope))

    async def file(self, path: NotePath, *, scope: Scope = OWNER) -> FileOnDisk:
        """Read the file of a note; raises `NotFound`."""
        if not is_note(path) or not scope_matcher(scope)(path):
            raise browse.missing(path)
        return await self.reader.read(path)

    async def notes(
        self,
        *,
        folder: str | None = None,
        tag: str | None = None,
        modified_after_ns: int | None = None,
        limit: int = 50,
        cursor: str | None = None,
        scope: Scope = OWNER,
    ) -> tuple[tuple[NoteSummary, ...], str | None]:
        """List notes in path order, one page; the cursor of the last page is None."""
        return await self._browse.notes(
            folder=folder,
            tag=tag,
            modified_after_ns=modified_after_ns,
            limit=limit,
            cursor=cursor,
            scope=scope,
        )

    async def note_map(self, path: NotePath, *, scope: Scope = OWNER) -> NoteMap:
        """Say what a note is made of; raises `NotFound`."""
        return await self._browse.map(path, scope)

    async def recent(
        self,
        *,
        since_ns: int | None = None,
        until_ns: int | None = None,
        limit: int = 50,
        scope: Scope = OWNER,
    ) -> tuple[RecentChange, ...]:
        """List changes, newest first."""
        return await self._browse.recent(since_ns=since_ns, until_ns=until_ns, limit=limit, scope=scope)

    async def status(self, scope: Scope = OWNER) -> Status:
        """Say what is indexed, what waits, and how the sources are."""
        embedded = await self._counts.embedded(scope, exact=True)
        files = self._files_status()
        trouble = self._embedding.trouble
        state = self._embedding.state
        return Status(
            vault=await self._counts.vault(scope),
            embedding=EmbeddingStatus(
                model=self.settings.embedding.model,
                dimensions=self._embedding.dimensions,
                embedded=embedded.embedded,
                pending=embedded.pending,
                state="embedding" if state == "ready" and embedded.pending else state,
                reason=trouble.message if trouble else None,
            ),
            coverage=await self._counts.coverage(scope),
            settled=self._is_settled(files) and not embedded.pending,
            sources=Sources(files=files, plugin=PluginStatus(await self.events.devices.list())),
        )

    async def note_status(self, path: NotePath, scope: Scope = OWNER) -> NoteStatus:
        """Say for one note whether it is indexed, and why not."""
        found = await self._browse.indexed(path) if scope_matcher(scope)(path) else None
        if found is None and not await self._is_there(path, scope):
            return NoteStatus(path, "absent")
        if not self._files.covers(path):
            return NoteStatus(path, "excluded", self._files.rule(path))
        if failure := await note_rows.failure_of(self._db, path):
            return NoteStatus(path, "failed", failure)
        if found is None:
            return NoteStatus(path, "waiting", "It will be indexed shortly.")
        if found.pending and not self._embedding.off:
            return replace(found, state="waiting", reason="Found by words; its embeddings wait.")
        return found

    async def _is_there(self, path: NotePath, scope: Scope) -> bool:
        try:
            await self.file(path, scope=scope)
        except NotFound:
            return False
        except Unavailable:
            return True
        return True
