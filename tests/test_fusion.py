"""Fusion: several rankings, one order whose scores mean something."""

from hypothesis import given
from hypothesis import strategies as st

from bridge.model import ChunkId, NoteId
from bridge.search.fusion import Fused, fuse
from bridge.stores.embeddings import VectorHit
from bridge.stores.fulltext import KeywordHit


def by_words(scores: dict[int, float]) -> list[KeywordHit]:
    """A keyword ranking; chunk ids are note ids times ten."""
    ranked = sorted(scores.items(), key=lambda pair: -pair[1])
    return [KeywordHit(ChunkId(note * 10), NoteId(note), 9 * score, score) for note, score in ranked]


def by_meaning(cosines: dict[int, float], crowd: float | None = None) -> list[VectorHit]:
    """A semantic ranking; chunk ids are note ids times ten plus one; `crowd` fills it up to its depth."""
    everyone = cosines | ({1000 + n: crowd for n in range(100 - len(cosines))} if crowd is not None else {})
    ranked = sorted(everyone.items(), key=lambda pair: -pair[1])
    return [VectorHit(ChunkId(note * 10 + 1), NoteId(note), cosine) for note, cosine in ranked]


def notes(fused: list[Fused]) -> list[int]:
    return [one.note_id for one in fused if one.note_id < 1000]


RANKINGS = st.dictionaries(st.integers(1, 30), st.floats(0, 1), max_size=20)
COSINES = st.dictionaries(st.integers(1, 30), st.floats(-1, 1), max_size=20)
HOPS = st.dictionaries(st.integers(1, 30), st.integers(1, 2), max_size=10)


def test_a_note_found_both_ways_comes_first() -> None:
    """What words and meaning both find outranks what one of them finds as well."""
    fused = fuse(by_words({1: 0.5, 2: 0.5}), by_meaning({2: 0.88, 3: 0.88}, crowd=0.75), {})

    assert notes(fused)[0] == 2
    assert set(fused[0].signals) == {"keyword", "semantic"}


def test_models_that_crowd_their_cosines_weigh_the_same() -> None:
    """A model with cosines of 0.75 to 0.9 and one of 0 to 0.6 give the same order and score."""
    crowded = fuse(by_words({1: 0.4}), by_meaning({2: 0.9}, crowd=0.75), {})
    spread = fuse(by_words({1: 0.4}), by_meaning({2: 0.6}, crowd=0.0), {})

    assert notes(crowded) == notes(spread) == [2, 1]
    assert abs(crowded[0].score - spread[0].score) < 1e-6


def test_a_model_that_does_not_know_the_language_cannot_pull_the_answer_down() -> None:
    """Untrusted, meaning only adds notes after those that the words found."""
    fused = fuse(by_words({1: 0.4, 2: 0.3}), by_meaning({3: 0.9, 2: 0.2}, crowd=0.1), {}, trusted=False)

    assert notes(fused) == [1, 2, 3]


def test_meaning_has_as_much_say_as_it_has_read() -> None:
    """While little is embedded, the nearest of that little do not outrank what the words found."""
    words, meaning = by_words({1: 0.4, 2: 0.3}), by_meaning({3: 0.9, 2: 0.85}, crowd=0.1)

    assert notes(fuse(words, meaning, {})) == [2, 3, 1]
    assert notes(fuse(words, meaning, {}, coverage=0.01)) == [1, 2, 3]


def test_a_single_ranking_keeps_its_scores() -> None:
    """With one signal alone, a note's score is that signal's own."""
    fused = fuse(by_words({1: 0.7, 2: 0.2}), [], {})

    assert [(one.note_id, one.score) for one in fused] == [(1, 0.7), (2, 0.2)]
    assert notes(fuse([], by_meaning({1: 0.7, 2: 0.9}, crowd=0.1), {})) == [2, 1]


def test_links_lift_a_little_and_find_what_nothing_else_finds() -> None:
    """A linked note comes before its equal, one that only links lead to comes last, nearer ones first."""
    fused = fuse(by_words({1: 0.5, 2: 0.5}), [], {NoteId(2): 1, NoteId(8): 2, NoteId(9): 1})

    assert notes(fused) == [2, 1, 9, 8]
    assert fused[-1].chunk_id is None
    assert fused[-1].signals["graph"].hops == 2


def test_the_passage_is_the_one_that_counts_most() -> None:
    """A note shows the chunk of the signal that gave it more of its score."""
    fused = fuse(by_words({1: 0.9, 2: 0.1}), by_meaning({1: 0.3, 2: 0.9}, crowd=0.1), {})

    assert {one.note_id: one.chunk_id for one in fused if one.note_id < 3} == {1: 10, 2: 21}


@given(RANKINGS, COSINES, HOPS, st.booleans())
def test_scores_fall_and_stay_within_bounds(
    words: dict[int, float], meaning: dict[int, float], hops: dict[int, int], trusted: bool
) -> None:
    """Every note found appears once, best first, with a score in 0..1 and its ranks."""
    graph = {NoteId(note): count for note, count in hops.items()}
    fused = fuse(by_words(words), by_meaning(meaning), graph, trusted=trusted)
    scores = [one.score for one in fused]

    assert {one.note_id for one in fused} == words.keys() | meaning.keys() | hops.keys()
    assert len(fused) == len({one.note_id for one in fused})
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert all(one.signals for one in fused)


@given(RANKINGS, COSINES, st.floats(0, 0.2))
def test_a_better_word_score_never_costs_a_note_its_place(
    words: dict[int, float], meaning: dict[int, float], more: float
) -> None:
    """Raising one note's word score leaves it where it was or lifts it."""
    words = words | {1: 0.4}
    before = notes(fuse(by_words(words), by_meaning(meaning), {})).index(1)
    after = notes(fuse(by_words(words | {1: 0.4 + more}), by_meaning(meaning), {})).index(1)

    assert after <= before
