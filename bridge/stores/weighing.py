"""How much each word counts: for a query's words and for the words that tell a text from others.

Both start from the inverse document frequencies of tantivy's BM25.
"""

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tantivy import Searcher

from bridge.words import query_terms

_K1: Final = 1.2
"""tantivy's k1."""
_SATURATED: Final = _K1 + 1
"""What a word's part of BM25 tends to as it recurs, in units of its idf."""

_COMMON: Final = 0.15
"""A word whose idf is a smaller part of the query's highest than this ranks nothing."""
_MOST_WORDS: Final = 64
"""Of a query longer than this, the rarest words rank."""

_MOST_TELLING: Final = 15
_COMMON_PART: Final = 1 / 8
_FEW_CHUNKS: Final = 5
"""A term that more chunks have, and more than an eighth of all, tells nothing of a text."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query: the terms it may stand for with the chunks that have each, and its weight."""

    counted: Sequence[tuple[str, int]]
    idf: float
    weight: float

    @property
    def ideal(self) -> float:
        """Its part of the BM25 of a chunk that is full of it."""
        return self.weight * self.idf * _SATURATED


class Telling(NamedTuple):
    """A term that tells a text from others, with its part in the text's BM25 against itself."""

    value: float
    term: str
    weight: float
    saturation: float

    @property
    def ideal(self) -> float:
        return self.value * _SATURATED * self.saturation


def weigh(searcher: Searcher, text: str, languages: Collection[str]) -> list[Word]:
    """Weigh a query's words, read in each of the languages.

    Rare words weigh more than BM25 gives them: by the square root of their idf over the
    highest in the query, which lifted every set measured (decision record 0004). Those that
    say next to nothing beside the others are left out.
    """
    found = []
    for variants in query_terms(text, languages):
        counted = [(term, searcher.doc_freq("around", term)) for term in variants]
        found.append((_idf(searcher.num_docs, max(count for _, count in counted)), counted))
    highest = max((idf for idf, counted in found if any(count for _, count in counted)), default=math.inf)
    found.sort(key=lambda pair: (pair[0] <= highest, pair[0]), reverse=True)
    return [
        Word(counted, idf, math.sqrt(min(1.0, idf / highest)))
        for idf, counted in found[:_MOST_WORDS]
        if idf >= _COMMON * highest
    ]


def telling_terms(
    searcher: Searcher, counts: Mapping[str, int], own: Mapping[str, int]
) -> tuple[list[Telling], float]:
    """Pick the terms of a text that tell most and that others have too, and their ideal BM25.

    `counts` says how often the text has each term, `own` in how many chunks the text itself
    is in the index: a term that no other chunk has tells nothing of others.
    """
    common = max(_FEW_CHUNKS, searcher.num_docs * _COMMON_PART)
    every: list[Telling] = []
    shared: list[Telling] = []
    for term, count in counts.items():
        having = searcher.doc_freq("text", term)
        if len(term) > 1 and not term.isdigit() and having <= common:
            weight = math.sqrt(count)
            one = Telling(weight * _idf(searcher.num_docs, having), term, weight, count / (count + _K1))
            every.append(one)
            if having > own.get(term, 0):
                shared.append(one)
    best = heapq.nlargest(_MOST_TELLING, shared)
    # What tells most may be the text's alone: then what it shares makes up less of it.
    return best, max(sum(one.ideal for one in ones) for ones in (best, heapq.nlargest(_MOST_TELLING, every)))


def _idf(documents: int, having: int) -> float:
    """The inverse document frequency that tantivy's BM25 uses (as Lucene's)."""
    documents = max(documents, having)  # `having` counts deleted documents until segments merge
    return math.log1p((documents - having + 0.5) / (having + 0.5))
