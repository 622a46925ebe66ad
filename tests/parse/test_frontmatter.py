"""The properties at the beginning of a note."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.model import Link, Note, NotePath
from bridge.parse import parse


def note(text: str) -> Note:
    return parse(NotePath("Folder/Note.md"), text.encode())


def test_any_key_is_kept_in_order() -> None:
    """Values keep their types as YAML 1.2 has them, and all of them are JSON."""
    text = (
        "---\nz: 1\na: [x, 2.5, true, null]\nwhen: 2024-05-01\nat: 12:30\nyes: no\nphone: 0123\nhuge: 1.0e999\n"
        "deep:\n  k: {v: ~}\nmultiline: |\n  one\n  two\nquoted: '5'\nempty:\n---\n"
    )
    expected: dict[str, Any] = {
        "z": 1,
        "a": ["x", 2.5, True, None],
        "when": "2024-05-01",
        "at": "12:30",
        "yes": "no",
        "phone": "0123",
        "huge": "1.0e999",
        "deep": {"k": {"v": None}},
        "multiline": "one\ntwo\n",
        "quoted": "5",
        "empty": None,
    }

    assert list(expected.items()) == list(note(text).frontmatter.items())


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("tags: [one, two]", ("one", "two")),
        ("tags:\n  - one\n  - '#two'", ("one", "two")),
        ("tags:\n- one\n- two/three", ("one", "two/three")),
        ("tags: one, two", ("one", "two")),
        ("tags: one two", ("one", "two")),
        ('tags: "#one #two"', ("one", "two")),
        ("tag: one", ("one",)),
        ("Tags: one", ("one",)),
        ("tags: [2024, y2024]", ("y2024",)),
        ("tags:", ()),
        ("tags: [One, one]", ("One",)),
        ("tags: {a: b}", ()),
        ("tags: [[one]]", ()),
    ],
)
def test_tags_in_every_spelling(lines: str, expected: tuple[str, ...]) -> None:
    """Tags may be a list or text, with `#` or without."""
    assert expected == note(f"---\n{lines}\n---\n").tags


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\naliases: [One, Two]\n---\n", ("One", "Two")),
        ("---\nalias: One\n---\n", ("One",)),
        ("---\naliases: One, Two\n---\n", ("One", "Two")),
        ("---\naliases: ['One, Two']\n---\n", ("One, Two",)),
        ("---\ntitle: A title\n---\n# First\n# Second\n", ("A title", "First")),
        ("---\naliases: [note, One, one]\n---\n# Note\n", ("One",)),
        ("# [[Other|Shown]] **now** ^id\n", ("Shown now",)),
        ("## Second level\n", ()),
        ("---\naliases: ['{{title}}', 5, null]\n---\n", ("5",)),
    ],
)
def test_aliases(text: str, expected: tuple[str, ...]) -> None:
    """Aliases, frontmatter title and first H1 name the note; each once and never its own title."""
    assert expected == note(text).aliases


def test_links_in_values() -> None:
    """Links in properties are links of the note with the line where they stand."""
    text = '---\nup: "[[Home]]"\nsee:\n  - "[[A#B|c]]"\n  - "text [[D]]"\nraw: [[E]]\n# no: [[F]]\n---\n'

    assert (
        Link("Home", "frontmatter", 2),
        Link("A", "frontmatter", 4, heading="B", alias="c"),
        Link("D", "frontmatter", 5),
        Link("E", "frontmatter", 6),
    ) == note(text).links


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ("title: a: b\ntags: [one, two\nalias: 'Open", 2),
        ("tags: one two\n\ttabs: are bad\nalias: Open", 3),
        ("tags:\n  - one\n  - two\nalias: Open\nbad: @x", 6),
        ("bad: %x\nalias: Open\ntags: one, two", 2),
    ],
)
def test_broken_yaml_is_said_and_read_as_far_as_possible(lines: str, line: int) -> None:
    """Tags and aliases are found in properties that are not YAML, and the status says where."""
    broken = note(f"---\n{lines}\n---\nBody [[Link]]\n")

    assert (f"The frontmatter is not valid YAML (line {line}); it was read line by line.",) == broken.issues
    assert ("one", "two") == broken.tags
    assert "Open" in [alias.strip("'") for alias in broken.aliases]
    assert ["Link"] == [link.target for link in broken.links]


def test_a_template_is_not_a_fault() -> None:
    """Template markup in properties is kept as text and is no issue."""
    template = note("---\ncreated: {{date}}\ntags: [daily]\n---\n")

    assert {"created": "{{date}}", "tags": ["daily"]} == template.frontmatter
    assert () == template.issues


@pytest.mark.parametrize(
    "text",
    [
        "text\n---\na: 1\n---\n",
        "---\na: 1\nnever closed\n",
        " ---\na: 1\n---\n",
        "----\na: 1\n----\n",
        "---\nonly words\n---\n",
        "---",
        "",
    ],
)
def test_no_frontmatter(text: str) -> None:
    """Properties begin in the first line, end, and are a mapping; else the lines are text."""
    assert {} == note(text).frontmatter
    assert "".join(text.split()) == "".join("".join(s.text for s in note(text).sections).split())


@pytest.mark.parametrize(
    "lines",
    [
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
        ),
        "a: " + "[" * 5000,
        "a: &a [*a]",
        "a: *nobody",
        "? [a]\n: b",
        "a: 1\n--- \nb: 2",
        "".join(f"k{n}: {'v' * 50}\n" for n in range(30_000)),
    ],
    ids=["bomb", "deep", "recursive", "dangling", "complex-key", "documents", "huge"],
)
def test_hostile_yaml(lines: str) -> None:
    """Bombs, depth, recursion and sheer size are read line by line and said."""
    hostile = note(f"---\n{lines}\n---\n#tag\n")

    assert ("tag",) == hostile.tags
    assert "{" == json.dumps(hostile.frontmatter)[0]
    assert (1 if "b: 2" not in lines else 0) == len(hostile.issues)


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"#%@,? \n\t0.~é"), max_size=80))
def test_any_properties_are_json(lines: str) -> None:
    """Whatever stands between the marks, the values survive JSON."""
    values = note(f"---\n{lines}\n---\n").frontmatter

    assert values == json.loads(json.dumps(values))
