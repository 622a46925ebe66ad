"""The full-text index: what is found, what ranks first, what a crash or a stranger's folder does."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.language import language_of
from bridge.model import ChunkId, NoteId
from bridge.search.query import parse_query
from bridge.stores.documents import ChunkDoc
from bridge.stores.fulltext import Fulltext, KeywordHit


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Fulltext]:
    fulltext = Fulltext.open(tmp_path / "fulltext", "a")
    yield fulltext
    fulltext.close()


def chunk(note: int, text: str, title: str = "", ordinal: int = 0, **more: tuple[str, ...]) -> ChunkDoc:
    """A chunk whose id is its note's id times ten plus its ordinal."""
    return ChunkDoc(
        chunk_id=ChunkId(note * 10 + ordinal),
        note_id=NoteId(note),
        title=title or f"note{note}",
        aliases=more.get("aliases", ()),
        tags=more.get("tags", ()),
        headings=more.get("headings", ()),
        text=text,
        language=language_of(text),
    )


def fill(index: Fulltext, *docs: ChunkDoc) -> None:
    for note in {doc.note_id for doc in docs}:
        index.replace(note, [doc for doc in docs if doc.note_id == note])
    index.commit()


def search(
    index: Fulltext, query: str, k: int = 10, notes: frozenset[NoteId] | None = None
) -> list[KeywordHit]:
    parsed = parse_query(query)
    return index.search(parsed, k, index.restrict(parsed, notes))


def notes_of(hits: list[KeywordHit]) -> list[int]:
    return [hit.note_id for hit in hits]


def test_any_word_ranks_and_more_words_rank_higher(index: Fulltext) -> None:
    """A note with one word of the query is found; one with all of them comes first."""
    fill(index, chunk(1, "rank fusion of lists"), chunk(2, "a list of ranks"), chunk(3, "something else"))

    assert notes_of(search(index, "please tell me about rank fusion")) == [1, 2]


def test_a_note_is_found_by_title_alias_tag_and_heading(index: Fulltext) -> None:
    """What a note is called finds it though no text of it says so; even an empty note."""
    fill(
        index,
        chunk(1, "", title="Reciprocal"),
        chunk(2, "text", aliases=("Borda count",)),
        chunk(3, "text", tags=("area/voting",)),
        chunk(4, "text", headings=("Condorcet winners",)),
    )

    assert [
        notes_of(search(index, query)) for query in ("reciprocal", "borda", "voting", "condorcet winner")
    ] == [
        [1],
        [2],
        [3],
        [4],
    ]


def test_a_title_outranks_a_mention(index: Fulltext) -> None:
    """The note called by a word comes before notes of like length that mention it."""
    fill(
        index,
        chunk(1, "it is one of the ways to join rankings", title="Fusion"),
        chunk(2, "it is said that fusion joins rankings"),
        chunk(3, "the weather joins no rankings at all"),
    )

    assert notes_of(search(index, "fusion"))[0] == 1


@pytest.mark.parametrize(
    ("query", "exact", "decoy"),
    [
        ("ERR_1042", "the log says ERR_1042 twice", "err and 1042, err or 1042: an err of 1042"),
        ("v0.14.12", "fixed in v0.14.12 of it", "v0 14 12, v0 14 12"),
        ("foo_bar", "call foo_bar here", "foo bar, foo and bar, bar foo"),
        ("C++", "written in C++ long ago", "vitamin C and C again, C"),
        ("2024-05-01", "it was on 2024-05-01 here", "2024 05 01, 05 2024 01"),
        ("src/main.rs", "open src/main.rs there", "src, main, rs; main src rs"),
        ("main.rs", "open src/main.rs there", "main rs, rs main"),
    ],
)
def test_exact_strings_rank_first_where_they_stand_as_typed(
    index: Fulltext, query: str, exact: str, decoy: str
) -> None:
    """An odd string's own note comes before notes that hold its pieces, even more often."""
    fill(index, chunk(1, decoy), chunk(2, exact), chunk(3, "no such thing"))

    assert notes_of(search(index, query))[0] == 2


def test_words_in_neighbouring_chunks_count_together(index: Fulltext) -> None:
    """A note whose chunks share the query's words beats one with half of them; the fuller chunk answers."""
    fill(
        index,
        chunk(1, "rank of things"),
        chunk(1, "fusion, as physicists have it: fusion", ordinal=1),
        chunk(2, "rank and rank again, rank of things"),
        *(chunk(n, f"filler{n} of things") for n in range(3, 20)),
    )

    assert notes_of(search(index, "rank fusion")) == [1, 2]
    assert search(index, "fusion physicists")[0].chunk_id == 11


