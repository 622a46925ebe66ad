"""Related notes: every signal brings in notes, what speaks for each is summed, and said.

Nothing here calls the model for a note that is stored; a free text is embedded once.
"""

import asyncio
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bridge.answers import RelatedHit
from bridge.errors import TransomError
from bridge.ingest.embedding import Embedding
from bridge.language import function_words, language_of
from bridge.model import ChunkId, NoteId, NotePath
from bridge.paths import note_id
from bridge.search.browse import missing
from bridge.search.graph import Graph
from bridge.search.likeness import Likeness, SharedTags
from bridge.search.mentions import Mentions
from bridge.search.search import open_url
from bridge.search.visible import NoteSet
from bridge.stores.database import Database, Row
from bridge.stores.embeddings import Embeddings
from bridge.stores.fulltext import Fulltext, KeywordHit
from bridge.stores.pins import Pins
from bridge.stores.vectors import Vector, Vectors
from bridge.words import highlights, terms

_DEPTH = 60
"""Notes that meaning and words each bring in."""
_MOST_CHUNKS = 200
_NAME_COUNTS = 3
"""A word of a note's names counts as so many of its text."""
_MOST_TAGGED = 500
_UNKNOWN_LANGUAGE = 0.25
"""What the cosine of a model counts that does not know the source's language."""
_MOST_WORDS_SHOWN = 5
_ADDRESS = re.compile(r"\bhttps?://[^\s<>)\]]+")
"""Where something lies on the web tells little of what it is about."""


@dataclass(frozen=True, slots=True)
class _Source:
    """What related notes are wanted for: a note, or a free text with neither id nor path."""

    texts: tuple[str, ...]
    language: str
    id: NoteId | None = None
    path: NotePath | None = None
    names: tuple[str, ...] = ()
    mean: Vector | None = None
    vectors: Vectors = field(default_factory=lambda: np.empty((0, 0), np.float32))


