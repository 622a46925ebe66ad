"""The full-text index: a tantivy folder whose documents (`stores.documents`) are ranked by BM25.

All of it is derived: a folder that does not fit is begun anew.
"""

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, cast

import structlog
import tantivy
from tantivy import Occur, Query, Searcher

from bridge.errors import Unavailable
from bridge.language import language_of
from bridge.model import ChunkId, NoteId, ParsedQuery
from bridge.offloop import assert_off_loop
from bridge.stores.documents import ChunkDoc, documents, schema
from bridge.stores.weighing import Word, telling_terms, weigh
from bridge.words import exact_terms, literal

log = structlog.get_logger(__name__)

_VERSION: Final = 3
"""Raised whenever the fields, or the terms of the same text, change."""
_HEAP_BYTES: Final = 20_000_000
_Scored = tuple[float, tantivy.DocAddress]
"""A document found, as tantivy gives it: its BM25 first."""

_NAME_BOOST: Final = 0.25
_MOST_LANGUAGES: Final = 5
_FEW_NOTES: Final = 1000
"""Up to so many notes to search among go into the query; of more, it takes long to build."""
_MOST_FILTERED: Final = 4000
"""So many hits are filtered for more notes than that, before they go into the query after all."""


@dataclass(frozen=True, slots=True)
class KeywordHit:
    """A note's best chunk for a query; `score` is how much of the query it carries, 0..1."""

    chunk_id: ChunkId
    note_id: NoteId
    bm25: float
    score: float


@dataclass(frozen=True, slots=True)
class _Tree:
    """A query for tantivy, and the BM25 of a chunk in which all its words are frequent."""

    query: Query
    ideal: float


