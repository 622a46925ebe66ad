"""The web of links, read: a note's own links, neighbours, what leads nowhere, what stands alone."""

from pathlib import Path

import pytest

from bridge.errors import NotFound
from bridge.model import NoteId, NotePath, Scope
from bridge.paths import note_id
from bridge.search.graph import Graph
from tests.small import indexed

VAULT = {
    "Start.md": "---\nup: '[[Up]]'\n---\n[[Near]] and ![[pic.png]]\n![[Near]] [[Nowhere]] [[#Here]]\n[[Twin]]",
    "Up.md": "[[Start]]",
    "Near.md": "[[Far|far]]",
    "Far.md": "[[Start]] [[Farther]] [[nowhere]]",
    "Farther.md": "End.",
    "Secret/Hub.md": "[[Start]] [[Alone]] [[Farther]]",
    "Alone.md": "[[Alone]] alone, [[Gone]], ![[pic.png]]",
    "A/Twin.md": "One.",
    "B/Twin.md": "Other.",
    "Secret/pic.png": "",
    "Board.canvas": '{"nodes": [{"id": "1", "type": "file", "file": "Far.md"}], "edges": []}',
}
GUEST = Scope(key="guest", deny=("Secret/**",))


def path(text: str) -> NotePath:
    return NotePath(text)


async def test_links_of_a_note(tmp_path: Path) -> None:
    """A note's links come in their order with kind, line and what else they could mean; into itself is no link."""
    async with indexed(tmp_path / "vault", VAULT) as bridge:
        links = await bridge.graph_links(path("Start.md"))
        far = await bridge.graph_links(path("Far.md"))

    assert [(link.target, link.path, link.title, link.kind, link.line) for link in links.out] == [
        ("Up", "Up.md", "Up", "frontmatter", 2),
        ("Near", "Near.md", "Near", "link", 4),
        ("pic.png", "Secret/pic.png", "pic.png", "embed", 4),
        ("Near", "Near.md", "Near", "embed", 5),
        ("Twin", "A/Twin.md", "Twin", "link", 6),
    ]
    assert links.out[-1].ambiguous == ("B/Twin.md",)
    assert [link.target for link in links.unresolved] == ["Nowhere"]
    assert [link.path for link in links.in_] == ["Far.md", "Secret/Hub.md", "Up.md"]
    assert [(link.path, link.kind) for link in far.in_] == [("Board.canvas", "canvas"), ("Near.md", "link")]


async def test_another_meaning_that_is_denied_is_none(tmp_path: Path) -> None:
    """What a link could mean too is told of notes that one may see, and of no other."""
    async with indexed(tmp_path / "vault", VAULT) as bridge:
        links = await bridge.graph_links(path("Start.md"), scope=Scope(key="other", deny=("B/**",)))

    assert ("A/Twin.md", ()) == (links.out[-1].path, links.out[-1].ambiguous)


async def test_backlinks(tmp_path: Path) -> None:
    """A note's backlinks come from other notes that one may see; a link to itself is none."""
    async with indexed(tmp_path / "vault", VAULT) as bridge:
        alone = await bridge.note(path("Alone.md"))
        seen = await bridge.note(path("Alone.md"), scope=GUEST)

    assert [(link.path, link.title, link.line) for link in alone.backlinks] == [("Secret/Hub.md", "Hub", 1)]
    assert seen.backlinks == ()


async def test_neighbors(tmp_path: Path) -> None:
    """Neighbours are reached both ways, each once by its shortest way, around any circle."""
    async with indexed(tmp_path / "vault", VAULT) as bridge:
        near = await bridge.neighbors(path("Start.md"), 1)
        all_ = await bridge.neighbors(path("Start.md"), 5)

    assert {node.path: node.hops for node in near.nodes} == {
        "Start.md": 0,
        "A/Twin.md": 1,
        "Far.md": 1,
        "Near.md": 1,
        "Secret/Hub.md": 1,
        "Up.md": 1,
    }
    assert {node.path: node.hops for node in all_.nodes if node.hops > 1} == {
        "Alone.md": 2,
        "Board.canvas": 2,
        "Farther.md": 2,
    }
    assert ("Start.md", "Up.md", "frontmatter") in {(edge.from_, edge.to, edge.kind) for edge in near.edges}
    assert ("Near.md", "Far.md", "link") in {(edge.from_, edge.to, edge.kind) for edge in near.edges}


async def test_denied_notes(tmp_path: Path) -> None:
    """A denied note looks like an unresolved link, and no way leads through it."""
    async with indexed(tmp_path / "vault", VAULT) as bridge:
        links = await bridge.graph_links(path("Start.md"), scope=GUEST)
        around = await bridge.neighbors(path("Start.md"), 5, scope=GUEST)
        unresolved = await bridge.unresolved(scope=GUEST)
        orphans = await bridge.orphans(scope=GUEST)

        with pytest.raises(NotFound):
            await bridge.graph_links(path("Secret/Hub.md"), scope=GUEST)
        with pytest.raises(NotFound):
            await bridge.neighbors(path("Secret/Hub.md"), 1, scope=GUEST)

    assert [link.target for link in links.unresolved] == ["pic.png", "Nowhere"]
    assert "Secret/Hub.md" not in {link.path for link in links.in_}
    assert {"Secret/Hub.md", "Alone.md"}.isdisjoint(node.path for node in around.nodes)
    assert [one.target for one in unresolved] == ["Nowhere", "Gone"]
    assert "Alone.md" in {note.path for note in orphans}


async def test_unresolved_and_orphans(tmp_path: Path) -> None:
    """The most wanted target comes first with the notes that want it; a link to oneself saves nobody from being alone."""
    async with indexed(tmp_path / "vault", VAULT | {"Alone too.md": "Nobody."}) as bridge:
        unresolved = await bridge.unresolved()
        orphans = await bridge.orphans()

    assert [(one.target, one.count, one.sources) for one in unresolved] == [
        ("Nowhere", 2, ("Far.md", "Start.md")),
        ("Gone", 1, ("Alone.md",)),
    ]
    assert [note.path for note in orphans] == ["Alone too.md", "B/Twin.md"]


async def test_expand(tmp_path: Path) -> None:
    """Search reaches the notes around its seeds, the nearest first, and none that may not be seen."""

    def ids(*paths: str) -> list[NoteId]:
        return [note_id(path(each)) for each in paths]

    async with indexed(tmp_path / "vault", VAULT) as bridge:
        graph = Graph(bridge._db)
        found = await graph.expand(ids("Up.md"), hops=2, notes=None)
        seen = frozenset(ids("Up.md", "Start.md", "Near.md"))
        guarded = await graph.expand(ids("Up.md"), hops=2, notes=seen)

    assert next(iter(found.items())) == (*ids("Start.md"), 1)
    assert found.keys() == {*ids("Start.md", "Near.md", "Far.md", "A/Twin.md", "Secret/Hub.md")}
    assert guarded == {ids("Start.md")[0]: 1, ids("Near.md")[0]: 2}


async def test_a_dense_web(tmp_path: Path) -> None:
    """Hundreds of notes that all link to each other are walked at any depth, up to a bound."""
    everyone = " ".join(f"[[{n}]]" for n in range(150))
    notes = {f"{n}.md": everyone for n in range(150)}
    async with indexed(tmp_path / "vault", notes) as bridge:
        around = await bridge.neighbors(path("7.md"), 5)

    assert len(around.nodes) == 150
    assert {node.hops for node in around.nodes if node.path != "7.md"} == {1}
