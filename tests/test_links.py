"""Links resolve as in Obsidian, and follow what comes, goes and is renamed."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st

from bridge.model import NotePath
from bridge.paths import fold, name_key
from bridge.runtime import Bridge
from bridge.stores.links import Candidate, Names, Resolution, resolve
from tests.small import settings


def names(*paths: str, aliases: dict[str, Sequence[str]] | None = None) -> Names:
    """Say which files there are, and which notes have which alias."""
    files: dict[str, list[Candidate]] = {}
    for path in paths:
        files.setdefault(name_key(path), []).append(Candidate(path, None))
    known = {fold(alias): [Candidate(path, None) for path in at] for alias, at in (aliases or {}).items()}
    return Names(files, known)


CASES = {
    "by name, wherever it lies": ("Note", "a.md", ["x/y/Note.md"], "x/y/Note.md"),
    "whatever the case": ("nOTE", "a.md", ["x/Note.md"], "x/Note.md"),
    "with its ending": ("Note.md", "a.md", ["x/Note.md"], "x/Note.md"),
    "with accents typed as two signs": ("Cafe\u0301", "a.md", ["Café.md"], "Café.md"),
    "with dots in the name": ("v1.2", "a.md", ["x/v1.2.md"], "x/v1.2.md"),
    "an attachment by name": ("pic.PNG", "a.md", ["Files/Pic.png"], "Files/Pic.png"),
    "a canvas by its whole name": ("Plan.canvas", "a.md", ["x/Plan.canvas", "Plan.md"], "x/Plan.canvas"),
    "no canvas without its ending": ("Plan", "a.md", ["x/Plan.canvas"], None),
    "a full path before a nearer one": ("b/Note", "x/a.md", ["x/b/Note.md", "b/Note.md"], "b/Note.md"),
    "the end of a path": ("b/Note", "a.md", ["x/b/Note.md", "Note.md"], "x/b/Note.md"),
    "no end that cuts a folder's name": ("b/Note", "a.md", ["ab/Note.md"], None),
    "from the root": ("/Note", "x/a.md", ["Note.md", "x/Note.md"], "Note.md"),
    "nothing else from the root": ("/Note", "x/a.md", ["x/Note.md"], None),
    "beside the source": ("./Note", "x/a.md", ["Note.md", "x/Note.md"], "x/Note.md"),
    "above the source": ("../Note", "x/y/a.md", ["Note.md", "x/Note.md", "x/y/Note.md"], "x/Note.md"),
    "two above": ("../../z/Note", "x/y/a.md", ["z/Note.md", "x/z/Note.md"], "z/Note.md"),
    "up and down again": ("y/../z/Note", "x/a.md", ["z/Note.md", "x/z/Note.md"], "x/z/Note.md"),
    "by name where the relative path is stale": ("../Note", "x/a.md", ["y/Note.md"], "y/Note.md"),
    "the root's before the source's folder": ("Note", "x/a.md", ["x/Note.md", "Note.md"], "Note.md"),
    "the source's folder before others": ("Note", "x/a.md", ["b/Note.md", "x/Note.md"], "x/Note.md"),
    "below the source before others": ("Note", "x/a.md", ["b/Note.md", "x/y/Note.md"], "x/y/Note.md"),
    "the shortest path of several": ("Note", "a.md", ["x/y/Note.md", "z/Note.md"], "z/Note.md"),
    "the first of equally short ones": ("Note", "a.md", ["z/Note.md", "y/Note.md"], "y/Note.md"),
    "nothing": ("Note", "a.md", ["Other.md"], None),
}


@pytest.mark.parametrize(("target", "source", "paths", "expected"), CASES.values(), ids=[*CASES])
def test_resolve(target: str, source: str, paths: list[str], expected: str | None) -> None:
    """A link finds what Obsidian opens, in whatever order the files are known."""
    for known in (paths, paths[::-1]):
        assert resolve(target, source, names(*known)).path == expected


def test_ambiguity() -> None:
    """Of a bare name the other files are told; a path that names one file is clear."""
    known = names("x/Note.md", "z/Note.md", "Note.md")

    assert resolve("Note", "z/a.md", known) == Resolution("Note.md", None, ("z/Note.md", "x/Note.md"))
    assert resolve("x/Note", "z/a.md", known).alternatives == ()
    assert resolve("./Note", "z/a.md", known).alternatives == ()


def test_alias() -> None:
    """A name that no file has may be an alias, also one with a slash in it; files go first."""
    known = names("x/Note.md", "Other.md", aliases={"I/O": ["x/Note.md"], "note": ["Other.md"]})

    assert resolve("i/o", "a.md", known).path == "x/Note.md"
    assert resolve("Note", "a.md", known).path == "x/Note.md"


async def ends(bridge: Bridge) -> list[tuple[object, ...]]:
    """Every link with its ends."""
    return await bridge._db.rows(
        "SELECT path, ordinal, target, resolved, resolved_id, ambiguous FROM links "
        "JOIN notes ON notes.id = note_id ORDER BY path, ordinal"
    )


async def test_what_comes_and_goes(tmp_path: Path) -> None:
    """A new note, alias or attachment takes the links that wait for it; a rename moves them; none is left behind."""
    vault = tmp_path / "vault"
    vault.mkdir()

    async def points_to() -> list[str | None]:
        await bridge.index()
        return [link.path for link in (await bridge.note(NotePath("Start.md"))).links]

    def write(path: str, text: str = "Text.") -> None:
        (vault / path).parent.mkdir(exist_ok=True)
        (vault / path).write_text(text)

    async with Bridge.open(settings(vault, tmp_path / "data")) as bridge:
        write("Start.md", "[[One]] and [[The other/name]] and ![[pic.png]] and [[#Here]]")
        here = "Start.md"

        assert await points_to() == [None, None, None, here]

        write("Deep/One.md", "---\naliases: [The other/name]\n---\n")
        write("Deep/pic.png")

        assert await points_to() == ["Deep/One.md", "Deep/One.md", "Deep/pic.png", here]

        write("One.md")

        assert await points_to() == ["One.md", "Deep/One.md", "Deep/pic.png", here]

        (vault / "Deep" / "One.md").rename(vault / "Deep" / "Two.md")
        (vault / "Deep" / "pic.png").unlink()

        assert await points_to() == ["One.md", "Deep/Two.md", None, here]

        write("Deep/Two.md", "No more alias.")
        (vault / "One.md").unlink()

        assert await points_to() == [None, None, None, here]


FOLDERS = st.sampled_from(["", "x/", "x/y/", "Z/"])
FILES = st.builds("{}{}".format, FOLDERS, st.sampled_from(["A.md", "b.md", "C.canvas", "p.png", "I-O.md"]))
TARGETS = st.sampled_from(
    ["A", "a.md", "x/A", "./b", "../A", "/b", "C.canvas", "p.png", "alias", "Al/ias", "y/b", "I-O", "none"]
)
NOTES = st.builds(
    "---\naliases: {}\n---\n{}".format,
    st.lists(st.sampled_from(["alias", "Al/ias", "b"]), max_size=2, unique=True),
    st.lists(TARGETS, max_size=4).map(lambda targets: " ".join(f"[[{target}]]" for target in targets)),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), FILES, NOTES),
        st.tuples(st.just("remove"), FILES, st.just("")),
        st.tuples(st.just("move"), FILES, FILES),
    ),
    min_size=1,
    max_size=5,
)


@hypothesis(max_examples=10, deadline=None)
@given(batches=st.lists(STEPS, min_size=2, max_size=4))
def test_incremental_equals_fresh(
    batches: list[list[tuple[str, str, str]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """After any writes, removals and moves every link ends where a first index would end it."""
    here = tmp_path_factory.mktemp("links")
    vault = here / "vault"
    vault.mkdir()
    (vault / "Keep.md").write_text("[[A]] [[alias]]")

    def apply(verb: str, path: str, more: str) -> None:
        file, other = vault / path, vault / more
        if verb == "write":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text('{"nodes": [], "edges": []}' if file.suffix == ".canvas" else more)
        elif verb == "remove":
            file.unlink(missing_ok=True)
        elif file.exists():
            other.parent.mkdir(parents=True, exist_ok=True)
            file.rename(other)

    async def run() -> None:
        async with Bridge.open(settings(vault, here / "grown")) as bridge:
            for batch in batches:
                for step in batch:
                    apply(*step)
                await bridge.index()
            grown = await ends(bridge)
        async with Bridge.open(settings(vault, here / "fresh")) as bridge:
            await bridge.index()

            assert grown == await ends(bridge)

    asyncio.run(run())
