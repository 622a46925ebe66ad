"""The folder as a source: what it yields, what it leaves alone, when it holds still."""

import asyncio
import os
import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.model import Attachment, Deleted, NoteChange, NotePath, Touched, Upserted
from bridge.sources.agenda import WHOLE, Agenda
from bridge.sources.files import FilesSource
from bridge.sources.survey import MAX_NOTE_BYTES
from bridge.sources.watch import QUIET_MS
from tests.processes import ALLOWED, run_script
from tests.soak.files import Mirror, on_disk, operate, until, watch_random_operations

LIMITS = [
    ("files", "at the start"),
    *([("watches", "at the start"), ("watches", "by a new folder")] if ALLOWED else ()),
]

NFC, NFD = "Caf\u00e9.md", "Cafe\u0301.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    (root / "a" / "b").mkdir(parents=True)
    (root / "one.md").write_text("one")
    (root / "a" / "two.md").write_text("two")
    (root / "a" / "b" / "three.canvas").write_text("{}")
    (root / "picture.png").write_bytes(b"png")
    return root


@pytest.fixture
def mirror() -> Mirror:
    return Mirror()


def source_of(
    root: Path, mirror: Mirror, include: Sequence[str] = ("**",), exclude: Sequence[str] = ()
) -> FilesSource:
    return FilesSource(root, mirror.known, include=include, exclude=exclude)


def age(root: Path) -> None:
    """Make all files a minute old, so that their stamps are believed."""
    for file in root.rglob("*"):
        if file.is_file():
            stamp = file.stat().st_mtime_ns - 60_000_000_000
            os.utime(file, ns=(stamp, stamp))


async def test_first_scan(root: Path, mirror: Mirror) -> None:
    """A scan yields every note with its bytes, newest first, and other files as link targets."""
    for order, name in enumerate(("one.md", "a/two.md", "a/b/three.canvas")):
        os.utime(root / name, ns=(0, order * 1_000_000_000))

    changes = await mirror.scan(source_of(root, mirror))

    assert on_disk(root) == mirror.contents
    assert {"picture.png"} == mirror.attachments
    assert ["a/b/three.canvas", "a/two.md", "one.md"] == [c.path for c in changes if isinstance(c, Upserted)]
    assert [] == await mirror.scan(source_of(root, mirror))


