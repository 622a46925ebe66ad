"""Notes become passages that fit a model's window."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.chunk import split
from bridge.chunk.meter import Meter
from bridge.model import Chunk, Note, NotePath
from bridge.parse import parse

WINDOW = 64


def words_and_marks(text: str) -> int:
    """Count as a model does: pieces of words, marks and letters without blanks between; two special."""
    return 2 + len(re.findall(r"[a-zA-Z]{1,5}|\S", text))


def every_letter(text: str) -> int:
    """Count what does not add up word by word."""
    return 1 + len(text)


def _letters(text: str) -> str:
    return "".join(text.split())


def note(text: str, path: str = "Folder/Note.md") -> Note:
    return parse(NotePath(path), text.encode())


def chunks(
    text: str, count: Callable[[str], int] | None = words_and_marks, window: int = WINDOW
) -> tuple[Chunk, ...]:
    return split(note(text), count, window)


def test_a_section_is_a_chunk() -> None:
    """A short section is one chunk with its heading path, its lines and its words."""
    text = "intro\n\n# A\n\nSome [[Other|words]].\n\n## B\n- one\n- two\n"

    assert [
        ((), 1, 1, "intro", "intro"),
        (("A",), 3, 5, "# A\n\nSome [[Other|words]].", "A\nSome words."),
        (("A", "B"), 7, 9, "## B\n- one\n- two", "A > B\none\ntwo"),
    ] == [(c.heading_path, c.first_line, c.last_line, c.text, c.embed_text) for c in chunks(text)]


def test_a_bare_heading_goes_with_what_follows() -> None:
    """A heading with nothing under it is no chunk of its own."""
    text = "# A\n\n## B\n\n## C\n\nwords\n\n# D\n"

    assert [
        (("A", "C"), 1, 7, "A > C\nB\nwords"),
        (("D",), 9, 9, ""),
    ] == [(c.heading_path, c.first_line, c.last_line, c.embed_text) for c in chunks(text)]


def test_neighbours_are_joined_and_long_sections_cut() -> None:
    """Paragraphs of a long section are joined while they fit, in order."""
    text = "# A\n\n" + "\n\n".join(f"Paragraph {n} has a few words in it." for n in range(20))
    found = chunks(text)

    assert 2 < len(found) < 10
    assert all(c.heading_path == ("A",) for c in found)
    assert text.split() == " ".join(c.text for c in found).split()
    assert all(words_and_marks(c.embed_text) > WINDOW // 2 for c in found[:-1])


def test_a_sentence_is_not_torn() -> None:
    """A paragraph longer than a window is cut between sentences, in any script."""
    english = "This one is a sentence of ten words or so. " * 20
    chinese = "清明之前采的茶叶叫明前茶价格最高。水温八十五度左右不要用沸水。" * 10

    assert all(c.text.startswith("This") and c.text.endswith("so.") for c in chunks(english))
    assert all(c.text.endswith("。") for c in chunks(chinese))
    assert chinese == "".join(c.text for c in chunks(chinese))


def test_a_link_is_not_torn() -> None:
    """No border inside a link, code or comment is used while another one does."""
    text = "Some words stand here. [[Note. With|dots. Inside]] %%secret. words%% `a. b` then. " * 10

    assert not any("secret" in c.embed_text or "[[" in c.embed_text for c in chunks(text))


def test_fenced_code_is_whole_where_it_fits() -> None:
    """Code goes to the next chunk rather than being cut; longer than a window it is cut by lines."""
    code = "```py\n" + "\n".join(f"value_{n} = {n}" for n in range(8)) + "\n```"
    text = "Words before it. " * 10 + "\n\n" + code + "\n\n" + "Words after it. " * 10

    assert any(code in c.text for c in chunks(text))

    long = chunks("```\n" + "\n".join(f"line {n} of the code" for n in range(60)) + "\n```")

    assert len(long) > 3
    assert all(c.text.split("\n")[-1].endswith(("code", "```")) for c in long)


def test_a_lower_heading_stays_with_what_follows() -> None:
    """No chunk of a long section ends with a heading."""
    parts = [f"#### Part {n}\n\n" + f"Sentence {n} of some length. " * (n % 5 + 1) for n in range(20)]

    assert not any(re.search(r"#### .*$", c.text) for c in chunks("\n\n".join(parts)))


def test_table_rows_keep_their_header() -> None:
    """Each part of a long table is embedded with the names of its columns."""
    rows = "\n".join(f"| Name {n} | {n} kilograms |" for n in range(40))
    found = chunks(f"# T\n\n| Who | Weight |\n|---|---|\n{rows}")

    assert len(found) > 3
    assert all("Who Weight" in c.embed_text for c in found)
    assert 1 == sum("| Who |" in c.text for c in found)


@pytest.mark.parametrize(
    "hidden",
    [
        "%%HIDDEN%%",
        "%%\nHIDDEN\n%%",
        "text %% begins\nHIDDEN %%",
        "<!-- HIDDEN -->",
        "```dataview\nTABLE HIDDEN\n```",
        "```dataviewjs\ndv.HIDDEN()\n```",
        "```base\nHIDDEN\n```",
        "```tasks\nHIDDEN\n```",
        "> ```query\n> HIDDEN\n> ```",
        "```compressed-json\nHIDDEN\n```",
        "<% HIDDEN %>",
        "<%*\nHIDDEN\n%>",
        "{{HIDDEN}}",
        "![[HIDDEN]]",
        "[words](HIDDEN.md)",
        "![](data:image/png;base64,HIDDEN" + "A" * 300 + ")",
    ],
)
def test_what_is_not_embedded(hidden: str) -> None:
    """Comments, queries, drawings, template markup, embeds and addresses do not reach the model."""
    (chunk,) = chunks(f"Before it.\n\n{hidden}\n\nAfter it.\n")

    assert "HIDDEN" not in chunk.embed_text
    assert chunk.embed_text.startswith("Before it.")
    assert chunk.embed_text.endswith("After it.")


def test_words_beside_queries_are_searched() -> None:
    """What is not embedded is still found by its words, except base64."""
    (chunk,) = chunks("%% aside %%\n\n" + "QUJD" * 100 + "\n")

    assert "%% aside %%\n\n…" == chunk.text


@pytest.mark.parametrize(
    ("text", "embedded"),
    [
        ("", "Note"),
        ("\n  \n", "Note"),
        ("---\ntags: [bread]\n---\n", "Note\ntags: bread"),
        ("#tag #other\n", "Note"),
        ("![[picture.png]]", "Note"),
        ("```dataview\nLIST\n```", "Note"),
        ("# Only\n## Headings\n", "Note\nOnly\nHeadings"),
        ("---\nauthor: Jane Doe\nyear: 1999\n---\n", "Note\nauthor: Jane Doe"),
    ],
)
def test_a_note_without_words_is_its_name(text: str, embedded: str) -> None:
    """An empty note, a stub and a note of properties are embedded by their title and what little they say."""
    assert [embedded] == [c.embed_text for c in chunks(text) if c.embed_text]


def test_properties_are_embedded_only_where_there_is_nothing_else() -> None:
    """Properties of a note with text are found by their words and cost no embedding."""
    properties, body = chunks("---\nauthor: Jane Doe\n---\nText.\n")

    assert ("author: Jane Doe", "") == (properties.text, properties.embed_text)
    assert "Text." == body.embed_text


def test_the_file_name_is_not_embedded() -> None:
    """A renamed note has the same texts to embed under other ids."""
    text = "# A\n\nSome words.\n"
    before, after = split(note(text, "A.md"), None, WINDOW), split(note(text, "New/B.md"), None, WINDOW)

    assert [c.embed_text for c in before] == [c.embed_text for c in after]
    assert {c.id for c in before}.isdisjoint(c.id for c in after)


def test_ids() -> None:
    """An id depends on path, heading path and text; equal passages count on; an edit moves one id only."""
    before = chunks("# A\n\nsame\n\n# A\n\nsame\n\n# B\n\nother\n")
    after = chunks("new line\n\n# A\n\nsame\n\n# A\n\nsame\n\n# B\n\nchanged\n")

    assert before[0].id + 1 == before[1].id
    assert [c.id for c in before[:2]] == [c.id for c in after[1:3]]
    assert before[2].id != after[3].id
    assert all(0 <= c.id < 2**63 for c in (*before, *after))


def test_a_heading_too_long_leaves_room_for_words() -> None:
    """A heading longer than the window is cut in what is embedded."""
    found = chunks(f"# {'Very long heading ' * 50}\n\nThe words.\n")

    assert any("The words." in c.embed_text for c in found)
    assert all(words_and_marks(c.embed_text) <= WINDOW for c in found)


LINES = st.sampled_from(
    [
        "",
        "# One",
        "## Two ^id",
        "#### Four",
        "Under\n===",
        "A sentence. Another one, with a comma! And 中文句子。还有一句？ ขนมปัง",
        "word " * 90,
        "unbroken-" * 60,
        "- item [[Link|words]]\n  more of it",
        "- [ ] task",
        "> quote\n> ```\n> code\n> ```",
        "```py\nx = 1\n\ny = 2\n```",
        "```\n" + "code line here\n" * 40 + "```",
        "| a | b |\n|---|---|\n" + "| cell | cell |\n" * 30,
        "| a b | c d | e f |\n|---|---|---|\n" + f"| {'cell ' * 9} | {'cell ' * 9} |\n" * 3,
        "%%\nhidden\n%%",
        "```dataview\nLIST\n```",
        "$$\nx^2\n$$",
        "    indented",
        "\t",
    ]
)


@settings(deadline=None)
@given(
    st.lists(LINES, max_size=12).map("\n".join),
    st.sampled_from([words_and_marks, every_letter]),
    st.sampled_from([24, 64, 192]),
)
def test_chunks_cover_the_note_in_order_and_fit(text: str, count: Callable[[str], int], window: int) -> None:
    """No chunk exceeds the window; together and in order they hold every word at its line."""
    found = split(note(text), count, window)
    lines = text.split("\n")
    last = 0
    for chunk in found:
        assert count(chunk.embed_text) <= window
        assert last <= chunk.first_line <= chunk.last_line <= len(lines)
        assert _letters(chunk.text) in _letters("".join(lines[chunk.first_line - 1 : chunk.last_line]))
        last = chunk.last_line
    assert _letters(text) == _letters("".join(c.text for c in found))
    assert list(range(len(found))) == [c.ordinal for c in found]
    assert len(found) == len({c.id for c in found})
    assert found == split(note(text), count, window)


@given(st.text(max_size=300), st.sampled_from([8, 64]))
def test_any_text_fits(text: str, window: int) -> None:
    """Whatever a note holds, no chunk exceeds the window."""
    assert all(every_letter(c.embed_text) <= window for c in split(note(text), every_letter, window))


def test_large_notes_take_time_in_proportion() -> None:
    """A long line, a long paragraph, long code and a long comment are cut without limit on their length."""
    for text in (
        "word " * 40_000,
        "a\n" * 40_000,
        "```\n" + "code\n" * 40_000,
        "x-" * 100_000,
        "。" * 50_000,
    ):
        found = chunks(text, None, 192)
        assert max(len(c.text) for c in found) <= 4000
        assert _letters(text) == _letters("".join(c.text for c in found))


def test_the_sample_vault(vault: Path) -> None:
    """Every sample note has a chunk, and something of it is embedded."""
    for file in sorted(vault.rglob("*.md")):
        found = split(parse(NotePath(str(file.relative_to(vault))), file.read_bytes()), words_and_marks, 192)
        assert found
        assert any(c.embed_text for c in found), file


@pytest.mark.parametrize("count", [None, lambda text: 2 + (len(text.replace(" ", "")) + 2) // 3])
def test_what_was_counted_before_changes_nothing(count: Callable[[str], int] | None) -> None:
    """A note is cut in the same way at the end of a first index of many words as in one alone."""
    alone, late = Meter(count), Meter(count)
    for n in range(40_000):
        late.cost(f"word{n}")
    text = "Quokkas browse among tussocks; wombats excavate burrows nearby, unhurriedly."

    assert alone.cost(text) == late.cost(text)