class Fulltext:
    """A folder of tantivy segments; searching is thread-safe, changes come from one thread at a time."""

    def __init__(self, index: tantivy.Index, owner: Path, stamp: str, *, fresh: bool) -> None:
        self._index = index
        self._owner = owner
        self._stamp = stamp
        self._schema = index.schema
        self.fresh = fresh
        """Whether this index began empty and wants every note; until a commit, also after a crash."""
        self._writer: tantivy.IndexWriter | None = None
        self._changed: set[NoteId] = set()
        self._languages: tuple[str, ...] = ()
        self._reload()

    @classmethod
    def open(cls, folder: Path, instance: str) -> "Fulltext":
        """Open the index of this `instance`; begin one where there is none, another's or a broken one."""
        assert_off_loop()
        owner = folder / "instance"
        stamp = f"{_VERSION} {instance}"
        try:
            if owner.read_text("utf-8") == stamp:
                return cls(tantivy.Index.open(str(folder)), owner, stamp, fresh=False)
        except (OSError, ValueError) as error:  # tantivy's errors are ValueErrors
            if folder.exists():
                log.info("fulltext.begun_anew", path=str(folder), reason=str(error))
        shutil.rmtree(folder, ignore_errors=True)
        folder.unlink(missing_ok=True)
        with _explained():
            folder.mkdir(parents=True)
            return cls(tantivy.Index(schema(), path=str(folder)), owner, stamp, fresh=True)

    def replace(self, note_id: NoteId, docs: Iterable[ChunkDoc]) -> None:
        """Put a note's chunks in place of those that it had."""
        self.remove(note_id)
        self.add(note_id, docs)

    def add(self, note_id: NoteId, docs: Iterable[ChunkDoc]) -> None:
        """Put the chunks of a note in that has none here."""
        assert_off_loop()
        with _explained():
            for document in documents(docs):
                self._writing().add_document(document)
        self._changed.add(note_id)

    def remove(self, note_id: NoteId) -> None:
        """Take a note's chunks out."""
        assert_off_loop()
        mine = Query.term_query(self._schema, "note_id", note_id)
        with _explained():
            if note_id in self._changed or self._index.searcher().search(mine, 1, count=False).hits:
                # Not delete_documents_by_term: that takes the id for a signed number and finds none.
                self._writing().delete_documents_by_query(mine)

    def commit(self) -> None:
        """Make the changes durable and visible to searches."""
        assert_off_loop()
        if self._writer is not None:
            with _explained():
                self._writer.commit()
                if self.fresh:
                    self._owner.write_text(self._stamp, "utf-8")
            self.fresh = False
            self._changed.clear()
            self._reload()

    def rollback(self) -> None:
        """Forget the changes since the last commit."""
        assert_off_loop()
        self._changed.clear()
        if self._writer is not None:
            try:
                self._writer.rollback()
            except ValueError:  # a full disk ended its threads: the next change gets another writer
                self._writer = None

    def close(self) -> None:
        """Let merges end and free the folder; changes without a commit are lost."""
        assert_off_loop()
        self.rollback()
        if self._writer is not None:
            self._writer.wait_merging_threads()
            self._writer = None

    def search(self, query: ParsedQuery, k: int, notes: Collection[NoteId] | None = None) -> list[KeywordHit]:
        """Rank the `k` best notes, among `notes` if given, each by its best chunk.

        Any word ranks. What must stand or must not is `restrict`'s, which narrows `notes`.
        """
        assert_off_loop()
        tree = self._tree(query)
        return self._ranked(self._index.searcher(), tree, k, notes) if tree else []

    def alike(
        self,
        counts: Mapping[str, int],
        own: Mapping[str, int],
        k: int,
        notes: Collection[NoteId] | None = None,
    ) -> tuple[tuple[str, ...], list[KeywordHit]]:
        """Rank the `k` notes that share most of the words by which a text is told from others.

        `counts` says how often the text has each term, `own` in how many chunks the text itself
        is here: a term that no other chunk has tells nothing of others. Gives those words too,
        the most telling first.
        """
        assert_off_loop()
        searcher = self._index.searcher()
        telling, ideal = telling_terms(searcher, counts, own)
        if not telling:
            return (), []
        query = Query.boolean_query(
            [(Occur.Should, self._term("text", one.term, one.weight)) for one in telling]
        )
        hits = self._ranked(searcher, _Tree(query, ideal), k, notes)
        return tuple(one.term for one in telling), hits

    def count_of(self, name: str) -> int:
        """Count the chunks in which a name stands as it stands."""
        assert_off_loop()
        words = literal(name).split()
        searcher = self._index.searcher()
        if len(words) < 2:
            return searcher.doc_freq("literal", words[0]) if words else 0
        count: int = searcher.search(self._phrase(words), 1, count=True).count  # type: ignore[attr-defined]
        return count

    def naming(self, name: str, k: int) -> frozenset[NoteId]:
        """Find the notes of `k` chunks in which a name stands as it stands."""
        assert_off_loop()
        words = literal(name).split()
        searcher = self._index.searcher()
        found = searcher.search(self._phrase(words), k, count=False).hits if words else []
        return frozenset(NoteId(id_) for id_ in _values(searcher, "note_id", found))

    @property
    def chunks(self) -> int:
        """How many chunks can be found."""
        return self._index.searcher().num_docs

    def restrict(
        self, query: ParsedQuery, notes: frozenset[NoteId] | None = None
    ) -> frozenset[NoteId] | None:
        """Narrow `notes` to those that have every phrase of a query and nothing that it leaves out."""
        assert_off_loop()
        searcher = self._index.searcher()
        for standing in self._standing(query.phrases):
            having = self._notes_with(searcher, standing)
            notes = having if notes is None else notes & having
        for standing in self._standing(query.without):
            every = self._notes_with(searcher, Query.all_query()) if notes is None else notes
            notes = every - self._notes_with(searcher, standing)
        return notes

    def query_terms(self, query: ParsedQuery) -> frozenset[str]:
        """Give the terms that rank in a query, to highlight by."""
        assert_off_loop()
        return frozenset(term for word in self._weighed(query) for term, _ in word.counted)

    def language_of(self, query: ParsedQuery) -> str:
        """Guess a query's language; most chunks' where it does not tell, empty where they do not either."""
        return language_of(query.text) or next(iter(self._languages), "")

    def _weighed(self, query: ParsedQuery) -> list[Word]:
        """Weigh a query's words, in the language it seems to be in and in those of most chunks."""
        languages = dict.fromkeys((language_of(query.text), *self._languages, ""))
        return weigh(self._index.searcher(), query.text, languages)

    def _tree(self, query: ParsedQuery) -> _Tree | None:
        """Build the query: each word may match, in the texts and in the name."""
        words = self._weighed(query)
        clauses = [
            (Occur.Should, self._term(field, term, word.weight * boost))
            for word in words
            for term, count in word.counted
            if count
            for field, boost in (("around", 1.0), ("name", _NAME_BOOST))
        ]
        if not clauses:
            return None
        clauses.extend((Occur.Should, standing) for standing in self._standing(query.phrases))
        return _Tree(Query.boolean_query(clauses), sum(word.ideal for word in words))

    def _ranked(
        self, searcher: Searcher, tree: _Tree, k: int, notes: Collection[NoteId] | None
    ) -> list[KeywordHit]:
        """Run a query until it has given the best chunks of `k` notes, or all that there are."""
        if notes is not None and not notes:
            return []
        wanted, limit = tree.query, 2 * k
        if notes is not None and len(notes) <= _FEW_NOTES:
            wanted, notes = self._among(notes, wanted), None
        while True:
            found = searcher.search(wanted, limit, count=False).hits
            best = _best_of_notes(searcher, found, notes)
            if len(best) >= k or len(found) < limit:
                return _hits(searcher, list(islice(best.values(), k)), tree.ideal)
            limit *= 4
            if notes is not None and limit > _MOST_FILTERED:
                wanted, notes, limit = self._among(notes, wanted), None, 2 * k

    def _among(self, notes: Collection[NoteId], query: Query) -> Query:
        """Narrow a query to some notes without changing its scores."""
        among = Query.term_set_query(self._schema, "note_id", [*notes])
        return Query.boolean_query([(Occur.Must, query), (Occur.Must, Query.const_score_query(among, 0.0))])

    def _term(self, field: str, term: str, weight: float) -> Query:
        return Query.boost_query(Query.term_query(self._schema, field, term, "freq"), weight)

    def _standing(self, phrases: Iterable[str]) -> Iterator[Query]:
        """Look for phrases as they stand: their words in order, and odd tokens with all their signs."""
        for phrase in phrases:
            if words := literal(phrase).split():
                odd = (
                    Query.term_query(self._schema, "text", term, "freq")
                    for term in exact_terms(phrase).split()
                )
                yield Query.boolean_query([(Occur.Must, part) for part in (self._phrase(words), *odd)])

    def _phrase(self, words: Sequence[str]) -> Query:
        if len(words) == 1:
            return Query.term_query(self._schema, "literal", words[0], "freq")
        return Query.phrase_query(self._schema, "literal", [*words])

    def _notes_with(self, searcher: Searcher, query: Query) -> frozenset[NoteId]:
        if not searcher.num_docs:
            return frozenset()
        found = searcher.search(Query.const_score_query(query, 1.0), searcher.num_docs, count=False).hits
        return frozenset(NoteId(id_) for id_ in _values(searcher, "note_id", found))

    def _writing(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(_HEAP_BYTES, 1)
        return self._writer

    def _reload(self) -> None:
        self._index.reload()
        counts = self._index.searcher().terms_with_prefix("language", "")
        commonest = sorted(counts, key=lambda pair: -pair[1])[:_MOST_LANGUAGES]
        self._languages = tuple(language for language, _ in commonest)


@contextmanager
def _explained() -> Iterator[None]:
    """Say what it means that the folder cannot be written; tantivy's errors are ValueErrors."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise Unavailable(
            "The full-text index cannot be written; nothing was lost. "
            "Free some space on the disk, or make the data folder writable, and the work goes on by itself.",
            key="fulltext_not_writable",
            retry_after_s=30,
            detail=str(error),
        ) from error


def _best_of_notes(
    searcher: Searcher, found: Sequence[_Scored], notes: Collection[NoteId] | None
) -> dict[NoteId, _Scored]:
    best: dict[NoteId, _Scored] = {}
    for note_id, scored in zip(_values(searcher, "note_id", found), found, strict=True):
        if note_id not in best and (notes is None or note_id in notes):
            best[NoteId(note_id)] = scored
    return best


def _hits(searcher: Searcher, best: Sequence[_Scored], ideal: float) -> list[KeywordHit]:
    ids = zip(_values(searcher, "chunk_id", best), _values(searcher, "note_id", best), strict=True)
    return [
        KeywordHit(ChunkId(chunk_id), NoteId(note_id), bm25, min(1.0, bm25 / ideal))
        for (bm25, _), (chunk_id, note_id) in zip(best, ids, strict=True)
    ]


def _values(searcher: Searcher, field: str, found: Sequence[_Scored]) -> list[int]:
    return cast("list[int]", searcher.fast_field_values(field, [address for _, address in found]))
