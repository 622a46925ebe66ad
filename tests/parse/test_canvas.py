"""Canvas files: what their cards say and where they point."""

import json

import pytest

from bridge.model import Link, Note, NotePath
from bridge.parse import parse


def board(content: object) -> Note:
    return parse(NotePath("Board.canvas"), json.dumps(content).encode())


def test_cards() -> None:
    """Cards are read in reading order with their links, tags, headings and labels."""
    note = board(
        {
            "nodes": [
                {"type": "text", "x": 0, "y": 300, "text": "last [[Low]]"},
                {"type": "text", "x": 500, "y": 0, "text": "# Right\n\n- [ ] do it #tag"},
                {"type": "text", "x": 0, "y": 0, "text": "left"},
                {"type": "file", "x": 0, "y": 100, "file": "A/B.md", "subpath": "#Part"},
                {"type": "file", "x": 0, "y": 101, "file": "pic.png"},
                {"type": "link", "x": 0, "y": 200, "url": "https://example.org"},
                {"type": "group", "x": -10, "y": -10, "label": "Frame"},
            ],
            "edges": [{"id": "e", "label": "leads to"}],
        }
    )

    assert "canvas" == note.kind
    assert [
        ((), 1, "Frame"),
        ((), 3, "left"),
        (("Right",), 5, "# Right\n\n- [ ] do it #tag"),
        ((), 9, "https://example.org"),
        ((), 11, "last [[Low]]"),
        ((), 13, "leads to"),
    ] == [(s.heading_path, s.first_line, s.text) for s in note.sections]
    assert {
        Link("A/B.md", "canvas", 9, heading="Part"),
        Link("pic.png", "canvas", 9),
        Link("Low", "link", 11),
    } == set(note.links)
    assert ("tag",) == note.tags
    assert ["do it #tag"] == [task.text for task in note.tasks]
    assert () == note.aliases


@pytest.mark.parametrize("content", [b"", b"  \n", b"{}", b'{"nodes": [], "edges": []}'])
def test_an_empty_canvas(content: bytes) -> None:
    """A canvas without cards is no fault."""
    note = parse(NotePath("Board.canvas"), content)

    assert ((), ()) == (note.sections, note.issues)


@pytest.mark.parametrize(
    "content",
    [
        [],
        5,
        {"nodes": {}},
        {"nodes": [1, None, [], {"text": 5}, {"file": ["x"]}, {"y": "top", "x": None, "text": "ok"}]},
        {"nodes": [{"text": "half \ud83d surrogate \u0000 nul", "x": float("nan"), "y": 10**400}]},
    ],
)
def test_odd_boards(content: object) -> None:
    """Whatever JSON stands there, what can be read is, and any store can hold it."""
    for section in board(content).sections:
        section.text.encode()


def test_a_broken_canvas_is_said_and_searched() -> None:
    """Text that is not JSON is indexed as it stands."""
    note = parse(NotePath("Board.canvas"), b'{"nodes": [{"text": "half a bo')

    assert ("The canvas is not valid JSON; its text was indexed as it stands.",) == note.issues
    assert "half a bo" in note.sections[0].text