class Related:
    """Answers from the stores which notes belong to a note or a text."""

    def __init__(
        self,
        vault_name: str,
        db: Database,
        fulltext: Fulltext,
        embeddings: Embeddings,
        embedding: Embedding,
        graph: Graph,
        pins: Pins,
    ) -> None:
        self._vault_name = vault_name
        self._db = db
        self._fulltext = fulltext
        self._embeddings = embeddings
        self._embedding = embedding
        self._graph = graph
        self._mentions = Mentions(db, fulltext)
        self._pins = pins

    async def related(
        self,
        *,
        path: NotePath | None,
        text: str | None,
        limit: int,
        min_score: float | None,
        exclude_linked: bool,
        exclude_same_folder: bool,
        notes: NoteSet,
    ) -> tuple[RelatedHit, ...]:
        """List the notes, among `notes` if given, that belong to a note or a text; the pinned come first.

        Raises `NotFound`.
        """
        source = await (self._note(path, notes) if path is not None else self._text(text or ""))
        pins = await self._pins.of(source.path) if source.path else {}
        said = {note_id(other): state for other, state in pins.items()}
        pinned = [id_ for id_, state in said.items() if state == "pinned" and (notes is None or id_ in notes)]
        telling, found = await self._found(source, notes)
        wanted = {
            id_
            for id_, one in found.items()
            if one.tells
            and one.score >= (min_score or 0.0)
            and not (exclude_linked and one.tie.direction)
            and id_ not in said
        }
        if exclude_same_folder and source.path:
            wanted -= await self._beside(source.path, wanted)
        ranked = sorted(wanted, key=lambda id_: (-found[id_].score, id_))
        return await self._hits(source, [*pinned, *ranked][:limit], found, telling, pinned)

    # --- the source ----------------------------------------------------------------------

    async def _note(self, path: NotePath, notes: NoteSet) -> _Source:
        id_ = note_id(path)
        rows = await self._db.rows("SELECT language FROM notes WHERE id = ?", (id_,))
        if not rows or (notes is not None and id_ not in notes):
            raise missing(path)
        names = await self._db.rows("SELECT name FROM names WHERE note_id = ? ORDER BY kind DESC", (id_,))
        texts = await self._db.rows(
            "SELECT text FROM chunks WHERE note_id = ? ORDER BY ordinal LIMIT ?", (id_, _MOST_CHUNKS)
        )
        means, vectors = await asyncio.to_thread(
            lambda: (self._embeddings.means([id_]), self._embeddings.of(id_))
        )
        return _Source(
            texts=tuple(text for (text,) in texts),
            language=rows[0][0],
            id=id_,
            path=path,
            names=tuple(name for (name,) in names),
            mean=means.get(id_),
            vectors=vectors[:_MOST_CHUNKS],
        )

    async def _text(self, text: str) -> _Source:
        language = await asyncio.to_thread(language_of, text)
        embedder = self._embedding.embedder
        if embedder is None or self._embedding.missing or not text.strip():
            return _Source((text,), language)
        try:
            vector = await embedder.embed_query(text)
        except TransomError:  # then the words answer alone
            return _Source((text,), language)
        return _Source((text,), language, mean=vector, vectors=vector[None])

    # --- what speaks for each note -------------------------------------------------------

    async def _found(self, source: _Source, notes: NoteSet) -> tuple[tuple[str, ...], dict[NoteId, Likeness]]:
        """Gather the signals; give the telling words of the source, and what speaks for each note."""
        near, (telling, alike), names, named, ties, tags = await asyncio.gather(
            self._near(source, _DEPTH, notes),
            asyncio.to_thread(self._alike, source, notes),
            self._mentions.of_others(source.texts, notes),
            self._mentions.of_names(source.names, notes),
            self._graph.ties(source.id, notes) if source.id is not None else _nothing(),
            self._tags(source.id, notes) if source.id is not None else _nothing(),
        )
        found: dict[NoteId, Likeness] = defaultdict(Likeness)
        for hit in alike:
            found[hit.note_id].words, found[hit.note_id].chunk_id = hit.score, hit.chunk_id
        for id_, mention in names.items():
            found[id_].names = mention
        for id_, mention in named.items():
            found[id_].is_named = mention
        for id_, tie in ties.items():
            found[id_].tie = tie
        for id_, shared in tags.items():
            found[id_].shared = shared
        further = frozenset(found.keys() - near.keys())
        weight = 1.0 if self._embedding.knows(source.language) else _UNKNOWN_LANGUAGE
        for id_, cosine in (near | await self._near(source, len(further), further)).items():
            found[id_].meaning = weight * cosine
        if source.id is not None:
            found.pop(source.id, None)
        return telling, dict(found)

    async def _near(self, source: _Source, k: int, notes: NoteSet) -> dict[NoteId, float]:
        if source.mean is None or not k:
            return {}
        return await asyncio.to_thread(self._embeddings.alike, source.mean, k, notes)

    def _alike(self, source: _Source, notes: NoteSet) -> tuple[tuple[str, ...], list[KeywordHit]]:
        counts: Counter[str] = Counter()
        own: Counter[str] = Counter()
        for text in source.texts:
            counts.update(terms(_ADDRESS.sub(" ", text), source.language).split())
            own.update(set(terms(text, source.language).split()))
        for term in terms("\n".join(source.names), source.language).split():
            counts[term] += _NAME_COUNTS
            own[term] = len(source.texts)
        for term in terms(function_words(source.language), source.language).split():
            counts.pop(term, None)
        return self._fulltext.alike(counts, own if source.id is not None else {}, _DEPTH, notes)

    async def _tags(self, id_: NoteId, notes: NoteSet) -> dict[NoteId, SharedTags]:
        """Give the notes that share a tag which not too many have."""
        rows = await self._db.rows(
            """
            WITH mine AS (SELECT folded, tag FROM tags WHERE note_id = ?1), spread AS (
                SELECT folded, count(*) AS notes FROM tags
                WHERE folded IN (SELECT folded FROM mine) GROUP BY folded HAVING count(*) <= ?2
            )
            SELECT tags.note_id, mine.tag, spread.notes, (SELECT count(*) FROM notes)
            FROM spread JOIN mine USING (folded) JOIN tags USING (folded) WHERE tags.note_id != ?1
            """,
            (id_, _MOST_TAGGED),
        )
        shared: dict[NoteId, list[str]] = defaultdict(list)
        weights: dict[NoteId, float] = defaultdict(float)
        for note, tag, having, everyone in rows:
            if notes is None or note in notes:
                shared[note].append(tag)
                weights[note] += math.log(everyone / having) / math.log(everyone)
        return {note: SharedTags(tuple(tags), min(1.0, weights[note])) for note, tags in shared.items()}

    async def _beside(self, path: NotePath, ids: Collection[NoteId]) -> set[NoteId]:
        folder = path.rpartition("/")[0]
        rows = await self._db.rows(
            "SELECT id, path FROM notes WHERE id IN (SELECT value FROM json_each(?))", (json.dumps([*ids]),)
        )
        return {NoteId(id_) for id_, other in rows if other.rpartition("/")[0] == folder}

    # --- the answer ----------------------------------------------------------------------

    async def _hits(
        self,
        source: _Source,
        ids: Sequence[NoteId],
        found: dict[NoteId, Likeness],
        telling: tuple[str, ...],
        pinned: Collection[NoteId],
    ) -> tuple[RelatedHit, ...]:
        likenesses = {id_: found.get(id_, Likeness()) for id_ in ids}
        means, nearest = await asyncio.to_thread(
            lambda: (self._embeddings.means(ids), self._embeddings.best_chunks(source.vectors, ids))
        )
        by_words = {
            id_: one.chunk_id for id_, one in likenesses.items() if one.chunk_id is not None and one.by_words
        }
        passages = await self._passages(ids, (nearest | by_words).values())
        notes = await self._notes_of({*ids}.union(*(one.tie.through for one in likenesses.values())))

        def hit(id_: NoteId, one: Likeness) -> RelatedHit:
            path, title, kind, language = notes[id_]
            passage, heading_path, first_line, last_line = passages[id_]
            cosine = None
            if source.mean is not None and id_ in means:
                cosine = min(1.0, max(0.0, float(means[id_] @ source.mean)))
            words = _standing(passage, telling, language, source.language)
            return RelatedHit(
                path=path,
                title=title,
                kind=kind,
                score=one.score,
                cosine=cosine,
                linked=one.tie.direction,
                pinned=id_ in pinned,
                passage=passage,
                heading_path=tuple(json.loads(heading_path)),
                lines=(first_line, last_line),
                why=one.why(cosine, words, {id_: note[0] for id_, note in notes.items()}),
                open_url=open_url(self._vault_name, path),
            )

        # A note may be gone since it was ranked.
        left = [(id_, one) for id_, one in likenesses.items() if id_ in notes and id_ in passages]
        return await asyncio.to_thread(lambda: tuple(hit(id_, one) for id_, one in left))

    async def _notes_of(self, ids: Collection[NoteId]) -> dict[NoteId, Row]:
        rows = await self._db.rows(
            "SELECT id, path, title, kind, language FROM notes WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps([*ids]),),
        )
        return {NoteId(row[0]): row[1:] for row in rows}

    async def _passages(self, ids: Collection[NoteId], chunks: Collection[ChunkId]) -> dict[NoteId, Row]:
        """Give each note's passage: the given chunk of it, else its first."""
        rows = await self._db.rows(
            "SELECT note_id, text, heading_path, first_line, last_line FROM chunks "
            "WHERE note_id IN (SELECT value FROM json_each(?1)) "
            "AND (ordinal = 0 OR id IN (SELECT value FROM json_each(?2))) ORDER BY ordinal",
            (json.dumps([*ids]), json.dumps([*chunks])),
        )
        return {NoteId(row[0]): row[1:] for row in rows}


def _standing(passage: str, telling: tuple[str, ...], *languages: str) -> tuple[str, ...]:
    """Give the telling words as they stand in a passage, one of each stem, the most telling first."""
    ranks = {term: rank for rank, term in enumerate(telling)}
    words: dict[int, str] = {}
    for language in languages:
        for start, end in highlights(passage, frozenset(telling), language):
            word = passage[start:end]
            found = (ranks[term] for term in terms(word, language).split() if term in ranks)
            words.setdefault(min(found, default=len(ranks)), word)
    return tuple(words[rank] for rank in sorted(words))[:_MOST_WORDS_SHOWN]


async def _nothing() -> dict[NoteId, Any]:
    return {}