def test_each_note_answers_once_by_its_best_chunk(index: Fulltext) -> None:
    """`k` counts notes: many chunks of one note push no other out."""
    fill(
        index,
        *(chunk(1, "fusion and other words of the note", ordinal=i) for i in range(9)),
        chunk(2, "fusion once, with a lot of words around it that say something else altogether"),
    )
    hits = search(index, "fusion", k=2)

    assert notes_of(hits) == [1, 2]


def test_phrases_must_stand_as_they_are(index: Fulltext) -> None:
    """Quoted words must follow one another unstemmed, in text, title or heading, in any script."""
    fill(
        index,
        chunk(1, "The Running Dog sleeps"),
        chunk(2, "the dog is running, dogs run"),
        chunk(3, "runs with dogs", title="running dog"),
        chunk(4, "全文検索エンジン"),
        chunk(5, "検索の全文"),
        chunk(6, "dog at the start", headings=("running",)),
    )

    assert sorted(notes_of(search(index, '"running dog"'))) == [1, 3]
    assert notes_of(search(index, '"文検索"')) == [4]
    assert notes_of(search(index, '"running dog" "dog sleeps"')) == [1]
    assert notes_of(search(index, '"running dog"', notes=frozenset({NoteId(3)}))) == [3]


def test_odd_tokens_in_phrases_keep_their_signs(index: Fulltext) -> None:
    """Quoted or excluded, `C++` and `ERR_1042` mean themselves and not their letters."""
    fill(index, chunk(1, "vitamin C, err 1042"), chunk(2, "C++ said ERR_1042"))

    assert notes_of(search(index, '"C++"')) == notes_of(search(index, '"said ERR_1042"')) == [2]
    assert notes_of(search(index, "C -C++")) == [1]


def test_exclusions_leave_whole_notes_out(index: Fulltext) -> None:
    """A minus leaves out each note that has the word or phrase in any of its chunks."""
    fill(
        index,
        chunk(1, "fusion of ranks"),
        chunk(1, "only a draft", ordinal=1),
        chunk(2, "fusion, final"),
        chunk(3, "fusion, a first try"),
    )

    assert sorted(notes_of(search(index, "fusion -draft"))) == [2, 3]
    assert sorted(notes_of(search(index, 'fusion -"first try"'))) == [1, 2]
    assert index.restrict(parse_query("fusion"), None) is None


@pytest.mark.parametrize(
    ("few", "most"), [(1, 4000), (100, 4000), (1, 1)], ids=["filtered", "inside", "both"]
)
def test_notes_to_search_among_act_inside_the_query(
    index: Fulltext, monkeypatch: pytest.MonkeyPatch, few: int, most: int
) -> None:
    """A filter changes neither scores nor order of what it lets through, however many notes it names."""
    monkeypatch.setattr("bridge.stores.fulltext._FEW_NOTES", few)
    monkeypatch.setattr("bridge.stores.fulltext._MOST_FILTERED", most)
    fill(index, *(chunk(n, "fusion " * (n % 7 + 1) + "word " * (n % 5)) for n in range(1, 80)))
    among = frozenset(NoteId(n) for n in range(3, 80, 9))
    every = search(index, "fusion", k=100)

    assert [hit for hit in every if hit.note_id in among][:5] == search(index, "fusion", 5, among)
    assert search(index, "fusion", 5, frozenset()) == []


def test_languages_mix_in_one_index(index: Fulltext) -> None:
    """Each note is found by its language's stems, whatever the query's language seems to be."""
    fill(
        index,
        chunk(1, "Das Haus ist alt und die Straße ist nicht breit"),
        chunk(2, "The houses are old and the streets are not wide"),
        chunk(3, "Эти дома старые и улицы не широкие"),
        chunk(4, "这些房子很旧,街道不宽"),
    )

    assert [notes_of(search(index, query)) for query in ("Häuser", "house", "улица", "房子")] == [
        [1],
        [2],
        [3],
        [4],
    ]


