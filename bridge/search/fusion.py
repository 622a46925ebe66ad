"""One order from several rankings; pure.

A note's score is the mean of two parts, each in 0..1 and meaning the same from query to
query: how much of the query's words its best chunk carries (`KeywordHit.score`), and how far
its best cosine rises from the query's background towards 1. Background is the cosine of the
last of the `DEPTH` nearest notes, so no model needs figures of its own, though one crowds all
its cosines above 0.7 and the next spreads them from 0. Decision record 0004 measures this
against reciprocal ranks, min-max sums and z-scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bridge.answers import Signal, SignalScore
from bridge.model import ChunkId, NoteId
from bridge.stores.embeddings import VectorHit
from bridge.stores.fulltext import KeywordHit

DEPTH: Final = 100
"""How many notes a ranking should give, so that its last one is background."""

_SEMANTIC: Final = 0.5
_UNTRUSTED: Final = 0.02
"""Weight of a model in a language that it does not know: what it finds follows what words find."""
_LINKED: Final = 0.02
"""What a link from one of the best notes adds; over two links, half of it."""


@dataclass(frozen=True, slots=True)
class Fused:
    """A note in the common order with its chunk to show; None when only links led to the note."""

    note_id: NoteId
    chunk_id: ChunkId | None
    score: float
    signals: dict[Signal, SignalScore]


def fuse(
    keyword: Sequence[KeywordHit],
    semantic: Sequence[VectorHit],
    graph: Mapping[NoteId, int],
    *,
    trusted: bool = True,
    coverage: float = 1.0,
) -> list[Fused]:
    """Order the notes of three rankings by their common score, best first.

    `graph` holds the hops from the best notes; `trusted` tells whether the model knows the
    query's language, `coverage` which part of the text it has read: what is nearest in a
    hundredth of the notes is seldom near. A ranking that is empty has no say, and the other
    keeps its own scores.
    """
    semantic_weight = (_SEMANTIC * coverage if keyword else 1.0) if trusted else _UNTRUSTED
    keyword_weight = 1.0 - semantic_weight if semantic else 1.0
    background = _background(semantic)
    chunks: dict[NoteId, tuple[float, ChunkId]] = {}
    scores: dict[NoteId, float] = {}
    signals: dict[NoteId, dict[Signal, SignalScore]] = {}

    def add(
        note_id: NoteId, chunk_id: ChunkId | None, part: float, signal: Signal, score: SignalScore
    ) -> None:
        scores[note_id] = scores.get(note_id, 0.0) + part
        signals.setdefault(note_id, {})[signal] = score
        if chunk_id is not None and part >= chunks.get(note_id, (0.0,))[0]:
            chunks[note_id] = (part, chunk_id)

    for rank, word_hit in enumerate(keyword, 1):
        part = keyword_weight * word_hit.score
        add(word_hit.note_id, word_hit.chunk_id, part, "keyword", SignalScore(rank, word_hit.score))
    for rank, near in enumerate(semantic, 1):
        part = semantic_weight * max(0.0, near.cosine - background) / max(1e-6, 1.0 - background)
        add(near.note_id, near.chunk_id, part, "semantic", SignalScore(rank, max(0.0, min(1.0, near.cosine))))
    for rank, (note_id, hops) in enumerate(sorted(graph.items(), key=lambda pair: (pair[1], pair[0])), 1):
        add(note_id, None, _LINKED / hops, "graph", SignalScore(rank, hops=hops))
    return [
        Fused(note_id, chunks.get(note_id, (0.0, None))[1], min(1.0, scores[note_id]), signals[note_id])
        for note_id in sorted(scores, key=lambda note_id: (-scores[note_id], note_id))
    ]


def _background(semantic: Sequence[VectorHit]) -> float:
    """Give the cosine that says nothing; below the last one where fewer than `DEPTH` were found."""
    if not semantic:
        return 0.0
    near = semantic[:DEPTH]
    last = near[-1].cosine
    return last - (1.0 - last) * (1.0 - len(near) / DEPTH) / 2
