"""Search: each signal ranks apart, fusion makes one order, the best passage of each note answers."""

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote

from bridge.answers import Hit, MissingReason, MissingSignal, SearchAnswer, Signal
from bridge.embed import EndpointDown
from bridge.errors import TransomError
from bridge.ingest.embedding import Embedding
from bridge.model import ChunkId, Filter, Mode, NoteId, ParsedQuery, Scope
from bridge.search.counts import Counts
from bridge.search.fusion import DEPTH, Fused, fuse
from bridge.search.graph import Graph
from bridge.search.query import parse_query
from bridge.search.visible import NoteSet, Visible
from bridge.stores.database import Database, Row
from bridge.stores.embeddings import Embeddings, VectorHit
from bridge.stores.fulltext import Fulltext, KeywordHit
from bridge.times import rfc3339
from bridge.words import highlights

_GRAPH_SEEDS = 5
_GRAPH_HOPS = 2


@dataclass(frozen=True, slots=True)
class _Semantic:
    """The semantic ranking, best chunk of each note first, or why there is none."""

    hits: Sequence[VectorHit] = ()
    missing: MissingReason | None = None


_NOT_ASKED = _Semantic()


class Search:
    """Answers queries from the stores, within a scope."""

    def __init__(
        self,
        vault_name: str,
        db: Database,
        fulltext: Fulltext,
        embeddings: Embeddings,
        embedding: Embedding,
        graph: Graph,
        visible: Visible,
        counts: Counts,
    ) -> None:
        self._vault_name = vault_name
        self._db = db
        self._fulltext = fulltext
        self._embeddings = embeddings
        self._embedding = embedding
        self._graph = graph
        self._visible = visible
        self._counts = counts

    async def search(
        self, query: str, *, limit: int, mode: Mode, filter: Filter, deadline_ms: float | None, scope: Scope
    ) -> SearchAnswer:
        """Rank notes; what is not ready by the deadline is left out and named, words never are."""
        started = time.perf_counter()
        parsed = parse_query(query)
        notes = await self._visible.notes(scope, filter, parsed)
        if parsed.phrases or parsed.without:
            notes = await asyncio.to_thread(self._fulltext.restrict, parsed, notes)
        coverage = await self._counts.coverage(scope)
        if not parsed.text.strip():
            fused = await self._newest(notes, limit) if notes is not None else []
            return await self._answer(fused, parsed, (), (), coverage, started)
        depth = max(DEPTH, limit)
        meaning = asyncio.create_task(self._semantic(parsed, depth, notes)) if mode != "keyword" else None
        keyword: Sequence[KeywordHit] = ()
        try:
            if mode != "semantic":
                keyword = await asyncio.to_thread(self._fulltext.search, parsed, depth, notes)
            semantic = await _by(meaning, started, deadline_ms) if meaning else _NOT_ASKED
        finally:
            if meaning:
                meaning.cancel()  # a no-op unless the words failed, or the one who asked went away
        if mode == "semantic" and semantic.missing:
            keyword = await asyncio.to_thread(self._fulltext.search, parsed, depth, notes)
        graph = await self._neighbours(semantic.hits, notes) if mode == "hybrid" else {}
        fused = fuse(
            keyword, semantic.hits, graph, trusted=self._is_trusted(parsed), coverage=coverage or 0.0
        )[:limit]
        used: list[Signal] = []
        if mode != "semantic" or semantic.missing:
            used.append("keyword")
        if meaning and not semantic.missing:
            used += ["semantic", "graph"] if mode == "hybrid" else ["semantic"]
        missing = [MissingSignal("semantic", semantic.missing)] if semantic.missing else []
        if semantic.missing and mode == "hybrid":
            missing.append(MissingSignal("graph", semantic.missing))
        return await self._answer(fused, parsed, used, missing, coverage, started)

    async def _semantic(self, parsed: ParsedQuery, depth: int, notes: NoteSet) -> _Semantic:
        if reason := self._embedding.missing:
            return _Semantic(missing=reason)
        embedder = self._embedding.embedder
        assert embedder is not None
        try:
            vector = await embedder.embed_query(parsed.text)
        except EndpointDown:
            return _Semantic(missing="endpoint_down")
        except TransomError:
            return _Semantic(missing="no_model")
        return _Semantic(await asyncio.to_thread(self._embeddings.search, vector, depth, notes))

    def _is_trusted(self, parsed: ParsedQuery) -> bool:
        """Whether the model knows the query's language; where that is unclear, the notes' commonest one."""
        return self._embedding.knows(self._fulltext.language_of(parsed))

    async def _neighbours(self, semantic: Sequence[VectorHit], notes: NoteSet) -> dict[NoteId, int]:
        """Give the hops from the best semantic notes to the notes around them."""
        seeds = [hit.note_id for hit in semantic[:_GRAPH_SEEDS]]
        return await self._graph.expand(seeds, hops=_GRAPH_HOPS, notes=notes) if seeds else {}

    async def _newest(self, notes: NoteSet, limit: int) -> list[Fused]:
        """For a query of filters alone: what they let through, newest first."""
        rows = await self._db.rows(
            "SELECT n.id, c.id FROM notes n JOIN chunks c ON c.note_id = n.id AND c.ordinal = 0 "
            "WHERE n.id IN (SELECT value FROM json_each(?)) ORDER BY n.modified_ns DESC LIMIT ?",
            (json.dumps([*(notes or ())]), limit),
        )
        return [Fused(NoteId(note), ChunkId(chunk), 1.0, {}) for note, chunk in rows]

    async def _answer(
        self,
        fused: Sequence[Fused],
        parsed: ParsedQuery,
        used: Sequence[Signal],
        missing: Sequence[MissingSignal],
        coverage: float | None,
        started: float,
    ) -> SearchAnswer:
        hits = await self._hits(fused, parsed)
        took_ms = round((time.perf_counter() - started) * 1000, 2)
        return SearchAnswer(hits, tuple(used), tuple(missing), coverage, took_ms)

    async def _hits(self, fused: Sequence[Fused], parsed: ParsedQuery) -> tuple[Hit, ...]:
        chunks = [one.chunk_id for one in fused if one.chunk_id is not None]
        bare = [one.note_id for one in fused if one.chunk_id is None]
        rows = await self._db.rows(
            "SELECT n.id, n.path, n.title, n.kind, n.modified_ns, n.revision, n.language, "
            "c.heading_path, c.text, c.first_line, c.last_line FROM chunks c JOIN notes n ON n.id = c.note_id "
            "WHERE c.id IN (SELECT value FROM json_each(?)) "
            "OR c.ordinal = 0 AND c.note_id IN (SELECT value FROM json_each(?))",
            (json.dumps(chunks), json.dumps(bare)),
        )
        found = {row[0]: row[1:] for row in rows}
        # A note may be gone since it was ranked.
        left = [(one, found[one.note_id]) for one in fused if one.note_id in found]
        return await asyncio.to_thread(self._highlighted, left, parsed)

    def _highlighted(self, ranked: Sequence[tuple[Fused, Row]], parsed: ParsedQuery) -> tuple[Hit, ...]:
        terms = self._fulltext.query_terms(parsed)
        return tuple(self._hit(one, row, terms) for one, row in ranked)

    def _hit(self, one: Fused, row: Row, terms: frozenset[str]) -> Hit:
        path, title, kind, modified_ns, revision, language, heading_path, text, first_line, last_line = row
        return Hit(
            path=path,
            title=title,
            kind=kind,
            heading_path=tuple(json.loads(heading_path)),
            passage=text,
            highlights=highlights(text, terms, language),
            lines=(first_line, last_line),
            score=one.score,
            signals=one.signals,
            modified=rfc3339(modified_ns),
            revision=revision,
            open_url=open_url(self._vault_name, path),
        )


def open_url(vault_name: str, path: str) -> str:
    """Address a note in the Obsidian app (its `obsidian://open` scheme)."""
    return f"obsidian://open?vault={quote(vault_name, safe='')}&file={quote(path, safe='')}"


async def _by(meaning: asyncio.Task[_Semantic], started: float, deadline_ms: float | None) -> _Semantic:
    """Wait for the semantic ranking until the deadline, which counts from `started`."""
    left_s = None if deadline_ms is None else max(0.0, deadline_ms / 1000 - (time.perf_counter() - started))
    with suppress(TimeoutError):
        return await asyncio.wait_for(meaning, left_s)
    return _Semantic(missing="deadline")