async def test_left_alone(root: Path, mirror: Mirror, tmp_path: Path) -> None:
    """Dot names, node_modules, editors' passing files and links that leave the vault are not there."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    for name in (".obsidian/x.md", ".trash/y.md", "node_modules/z.md", "a/node_modules/z.md", ".hidden.md"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("no")
    (root / "one.md~").write_text("no")
    (root / "leaves.md").symlink_to(outside / "secret.md")
    (root / "leaves").symlink_to(outside)
    (root / "loop").symlink_to(root / "a")
    (root / "broken.md").symlink_to(root / "none.md")
    (root / "same.md").symlink_to(root / "one.md")
    os.mkfifo(root / "pipe.md")

    await mirror.scan(source_of(root, mirror))

    assert {"one.md", "a/two.md", "a/b/three.canvas", "same.md"} == set(mirror.contents)
    assert {"picture.png"} == mirror.attachments


async def test_touch_costs_nothing(root: Path, mirror: Mirror) -> None:
    """A stamp that moved over equal bytes is a touch; nothing is delivered to be parsed."""
    source = source_of(root, mirror)
    await mirror.scan(source)
    age(root)
    touched = await mirror.scan(source)

    assert {"one.md", "a/two.md", "a/b/three.canvas"} == {c.path for c in touched if isinstance(c, Touched)}
    assert ["picture.png"] == [c.path for c in touched if isinstance(c, Attachment)]
    assert not any(isinstance(change, Upserted) for change in touched)


async def test_same_tick(root: Path, mirror: Mirror) -> None:
    """Two writes of equal length within one tick of the disk's clock are both seen."""
    source = source_of(root, mirror)
    await mirror.scan(source)
    status = (root / "one.md").stat()
    (root / "one.md").write_text("eno")
    os.utime(root / "one.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    await mirror.scan(source)

    assert b"eno" == mirror.contents[NotePath("one.md")]


async def test_rename_comes_whole(root: Path, mirror: Mirror) -> None:
    """Both halves of each rename come in one batch, also when a folder of many notes moved."""
    for number in range(600):
        (root / "a" / f"{number}.md").write_text(str(number))
    source = source_of(root, mirror)
    await mirror.scan(source)
    (root / "a").rename(root / "z")
    batches = [batch async for batch in source.scan()]

    for batch in batches:
        gone = {c.path.removeprefix("a/") for c in batch if isinstance(c, Deleted)}
        come = {c.path.removeprefix("z/") for c in batch if isinstance(c, Upserted)}
        assert gone == come
    assert 1204 == sum(map(len, batches))
    assert max(map(len, batches)) < 260


async def test_batches_are_bounded(root: Path, mirror: Mirror) -> None:
    """Large notes come in small batches, so that memory stays flat."""
    for number in range(6):
        (root / f"{number}.md").write_bytes(b"x" * 3_000_000)
    batches = [batch async for batch in source_of(root, mirror).scan()]

    assert (
        max(sum(len(c.content) for c in batch if isinstance(c, Upserted)) for batch in batches) < 12_000_000
    )
    assert len(batches) >= 2


async def test_include_and_exclude(root: Path, mirror: Mirror) -> None:
    """Settings choose the notes; one that they leave out later is deleted from the index."""
    await mirror.scan(source_of(root, mirror))
    await mirror.scan(source_of(root, mirror, include=["a/**"], exclude=["a/b/"]))

    assert {"a/two.md"} == set(mirror.contents)
    assert {"picture.png"} == mirror.attachments


async def test_names_fall_together(root: Path, mirror: Mirror) -> None:
    """Of two names that are the same in NFC the NFC one is the note; the other failed, and says why."""
    (root / NFD).write_text("decomposed")
    source = source_of(root, mirror)
    await mirror.scan(source)

    assert b"decomposed" == mirror.contents[NotePath(NFC)]

    (root / NFC).write_text("composed")
    await mirror.scan(source)

    assert b"composed" == mirror.contents[NotePath(NFC)]
    assert {NFD: "name_clash"} == mirror.failures
    assert [] == await mirror.scan(source)

    (root / NFC).unlink()
    await mirror.scan(source)

    assert b"decomposed" == mirror.contents[NotePath(NFC)]
    assert {} == mirror.failures


async def test_failures(root: Path, mirror: Mirror) -> None:
    """What cannot be indexed is listed with its reason, once, and is well again when the fault is gone."""
    (root / os.fsdecode(b"caf\xe9.md")).write_text("latin-1 name")
    with (root / "huge.md").open("wb") as file:
        file.truncate(MAX_NOTE_BYTES + 1)
    source = source_of(root, mirror)
    await mirror.scan(source)

    assert {"caf\\xe9.md": "name_not_utf8", "huge.md": "too_large"} == mirror.failures
    assert [] == [change for change in await mirror.scan(source) if not isinstance(change, Touched)]

    os.truncate(root / "huge.md", 10)
    (root / os.fsdecode(b"caf\xe9.md")).unlink()
    await mirror.scan(source)

    assert {} == mirror.failures
    assert bytes(10) == mirror.contents[NotePath("huge.md")]


@pytest.mark.parametrize("emptied", ["removed", "emptied", "only .obsidian left", "a file in its place"])
async def test_held(root: Path, mirror: Mirror, emptied: str) -> None:
    """A vault that vanishes or empties is held and said, never taken as deleted, and comes back by itself."""
    source = source_of(root, mirror)
    await mirror.scan(source)
    before = dict(mirror.contents)
    aside = root.with_name("aside")
    root.rename(aside)
    if emptied == "a file in its place":
        root.write_text("")
    elif emptied != "removed":
        (root / ".obsidian").mkdir(parents=True)
        (root / ".obsidian" / "app.json").write_text("{}")

    assert [] == await mirror.scan(source)
    assert "held" == source.status().state
    assert source.status().reason

    if root.is_dir():
        shutil.rmtree(root)
    root.unlink(missing_ok=True)
    aside.rename(root)
    (root / "new.md").write_text("new")
    await mirror.scan(source)

    assert "held" != source.status().state
    assert before | {NotePath("new.md"): b"new"} == mirror.contents


def test_unlisted_folder() -> None:
    """A folder that cannot be listed is not taken for an empty one."""
    script = """
        import asyncio, os, sys
        from pathlib import Path
        from bridge.sources.files import FilesSource
        from tests.soak.files import Mirror

        async def main():
            root, mirror = Path(sys.argv[1]), Mirror()
            source = FilesSource(root, mirror.known)
            await mirror.scan(source)
            (root / "a").chmod(0)
            await mirror.scan(source)
            assert {"one.md", "a/two.md"} == set(mirror.contents), mirror.contents
            assert {"a": "unreadable"} == mirror.failures, mirror.failures
            (root / "a").chmod(0o700)
            await mirror.scan(source)
            assert {"one.md", "a/two.md"} == set(mirror.contents) and not mirror.failures

        if os.getuid() == 0:
            os.setuid(65534)  # root reads everything
        root = Path(sys.argv[1])
        (root / "a").mkdir()
        (root / "one.md").write_text("one")
        (root / "a" / "two.md").write_text("two")
        asyncio.run(main())
    """
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        run_script(script, name)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 4))
def test_scans_equal_disk(seed: int, steps: int, scans: int) -> None:
    """Whatever was done to a folder between two scans, the changes lead to what is on disk."""
    rng = random.Random(seed)

    async def scan_between_operations() -> None:
        with tempfile.TemporaryDirectory() as name:
            root, mirror = Path(name), Mirror()
            (root / "kept.md").write_text("kept")
            source = FilesSource(root, mirror.known)
            for _ in range(scans):
                for _ in range(steps):
                    operate(root, rng)
                await mirror.scan(source)
                assert on_disk(root) == mirror.contents
            assert [] == await mirror.scan(source)

    asyncio.run(scan_between_operations())


