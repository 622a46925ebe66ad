"""The bridge as a whole: real stores over a real folder, without HTTP."""

import asyncio
import os
import shutil
import threading
from functools import partial
from pathlib import Path

import pytest

from bridge.data import FULLTEXT, INDEX
from bridge.errors import InstallationError
from bridge.model import OWNER, Filter, NotePath, Scope
from bridge.runtime import Bridge
from bridge.search.counts import Embedded
from bridge.vault.reader import revision_of
from tests.small import found, serving, settings, snapshot, until, until_settled


async def test_a_vault_is_searchable_and_changes_follow(vault: Path, tmp_path: Path) -> None:
    """A note written, changed, renamed and deleted in the folder is found, or not, accordingly."""
    async with serving(settings(vault, tmp_path / "data")) as bridge:
        (vault / "Zeppelin.md").write_text("# Airships\n\nHelium keeps the quokkabird aloft.\n")
        await until(lambda: _finds(bridge, "quokkabird", ["Zeppelin.md"]))
        (vault / "Zeppelin.md").write_text("# Airships\n\nHydrogen keeps the wombatfish aloft.\n")
        await until(lambda: _finds(bridge, "wombatfish", ["Zeppelin.md"]))

        assert [] == await found(bridge, "quokkabird")

        (vault / "Sub").mkdir(exist_ok=True)
        (vault / "Zeppelin.md").rename(vault / "Sub" / "Dirigible.md")
        await until(lambda: _finds(bridge, "wombatfish", ["Sub/Dirigible.md"]))
        (vault / "Sub" / "Dirigible.md").unlink()
        await until(lambda: _says_last(bridge, "deleted"))

        assert [] == await found(bridge, "wombatfish")

        changes = [(change.change, change.path, change.old_path) for change in await bridge.recent(limit=4)]

        assert [
            ("deleted", "Sub/Dirigible.md", None),
            ("renamed", "Sub/Dirigible.md", "Zeppelin.md"),
            ("modified", "Zeppelin.md", None),
            ("created", "Zeppelin.md", None),
        ] == changes


async def _says_last(bridge: Bridge, change: str) -> bool:
    return [one.change for one in await bridge.recent(limit=1)] == [change]


async def _finds(bridge: Bridge, query: str, paths: list[str]) -> bool:
    return await found(bridge, query) == paths


async def test_incremental_equals_rebuild(vault: Path, tmp_path: Path) -> None:
    """After edits the derived rows are those that a fresh index of the same folder has."""
    async with serving(settings(vault, tmp_path / "data")) as bridge:
        notes = sorted(vault.rglob("*.md"))
        notes[0].write_text("Changed, with a [[New target]] and a #fresh/tag.\n")
        (vault / "New target.md").write_text("---\naliases: [Brand new]\n---\nSee [[Brand new]].\n")
        notes[1].rename(notes[1].with_name("Renamed by hand.md"))
        notes[2].unlink()
        for file in (*notes[:3], vault / "New target.md", notes[1].with_name("Renamed by hand.md")):
            await until(partial(_follows, bridge, vault, file))
        await until_settled(bridge)
        grown, searchable = await snapshot(bridge._db), bridge._fulltext.chunks
    async with serving(settings(vault, tmp_path / "fresh")) as bridge:
        fresh = await snapshot(bridge._db)

    assert fresh == grown
    assert len(fresh["chunks"]) == searchable


async def test_a_rebuild_is_settled_when_it_is_done(vault: Path, tmp_path: Path) -> None:
    """Who asks right after a rebuild began, as the command does, is not told that it is over."""
    async with serving(settings(vault, tmp_path / "data")) as bridge:
        await bridge.rebuild()
        began = await bridge.status()
        await until_settled(bridge)

    assert (began.sources.files.state, began.settled) == ("scanning", False)


async def _follows(bridge: Bridge, vault: Path, file: Path) -> bool:
    """Whether the index has of a file what the folder has."""
    status = await bridge.note_status(NotePath(file.relative_to(vault).as_posix()))
    return status.revision == (revision_of(file.read_bytes()) if file.exists() else None)


async def test_nothing_changed_costs_no_rows(vault: Path, tmp_path: Path) -> None:
    """A second start, also after every file was touched, stores no note again."""
    chosen = settings(vault, tmp_path / "data")
    async with serving(chosen) as bridge:
        before = await bridge._db.rows("SELECT id, seq FROM notes ORDER BY id")
    for path in vault.rglob("*.md"):
        os.utime(path)
    async with serving(chosen) as bridge:
        after = await bridge._db.rows("SELECT id, seq FROM notes ORDER BY id")

    assert before == after


@pytest.mark.parametrize("lost", [INDEX, FULLTEXT, "both", "damaged"])
async def test_derived_data_may_be_deleted(vault: Path, tmp_path: Path, lost: str) -> None:
    """Any part of the index can go, or be damaged; the next start builds it again."""
    data = tmp_path / "data"
    async with serving(settings(vault, data)) as bridge:
        expected = (await bridge.search("coffee", limit=50)).hits
    for path in data.iterdir():
        if lost in (INDEX, "both") and path.name.startswith(INDEX):
            path.unlink()
        elif lost in (FULLTEXT, "both") and path.name == FULLTEXT:
            shutil.rmtree(path)
    if lost == "damaged":
        (data / INDEX).write_bytes(b"rubbish" * 1000)
    async with serving(settings(vault, data)) as bridge:
        again = (await bridge.search("coffee", limit=50)).hits

    assert expected
    assert [hit.path for hit in expected] == [hit.path for hit in again]