def test_a_score_says_how_much_of_the_query_is_there(index: Fulltext) -> None:
    """Scores lie in 0..1, fall with every word missing, and count words that no note has."""
    fill(index, *(chunk(n, f"filler{n} text") for n in range(2, 40)), chunk(1, "rank fusion rank fusion"))
    whole, half, missing = (
        search(index, q)[0].score for q in ("rank fusion", "rank filler9", "rank unheard")
    )

    assert 0 < half < whole <= 1
    assert 0 < missing < whole


def test_replaced_and_removed_chunks_are_gone(index: Fulltext) -> None:
    """A note's new chunks take the place of its old ones, also within one commit."""
    fill(index, chunk(1, "alpha"), chunk(2, "alpha"))
    for note in (1, 3):
        index.replace(NoteId(note), [chunk(note, "beta")])
        index.replace(NoteId(note), [chunk(note, f"gamma{note}")])
    index.remove(NoteId(2))
    index.commit()

    assert [notes_of(search(index, word)) for word in ("alpha", "beta", "gamma1", "gamma3")] == [
        [],
        [],
        [1],
        [3],
    ]


def test_a_note_saved_again_and_again_is_still_found(index: Fulltext) -> None:
    """Deleted chunks that wait for a merge change nothing, however many they are."""
    for _ in range(5):
        fill(index, chunk(1, "alpha beta"))

    assert notes_of(search(index, "alpha gamma")) == [1]


def test_a_page_of_text_is_a_query(index: Fulltext) -> None:
    """Thousands of words are searched for in a moment, by those that tell most."""
    fill(index, *(chunk(n, f"common words and word{n}") for n in range(1, 40)))
    page = "word7 " + " ".join(f"unheard{n} common words" for n in range(3000))

    assert len(index.query_terms(parse_query(page))) <= 64
    assert notes_of(search(index, page))[0] == 7


def test_big_ids_come_back_whole(index: Fulltext) -> None:
    """Ids of 63 bits survive, and delete what they name."""
    big = NoteId(2**63 - 1)
    doc = ChunkDoc(ChunkId(2**63 - 2), big, "t", (), (), (), "alpha", "en")
    index.replace(big, [doc])
    index.commit()

    assert search(index, "alpha")[0].note_id == big
    index.remove(big)
    index.commit()
    assert search(index, "alpha") == []


def test_the_index_outlives_its_process(tmp_path: Path) -> None:
    """What was committed is found after opening again; what was not is gone."""
    first = Fulltext.open(tmp_path / "f", "a")
    assert first.fresh

    fill(first, chunk(1, "alpha"))
    first.replace(NoteId(2), [chunk(2, "alpha")])
    first.close()
    again = Fulltext.open(tmp_path / "f", "a")

    assert not again.fresh
    assert notes_of(search(again, "alpha")) == [1]


@pytest.mark.parametrize("harm", ["instance", "broken", "absent"])
def test_a_folder_that_does_not_fit_is_begun_anew(tmp_path: Path, harm: str) -> None:
    """Another index's folder, or a damaged one, is emptied and says that it wants every note."""
    folder = tmp_path / "f"
    first = Fulltext.open(folder, "a")
    fill(first, chunk(1, "alpha"))
    first.close()
    if harm == "broken":
        for file in folder.glob("*.idx"):
            file.write_bytes(file.read_bytes()[:10])
    if harm == "absent":
        (folder / "meta.json").unlink()
    again = Fulltext.open(folder, "b" if harm == "instance" else "a")

    assert again.fresh
    assert search(again, "alpha") == []
    fill(again, chunk(2, "alpha"))
    assert notes_of(search(again, "alpha")) == [2]
    again.close()


async def test_the_event_loop_is_never_blocked(tmp_path: Path) -> None:
    """Every blocking method refuses to run on the event loop's thread."""
    index = await asyncio.to_thread(Fulltext.open, tmp_path / "f", "a")
    for work in (
        lambda: Fulltext.open(tmp_path / "g", "a"),
        lambda: index.search(parse_query("x"), 1),
        lambda: index.restrict(parse_query("x")),
        lambda: index.remove(NoteId(1)),
        index.commit,
        index.close,
    ):
        with pytest.raises(AssertionError):
            work()


def test_many_small_commits_stay_searchable(index: Fulltext) -> None:
    """Commits of one note each lose nothing and keep the segments few."""
    for n in range(1, 41):
        index.replace(NoteId(n), [chunk(n, f"alpha word{n}")])
        index.commit()

    assert len(search(index, "alpha", k=500)) == 40
    assert notes_of(search(index, "word17")) == [17]
