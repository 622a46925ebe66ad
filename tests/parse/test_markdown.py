"""Headings, tasks, sections; and bytes that are no Markdown at all."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bridge.model import Heading, Note, NotePath, Task
from bridge.parse import parse


def note(text: str | bytes, path: str = "Note.md") -> Note:
    return parse(NotePath(path), text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n###### Six", [Heading(1, "One", 1), Heading(6, "Six", 2)]),
        ("## Closed ##", [Heading(2, "Closed", 1)]),
        ("# C#", [Heading(1, "C#", 1)]),
        ("#", [Heading(1, "", 1)]),
        ("#\tTab", [Heading(1, "Tab", 1)]),
        ("   # Indented", [Heading(1, "Indented", 1)]),
        ("# With id ^here", [Heading(1, "With id", 1)]),
        ("# [[Link|x]] `code`", [Heading(1, "[[Link|x]] `code`", 1)]),
        ("One\n===\nTwo\n---", [Heading(1, "One", 1), Heading(2, "Two", 3)]),
        ("Two\nlines\n---", [Heading(2, "Two lines", 1)]),
        ("text\n\n---\n", []),
        ("- item\n---\n> quote\n---\n", []),
        ("| a |\n---\n", []),
        ("####### seven\n#tag\n\\# no\n    # code\n", []),
        ("```\n# code\n```\n%%\n# hidden\n%%\n$$\n# math\n$$\n<!--\n# hidden\n-->", []),
        ("text\n    # still text", []),
        ("# Head %%aside%%\n# Next %% begins\n# hidden\n%%\n# After", None),
    ],
)
def test_headings(text: str, expected: list[Heading] | None) -> None:
    """Headings are found in both spellings with level and line, and nowhere else."""
    expected = (
        expected
        if expected is not None
        else [
            Heading(1, "Head %%aside%%", 1),
            Heading(1, "Next", 2),
            Heading(1, "After", 5),
        ]
    )

    assert expected == list(note(text).headings)


def test_tasks() -> None:
    """A task is done with any mark but a blank; numbers, nesting and quotes are fine."""
    text = "- [ ] open\n- [x] done ^id\n\t* [-] dropped\n1. [/] half\n> - [ ] quoted\n- [x]no\n- [ ]\n`- [ ] code`"

    assert [
        Task("open", done=False, line=1),
        Task("done", done=True, line=2),
        Task("dropped", done=True, line=3),
        Task("half", done=True, line=4),
        Task("quoted", done=False, line=5),
        Task("", done=False, line=7),
    ] == list(note(text).tasks)


def test_sections() -> None:
    """H1 to H3 begin sections with the headings above them; deeper ones do not."""
    text = "before\n# A\none\n### B\ntwo\n#### C\nthree\n## D\nfour\n# E\nfive"

    assert [
        ((), 1, "before"),
        (("A",), 2, "# A\none"),
        (("A", "B"), 4, "### B\ntwo\n#### C\nthree"),
        (("A", "D"), 8, "## D\nfour"),
        (("E",), 10, "# E\nfive"),
    ] == [(s.heading_path, s.first_line, s.text) for s in note(text).sections]


def test_an_underlined_heading_begins_its_section() -> None:
    """The words over an underline belong to the section that they begin."""
    text = "before\n\nHead\n----\nafter"

    assert [((), 1, "before\n"), (("Head",), 3, "Head\n----\nafter")] == [
        (s.heading_path, s.first_line, s.text) for s in note(text).sections
    ]


def test_shape() -> None:
    """Each line has its letter."""
    text = (
        "# H\ntext\n\n#### h\n- item\n  more\n```py\ncode\n```\n| a |\n|---|\n| b |\n%%\nhidden\n%%\n"
        "```dataview\nLIST\n```\n$$\nx\n$$\nUnder\n---\n"
    )
    sections = note(text).sections

    assert ["Hp hlpCccTttxxxxxxCcc", "HH "] == [section.shape for section in sections]


def test_properties_are_searched_but_what_only_names_is_not_repeated() -> None:
    """Properties that say something make a section; tags and aliases do not."""
    said = note("---\naliases:\n  - Other\nauthor: Jane\ntags: [x]\nyear: 1999\n---\nbody")

    assert [(2, "\n\nauthor: Jane\n\nyear: 1999"), (8, "body")] == [
        (s.first_line, s.text) for s in said.sections
    ]
    assert ["body"] == [s.text for s in note("---\ntags: [x]\nyear: 1999\n---\nbody").sections]


def test_base64_and_drawings_are_left_out() -> None:
    """Pictures written into a note and drawings do not reach any index."""
    picture = note("before ![x](data:image/png;base64," + "QUJD" * 200 + ") after")
    drawing = note(
        '---\nexcalidraw-plugin: parsed\n---\n# Excalidraw Data\n## Text Elements\nwords ^a1\n%%\n## Drawing\n```json\n{"x": 1}\n```\n%%'
    )

    assert "before ![x](data:image/png;base64,…) after" == picture.sections[0].text
    assert not any('"x"' in section.text for section in drawing.sections)
    assert any("words" in section.text for section in drawing.sections)


@pytest.mark.parametrize(
    ("content", "text", "issue"),
    [
        ("Grüße".encode(), "Grüße", ""),
        ("\ufeffGrüße".encode(), "Grüße", ""),
        ("Grüße".encode("utf-16"), "Grüße", ""),
        (b"\xfe\xff" + "Grüße".encode("utf-16-be"), "Grüße", ""),
        ("Grüße".encode("latin-1"), "Gr��e", "not UTF-8"),
        (b"one\r\ntwo\rthree", "one\ntwo\nthree", ""),
        (
            b"a stray \0 in a text that is long enough to be one",
            "a stray  in a text that is long enough to be one",
            "",
        ),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0", "", "not a text file"),
        (b"\0" * 500, "", "not a text file"),
    ],
)
def test_bytes(content: bytes, text: str, issue: str) -> None:
    """Encodings and line ends are understood; what is not is said, and nothing fails."""
    read = note(content)

    assert text == "\n".join(section.text for section in read.sections)
    assert bool(issue) == bool(read.issues)
    assert all(issue in words for words in read.issues)


MARKS = st.sampled_from(
    [
        *[
            "#",
            "[[",
            "]]",
            "![",
            "](",
            ")",
            "`",
            "```",
            "~~~",
            "$",
            "$$",
            "%%",
            "<!--",
            "-->",
            "<%",
            "%>",
            "{{",
            "}}",
            "|",
            "---",
            "===",
            "^id",
            "\\",
            "a",
            "é",
            "文",
            "🌱",
            "…",
        ],
        *("\n", "\n\n", "\r\n", "    ", "\t", "- ", "- [ ] ", "> ", "1. ", "\0", "\u2028", "\ud7ff"),
        *("---\n", "tags: ", "\n---\n", ": ", "'", '"', "&a ", "*a"),
    ]
)


@given(
    st.one_of(
        st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
    )
)
@example(b"---\n\xff: \xfe\n---\n")
def test_any_bytes(content: bytes) -> None:
    """No bytes make parsing fail, as a note or as a canvas."""
    note(content)
    note(content, "Board.canvas")


@given(st.lists(MARKS, max_size=40).map("".join))
def test_any_markup(text: str) -> None:
    """No mixture of marks makes parsing fail, moves a line or loses one."""
    read = note(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").split("\n")
    taken = 0
    for section in read.sections:
        assert section.text.count("\n") + 1 == len(section.shape)
        assert section.first_line > taken
        taken = section.first_line + len(section.shape) - 1
        if not read.frontmatter and not read.issues:
            assert section.text.split("\n") == lines[section.first_line - 1 : taken]
    places = [link.line for link in read.links] + [heading.line for heading in read.headings]
    assert all(1 <= line <= len(lines) for line in places)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "[[a]] " * 10_000,
        "> " * 100_000,
        "`" * 99_999 + " ",
        "<!--" * 50_000,
        "](" + " " * 100_000,
        "- " * 50_000,
        "$a " * 50_000,
        "\n".join("  " * n + "- x" for n in range(1500)),
        "[a](b(c)" * 20_000,
        "#" * 100_000,
        "a  " * 50_000 + "^",
        "%%a\n" * 20_000,
        "*a **b " * 20_000,
        "| " * 100_000,
        "# " + "x" * 100_000 + " " * 100_000 + "#x",
        "\n".join("`" * (n % 300 + 1) for n in range(3000)),
    ],
    ids=range(17),
)
def test_hostile_markup(text: str) -> None:
    """Long runs of one mark take no longer than as much prose (the test's time limit says)."""
    note(text)


def test_ten_thousand_links() -> None:
    """A note with 10,000 links keeps each with its line."""
    links = note("\n".join(f"[[Note {n}]] and [x](Other{n}.md)" for n in range(5000))).links

    assert ("Note 4999", 5000) == (links[-2].target, links[-2].line)
    assert 10_000 == len(links)


def test_the_sample_vault(vault: Path) -> None:
    """Of all the sample notes only the one with broken properties has an issue, and no link is made up."""
    notes = [
        parse(NotePath(str(file.relative_to(vault))), file.read_bytes())
        for file in sorted(vault.rglob("*"))
        if file.suffix in {".md", ".canvas"}
    ]

    assert ["Inbox/Odd properties.md"] == [note.path for note in notes if note.issues]
    assert not [
        link for note in notes for link in note.links if "not" in link.target or "code" in link.target
    ]


@pytest.mark.parametrize("source", ["# {}\nend", "{}\n===\nend", "---\naliases: [{}]\n---\nend"])
def test_a_name_of_pages_is_cut(source: str) -> None:
    """A heading or an alias as long as a book is not repeated with every chunk and every name."""
    text = "very long heading " * 20_000
    note = parse(NotePath("a.md"), source.format(text).encode())

    assert all(len(name) <= 1000 for name in (*note.aliases, *(h.text for h in note.headings)))
    assert all(len(part) <= 1000 for section in note.sections for part in section.heading_path)
    assert note.aliases