@pytest.mark.parametrize("seed", range(4))
async def test_watching_equals_disk(seed: int) -> None:
    """Whatever is done to a watched folder, once it is quiet the changes lead to what is on disk."""
    await watch_random_operations(seed, 40)


async def test_save_is_seen_at_once(root: Path, mirror: Mirror) -> None:
    """A save is delivered within a tenth of a second; its writer may still be at work in a burst."""
    source = source_of(root, mirror)
    async with mirror.watching(source):
        assert "watching" == source.status().state
        (root / "one.md").write_text("saved")
        await until(lambda: mirror.contents[NotePath("one.md")] == b"saved", timeout_s=0.5)


async def test_save_by_rename_is_no_deletion(root: Path, mirror: Mirror) -> None:
    """An editor that moves the old file away and a new one in modifies the note."""
    source = source_of(root, mirror)
    async with mirror.watching(source):
        for number in range(5):
            (root / "one.md").rename(root / "one.md~")
            await asyncio.sleep(0.05)
            (root / "one.md").write_text(f"saved {number}")
            (root / "one.md~").unlink()
            await until(lambda n=number: mirror.contents[NotePath("one.md")] == f"saved {n}".encode())  # type: ignore[misc]

    assert not any(isinstance(change, Deleted) for change in mirror.changes)


async def test_rename_is_seen_whole(root: Path) -> None:
    """A note moved while watched comes as one batch with both paths; so does a folder's."""
    batches: list[list[NoteChange]] = []

    class Recording(Mirror):
        def apply(self, batch: list[NoteChange]) -> None:
            batches.append(batch)
            super().apply(batch)

    mirror = Recording()
    source = source_of(root, mirror)
    async with mirror.watching(source):
        (root / "one.md").rename(root / "a" / "uno.md")
        await until(lambda: NotePath("a/uno.md") in mirror.contents)
        (root / "a").rename(root / "z")
        await until(
            lambda: NotePath("z/uno.md") in mirror.contents and NotePath("a/two.md") not in mirror.contents
        )

    renames = [batch for batch in batches if any(isinstance(change, Deleted) for change in batch)]
    for batch in renames:
        assert any(isinstance(change, Upserted) for change in batch)