async def test_one_data_folder_has_one_owner(vault: Path, tmp_path: Path) -> None:
    """A second writer is refused with a sentence and the first goes on."""
    chosen = settings(vault, tmp_path / "data")
    async with serving(chosen) as bridge:
        with pytest.raises(InstallationError, match="Another Transom"):
            async with Bridge.open(chosen):
                pass

        assert await found(bridge, "coffee")


async def test_a_vanished_vault_is_held(vault: Path, tmp_path: Path) -> None:
    """An unmounted disk empties nothing: the index stays, the state says held, and it recovers."""
    async with serving(settings(vault, tmp_path / "data")) as bridge:
        expected = await found(bridge, "coffee")
        away = vault.with_name("away")
        vault.rename(away)
        await until(lambda: _files_state(bridge, "held"))

        assert expected == await found(bridge, "coffee")

        away.rename(vault)
        await until(lambda: _files_state(bridge, "watching"))

        assert expected == await found(bridge, "coffee")


async def _files_state(bridge: Bridge, state: str) -> bool:
    return (await bridge.status()).sources.files.state == state


async def test_a_scope_acts_inside_queries_and_counts(vault: Path, tmp_path: Path) -> None:
    """A key that may not see a folder gets full answers from the rest, and counts without it."""
    (vault / "Private").mkdir()
    for n in range(30):
        (vault / "Private" / f"Secret {n}.md").write_text("coffee " * 20)
    scope = Scope("guest", deny=("Private/",))
    async with serving(settings(vault, tmp_path / "data")) as bridge:
        everything, visible = (await bridge.status(OWNER)).vault, (await bridge.status(scope)).vault
        seen = await found(bridge, "coffee", limit=10, scope=scope)

        assert everything.notes - 30 == visible.notes
        assert seen
        assert not any(path.startswith("Private") for path in seen)


async def test_filters_narrow(vault: Path, tmp_path: Path) -> None:
    """A path filter and a tag inside the query narrow what is ranked."""
    (vault / "Brew").mkdir()
    (vault / "Brew" / "One.md").write_text("coffee #method/pour-over")
    (vault / "Two.md").write_text("coffee #method")
    async with serving(settings(vault, tmp_path / "data")) as bridge:
        assert ["Brew/One.md"] == await found(bridge, "coffee", filter=Filter(path="Brew/**"))
        assert {"Brew/One.md", "Two.md"} == set(await found(bridge, "coffee tag:method"))
        assert ["Two.md"] == await found(bridge, "coffee tag:method -path:Brew")
        assert {"Brew/One.md", "Two.md"} == set(await found(bridge, "tag:method"))
        assert [] == await found(bridge, "")


async def test_filters_alone_give_the_newest_first(vault: Path, tmp_path: Path) -> None:
    """Without a word to rank by, the notes that were edited last come first."""
    names = ["Second.md", "First.md", "Third.md"]
    for name, edited_s in zip(names, (2, 3, 1), strict=True):
        (vault / name).write_text("#quokka")
        os.utime(vault / name, (0, 1_700_000_000 + edited_s))
    async with serving(settings(vault, tmp_path / "data")) as bridge:
        assert ["First.md", "Second.md", "Third.md"] == await found(bridge, "tag:quokka")
        assert ["First.md"] == await found(bridge, "tag:quokka", limit=1)


async def test_a_time_span_holds_its_first_moment_and_not_its_last(vault: Path, tmp_path: Path) -> None:
    """`modified_after` is inclusive, `modified_before` exclusive, so that spans can be put side by side."""
    noon_ns, second_ns = 1_700_000_000_000_000_000, 1_000_000_000
    for n, name in enumerate(("First.md", "Second.md", "Third.md")):
        (vault / name).write_text("quokkabird")
        os.utime(vault / name, ns=(0, noon_ns + n * second_ns))
    span = Filter(modified_after_ns=noon_ns + second_ns, modified_before_ns=noon_ns + 2 * second_ns)
    async with serving(settings(vault, tmp_path / "data")) as bridge:
        assert ["Second.md"] == await found(bridge, "quokkabird", filter=span)


def test_where_nothing_is_to_be_embedded_nothing_is_missing() -> None:
    """Coverage is a share of what should be embedded; of nothing, all of it is."""
    assert [1.0, 0.5, 1.0] == [
        Embedded(wanted=wanted, embedded=embedded, pending=0).coverage
        for wanted, embedded in ((0, 0), (2, 1), (2, 2))
    ]


async def test_a_note_says_its_state(vault: Path, tmp_path: Path) -> None:
    """Indexed, excluded, failed and absent notes are told apart, with the reason."""
    (vault / "Skip").mkdir()
    (vault / "Skip" / "Out.md").write_text("left out")
    chosen = settings(vault, tmp_path / "data", exclude=("Skip/",))
    (vault / "Here.md").write_text("here")
    async with serving(chosen) as bridge:
        here = await bridge.note_status(NotePath("Here.md"))
        out = await bridge.note_status(NotePath("Skip/Out.md"))
        absent = await bridge.note_status(NotePath("Nowhere.md"))

        assert ("indexed", 1) == (here.state, here.chunks)
        assert ("excluded", True) == (out.state, "Skip/" in (out.reason or ""))
        assert "absent" == absent.state


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files as Linux lists them")
async def test_opening_and_closing_leaks_nothing(vault: Path, tmp_path: Path) -> None:
    """Thirty bridges one after another leave no more files and threads open than the first did."""

    async def once() -> tuple[int, int]:
        async with serving(settings(vault, tmp_path / "data")):
            pass
        return await asyncio.to_thread(lambda: (len(os.listdir("/proc/self/fd")), threading.active_count()))

    files, threads = [await once() for _ in range(5)][-1]
    for _ in range(25):
        last = await once()

    assert last[0] <= files
    assert last[1] <= threads + 1  # the loop's thread pool may still grow by one