async def test_links_while_watched(root: Path, mirror: Mirror, tmp_path: Path) -> None:
    """What happens behind a link that leaves the vault is not heard, though the system tells it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "leaves").symlink_to(outside)
    source = source_of(root, mirror)
    async with mirror.watching(source):
        (outside / "secret.md").write_text("secret")
        (root / "seen.md").write_text("seen")
        await until(lambda: NotePath("seen.md") in mirror.contents)
        await asyncio.sleep(2 * QUIET_MS / 1000)

    assert NotePath("leaves/secret.md") not in mirror.contents


async def test_burst(root: Path, mirror: Mirror) -> None:
    """Thousands of files at once all arrive, in few batches."""
    source = source_of(root, mirror)
    async with mirror.watching(source):
        await asyncio.to_thread(make_many, root)
        await until(lambda: len(mirror.contents) == 2003, timeout_s=20)
        assert on_disk(root) == mirror.contents


def make_many(root: Path) -> None:
    for number in range(2000):
        folder = root / f"deep {number % 50}" / "er"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.md").write_text(str(number))


@pytest.mark.parametrize("how", ["files", "folder"])
async def test_emptied_while_watched(root: Path, mirror: Mirror, how: str) -> None:
    """A watched vault that empties or vanishes is held; nothing is deleted, and it goes on when it is back."""
    source = source_of(root, mirror)
    async with mirror.watching(source):
        before = dict(mirror.contents)
        saved = root.with_name("saved")
        shutil.copytree(root, saved)
        for entry in list(root.iterdir()):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        if how == "folder":
            root.rmdir()
        await until(lambda: source.status().state == "held")

        assert before == mirror.contents

        shutil.copytree(saved, root, dirs_exist_ok=True)
        (root / "new.md").write_text("new")
        await until(lambda: source.status().state == "watching")
        await until(lambda: NotePath("new.md") in mirror.contents)
        (root / "one.md").write_text("goes on")
        await until(lambda: mirror.contents[NotePath("one.md")] == b"goes on")

        assert on_disk(root) == mirror.contents


async def test_name_that_the_watcher_cannot_say(root: Path, mirror: Mirror) -> None:
    """A file whose name is not UTF-8 does not end the watching."""
    source = source_of(root, mirror)
    async with mirror.watching(source):
        (root / os.fsdecode(b"caf\xe9.md")).write_text("x")
        await until(lambda: "caf\\xe9.md" in mirror.failures)
        (root / "one.md").write_text("goes on")
        await until(lambda: mirror.contents[NotePath("one.md")] == b"goes on")


@pytest.mark.parametrize(("limit", "reached"), LIMITS)
def test_watch_limit(root: Path, limit: str, reached: str) -> None:
    """Where a limit of the system is reached the folder is polled instead, and the status says why."""
    script = """
        import asyncio, resource, sys
        from contextlib import suppress
        from pathlib import Path
        from bridge.sources.files import FilesSource
        from tests.soak.files import Mirror, until

        root, limit, reached = Path(sys.argv[1]), sys.argv[2], sys.argv[3]

        async def main():
            mirror = Mirror()
            source = FilesSource(root, mirror.known)
            held = []
            if limit == "files":
                resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
                await asyncio.to_thread(len, "")
                with suppress(OSError):
                    while True:
                        held.append(open("/dev/null"))
            else:
                Path("/proc/sys/user/max_inotify_watches").write_text("1" if reached == "at the start" else "3")
            async with mirror.watching(source):
                for file in held:
                    file.close()
                if reached == "by a new folder":
                    assert source.status().state == "watching"
                    (root / "c" / "d").mkdir(parents=True)
                await until(lambda: source.status().state == "polling", 20)
                (root / "one.md").write_text("polled")
                await until(lambda: mirror.contents.get("one.md") == b"polled", 20)
                print(source.status().reason)

        asyncio.run(main())
    """
    said = run_script(script, root, limit, reached, in_namespace=limit == "watches")

    assert "max_user_watches" in said


def test_agenda() -> None:
    """Deletions alone wait for quiet; anything else is due at once, with what waited."""
    agenda = Agenda()

    assert () == agenda.next({"gone.md": False}, held=False)
    assert {"gone.md", "come.md"} == agenda.next({"come.md": True}, held=False)
    assert () == agenda.next({"gone.md": False}, held=False)
    assert {"gone.md"} == agenda.next({}, held=False)
    assert set() == agenda.next({}, held=False)


def test_agenda_looks_twice_at_folders() -> None:
    """A touched folder is looked at once more when it is quiet, and then no more."""
    agenda = Agenda()
    agenda.next({"new": True}, held=False)
    agenda.looked({"new"})

    assert {"new"} == agenda.next({}, held=False)
    agenda.looked({"new"})
    assert set() == agenda.next({}, held=False)
    assert WHOLE != agenda.next({}, held=True)


async def test_a_folder_that_the_watcher_cannot_name(root: Path, mirror: Mirror) -> None:
    """A folder whose name is not UTF-8 breaks off the watch each time it is looked at: it is polled, and said."""
    os.mkdir(os.fsencode(root) + b"/caf\xe9")
    source = source_of(root, mirror)
    async with mirror.watching(source):
        async with asyncio.timeout(20):
            while source.status().state != "polling":
                os.listdir(os.fsencode(root) + b"/caf\xe9")
                await asyncio.sleep(0.05)
        assert "UTF-8" in (source.status().reason or "")
