"""The one writer: whole files, kept promises about revisions, and nothing lost."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bridge.errors import Clash, InvalidPath, NotFound, Refused, RevisionMismatch, TransomError
from bridge.model import NotePath
from bridge.paths import note_path
from bridge.stores.database import Database
from bridge.stores.schema import STATE
from bridge.stores.state import StateStore
from bridge.vault import atomic
from bridge.vault.reader import VaultReader, revision_of
from bridge.vault.writer import ABSENT, ANY, Expected, VaultWriter
from tests.processes import ALLOWED, run_script
from tests.soak.crash import crash_at_random
from tests.test_files import NFC, NFD

A = NotePath("a.md")
OLD, NEW = b"old", b"new"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault of tests"
    root.mkdir()
    (root / "a.md").write_bytes(OLD)
    return root


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[StateStore]:
    (tmp_path / "data").mkdir()
    db = await Database.open(tmp_path / "data" / "state.sqlite", STATE, durable=True)
    yield StateStore(db, tmp_path / "data")
    await db.close()


@pytest.fixture
def writer(root: Path, state: StateStore) -> VaultWriter:
    return VaultWriter(root, state)


def names(root: Path) -> set[str]:
    return {file.relative_to(root).as_posix() for file in root.rglob("*") if not file.is_dir()}


@pytest.mark.parametrize("expected", [ANY, revision_of(OLD)])
async def test_write(root: Path, state: StateStore, writer: VaultWriter, expected: Expected) -> None:
    """A file that is as expected gets the new bytes; the journal has both sides and who it was."""
    (root / "a.md").chmod(0o640)
    written = await writer.write(A, NEW, expected, "api:test")

    assert NEW == (root / "a.md").read_bytes()
    assert (revision_of(NEW), revision_of(OLD)) == (written.revision, written.previous)
    assert 0o640 == (root / "a.md").stat().st_mode & 0o777
    [entry] = await state.journal(A)
    assert ("write", "api:test", written.journal_id) == (entry.verb, entry.origin, entry.id)
    assert entry.before
    assert entry.after
    assert [OLD, NEW] == [await state.content(entry.before), await state.content(entry.after)]
    assert {"a.md"} == names(root)


async def test_write_new(root: Path, state: StateStore, writer: VaultWriter) -> None:
    """A new note is made with the folders it lies in."""
    written = await writer.write(note_path("x/y/z.md"), NEW, ABSENT, "test")

    assert NEW == (root / "x/y/z.md").read_bytes()
    assert written.previous is None
    assert {"a.md", "x/y/z.md"} == names(root)


async def test_equal_bytes(state: StateStore, writer: VaultWriter, root: Path) -> None:
    """Writing what is there already changes nothing, not even the file's time."""
    before = (root / "a.md").stat()
    written = await writer.write(A, OLD, ABSENT, "test")

    assert written.journal_id is None
    assert before == (root / "a.md").stat()
    assert [] == await state.journal()


@pytest.mark.parametrize("expected", [ABSENT, revision_of(b"something else")])
async def test_wrong_expectation(
    root: Path, state: StateStore, writer: VaultWriter, expected: Expected
) -> None:
    """What would be overwritten against its expectation stays; what came is kept aside, once."""
    for _ in range(2):
        with pytest.raises(Clash) as caught:
            await writer.write(A, NEW, expected, "plugin:phone")

    assert OLD == (root / "a.md").read_bytes()
    [conflict] = await state.conflicts()
    assert {"path": A, "revision": revision_of(OLD), "conflict": conflict.id} == caught.value.fields
    assert "conflict" == caught.value.error_key
    assert (revision_of(OLD), revision_of(NEW)) == (conflict.ours, conflict.theirs)
    assert NEW == (state.db.path.parent / "conflicts" / conflict.file).read_bytes()
    assert OLD == await state.content(revision_of(OLD))
    assert [] == await state.journal()


async def test_mismatch_without_conflict(state: StateStore, writer: VaultWriter) -> None:
    """Who can try again is told the current revision, and nothing is kept."""
    with pytest.raises(RevisionMismatch) as caught:
        await writer.write(A, NEW, ABSENT, "api:test", keep_conflict=False)

    assert revision_of(OLD) == caught.value.fields["revision"]
    with pytest.raises(RevisionMismatch) as caught:
        await writer.write(NotePath("none.md"), NEW, revision_of(OLD), "api:test", keep_conflict=False)
    assert caught.value.fields["revision"] is None
    assert [] == await state.conflicts()


async def test_delete(root: Path, state: StateStore, writer: VaultWriter) -> None:
    """A deleted file is gone; its bytes stay in the journal."""
    with pytest.raises(RevisionMismatch):
        await writer.delete(A, revision_of(NEW), "test")
    await writer.delete(A, revision_of(OLD), "test")

    assert set() == names(root)
    [entry] = await state.journal(A)
    assert ("delete", revision_of(OLD), None) == (entry.verb, entry.before, entry.after)
    assert OLD == await state.content(revision_of(OLD))
    with pytest.raises(NotFound):
        await writer.delete(A, ANY, "test")
    with pytest.raises(RevisionMismatch):
        await writer.delete(A, revision_of(OLD), "test")


async def test_move(root: Path, state: StateStore, writer: VaultWriter) -> None:
    """A moved file keeps its bytes; one under the new name is never replaced."""
    (root / "b.md").write_bytes(NEW)
    os.link(root / "a.md", root / "same.md")
    for to in ("b.md", "same.md"):
        with pytest.raises(Clash) as caught:
            await writer.move(A, NotePath(to), ANY, "test")
    await writer.move(A, NotePath("x/c.md"), revision_of(OLD), "test")

    assert "name_clash" == caught.value.error_key
    assert {"b.md", "same.md", "x/c.md"} == names(root)
    [entry] = await state.journal(NotePath("x/c.md"))
    assert ("move", A, "x/c.md") == (entry.verb, entry.path, entry.to_path)


@pytest.mark.parametrize(
    ("path", "error"),
    [
        (".obsidian/app.json", Refused),
        ("x/.git/config", Refused),
        ("node_modules/x.md", Refused),
        ("out/x.md", Refused),
        ("leaves.md", Refused),
        ("linked.md", Refused),
        ("y" * 253 + ".md", InvalidPath),
        ("é" * 127 + ".md", InvalidPath),
        ("\ud800.md", InvalidPath),
        ("a.md/x.md", Clash),
        ("folder", Clash),
    ],
)
async def test_refused(
    root: Path, state: StateStore, writer: VaultWriter, path: str, error: type[TransomError]
) -> None:
    """Nothing is written outside the vault, in hidden folders, over links, or under impossible names."""
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_bytes(b"secret")
    (root / "out").symlink_to(outside)
    (root / "leaves.md").symlink_to(outside / "secret.md")
    (root / "linked.md").symlink_to(root / "a.md")
    (root / "folder").mkdir()
    with pytest.raises(error):
        await writer.write(note_path(path), NEW, ANY, "test")

    assert b"secret" == (outside / "secret.md").read_bytes()
    assert {"secret.md"} == names(outside)
    assert OLD == (root / "a.md").read_bytes()
    assert [] == await state.journal()


async def test_names_on_disk_keep_their_bytes(root: Path, writer: VaultWriter) -> None:
    """A note whose name on disk is decomposed is found and written under that name."""
    (root / NFD).write_bytes(OLD)
    await writer.write(note_path(NFC), NEW, revision_of(OLD), "test")
    read = await VaultReader(root).read(note_path(NFC))

    assert {"a.md", NFD} == names(root)
    assert NEW == (root / NFD).read_bytes() == read.content


async def test_reader_stays_inside(root: Path) -> None:
    """The reader gives bytes, revision and time; what is hidden, outside or no file is not found."""
    (root.parent / "secret.md").write_bytes(b"secret")
    (root / "leaves.md").symlink_to(root.parent / "secret.md")
    (root / ".obsidian").mkdir()
    (root / ".obsidian" / "app.md").write_bytes(b"x")
    os.mkfifo(root / "pipe.md")
    reader = VaultReader(root)
    file = await reader.read(A)

    assert (OLD, revision_of(OLD)) == (file.content, file.revision)
    for path in ("leaves.md", ".obsidian/app.md", "pipe.md", "none.md", "a.md/x.md", "y" * 300, "\ud800.md"):
        with pytest.raises(NotFound):
            await reader.read(NotePath(path))


async def test_vault_away(root: Path, state: StateStore, writer: VaultWriter) -> None:
    """Nothing is written into the place of a vault that is not there, or that is held."""
    root.rename(root.with_name("aside"))
    with pytest.raises(Clash) as caught:
        await writer.write(A, NEW, ANY, "test")

    assert "held" == caught.value.error_key
    assert not root.exists()
    root.mkdir()
    with pytest.raises(Clash):
        await VaultWriter(root, state, lambda: "The vault is empty.").write(A, NEW, ANY, "test")
    assert set() == names(root)


async def test_own_writes_are_known(writer: VaultWriter) -> None:
    """The writer can tell for a moment which revisions and deletions were its own, and whose."""
    await writer.write(A, NEW, ANY, "api:agent")
    await writer.move(A, NotePath("b.md"), ANY, "plugin:phone")

    assert "plugin:phone" == writer.origin_of(A, None)
    assert "plugin:phone" == writer.origin_of(NotePath("b.md"), revision_of(NEW))
    assert "api:agent" == writer.origin_of(A, revision_of(NEW))
    assert "files" == writer.origin_of(A, revision_of(b"other"))


async def test_one_after_another(root: Path, writer: VaultWriter) -> None:
    """Of many who write onto one revision at once, one succeeds; the bytes of all others are conflicts."""
    results = await asyncio.gather(
        *(writer.write(A, str(n).encode(), revision_of(OLD), f"api:{n}") for n in range(8)),
        return_exceptions=True,
    )

    assert 7 == sum(isinstance(result, Clash) for result in results)
    assert 1 == sum(not isinstance(result, Exception) for result in results)


async def test_caller_goes_away(root: Path, state: StateStore, writer: VaultWriter) -> None:
    """A change that has begun is finished when the one who asked is gone."""
    task = asyncio.create_task(writer.write(A, NEW, ANY, "test"))
    await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await writer.close()

    assert NEW == (root / "a.md").read_bytes()
    assert 1 == len(await state.journal())


async def test_edit_in_the_last_moment(root: Path, state: StateStore, writer: VaultWriter) -> None:
    """Bytes that an editor saves between the last look and the replacing are kept as a conflict."""
    temporary = str(root / ".transom-1.tmp")
    real = str(root / "a.md")

    def save_then(work: Callable[..., None], *arguments: object) -> Callable[[], None]:
        def run() -> None:
            (root / "a.md").write_bytes(b"edited")
            work(*arguments)

        return run

    contents = {revision_of(OLD): OLD, revision_of(NEW): NEW}
    entry = await state.record("write", A, revision_of(OLD), revision_of(NEW), "test", contents)
    assert await writer._perform(entry, save_then(atomic.replace, temporary, real, NEW))

    [conflict] = await state.conflicts()
    assert ("displaced", revision_of(b"edited")) == (conflict.kind, conflict.theirs)
    assert NEW == (root / "a.md").read_bytes()
    assert {"a.md"} == names(root)


async def test_appears_in_the_last_moment(root: Path, state: StateStore, writer: VaultWriter) -> None:
    """A file that appears while one of its name is being made is not replaced."""
    entry = await state.record("write", A, None, revision_of(NEW), "test", {revision_of(NEW): NEW})

    assert not await writer._perform(entry, atomic.add, str(root / ".transom-1.tmp"), str(root / "a.md"), NEW)
    assert OLD == (root / "a.md").read_bytes()
    assert {"a.md"} == names(root)
    assert [] == await state.journal()


@pytest.mark.parametrize("by_link", [False, True])
def test_exchange(tmp_path: Path, by_link: bool) -> None:
    """With and without the system's help the replaced file is left under the temporary name."""
    target, temporary = tmp_path / "a.md", tmp_path / ".tmp"
    target.write_bytes(OLD)
    if by_link:
        temporary.write_bytes(NEW)
        atomic.exchange_by_link(str(temporary), str(target))
    else:
        atomic.replace(str(temporary), str(target), NEW)

    assert (NEW, OLD) == (target.read_bytes(), temporary.read_bytes())
    assert {"a.md", ".tmp"} == names(tmp_path)


@pytest.mark.parametrize("move", [atomic.move, atomic.move_by_link])
def test_move_never_replaces(tmp_path: Path, move: Callable[[str, str], None]) -> None:
    """With and without the system's help a file under the new name stays."""
    (tmp_path / "a.md").write_bytes(OLD)
    (tmp_path / "b.md").write_bytes(NEW)
    with pytest.raises(FileExistsError):
        move(str(tmp_path / "a.md"), str(tmp_path / "b.md"))
    move(str(tmp_path / "a.md"), str(tmp_path / "c.md"))

    assert {"b.md": NEW, "c.md": OLD} == {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_any_moment(seed: int) -> None:
    """A writer that is killed leaves old or new bytes, and after the next start the journal tells the truth."""
    assert crash_at_random(seed, kills=2) > 0


@pytest.mark.parametrize("left", [None, "partial", OLD, "edited"])
@pytest.mark.parametrize("here", [OLD, NEW])
async def test_recovery(
    root: Path, state: StateStore, writer: VaultWriter, here: bytes, left: bytes | str | None
) -> None:
    """Whatever a crash left behind is cleared up; bytes of somebody else become a conflict."""
    left = left.encode() if isinstance(left, str) else left
    contents = {revision_of(OLD): OLD, revision_of(NEW): NEW}
    entry = await state.record("write", A, revision_of(OLD), revision_of(NEW), "test", contents)
    (root / "a.md").write_bytes(here)
    if left is not None:
        (root / f".transom-{entry.id}.tmp").write_bytes(left)
    await writer.recover()

    assert {"a.md"} == names(root)
    assert here == (root / "a.md").read_bytes()
    assert (1 if here == NEW else 0) == len(await state.journal())
    kept = here == NEW and left not in {None, OLD}
    assert kept == bool(await state.conflicts())


CHILD = """
    import asyncio, concurrent.futures.thread, os, subprocess, sys
    from pathlib import Path
    from bridge.errors import Unavailable
    from bridge.stores.database import Database
    from bridge.stores.schema import STATE
    from bridge.stores.state import StateStore
    from bridge.vault import atomic
    from bridge.vault.writer import ANY, VaultWriter

    folder, fault, mount = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    root, data = folder / "vault", folder / "data"

    async def main():
        db = await Database.open(data / "state.sqlite", STATE)
        state = StateStore(db, data)
        writer = VaultWriter(root, state)
        try:
            for path in ("a.md", "new.md"):
                try:
                    await writer.write(path, b"x" * 500_000, ANY, "test")
                except Unavailable as error:
                    print(error.error_key)
            if fault == "vault_not_writable":
                try:
                    await writer.delete("a.md", ANY, "test")
                except Unavailable as error:
                    print(error.error_key)
            assert (root / "a.md").read_bytes() == b"old"
            assert os.listdir(root) == ["a.md"], os.listdir(root)
            assert await state.journal() == []
        finally:
            await db.close()

    if not mount and os.getuid() == 0:
        os.setuid(65534)  # root writes everywhere
    root.mkdir()
    data.mkdir()
    if mount:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", root], check=True)
    (root / "a.md").write_bytes(b"old")
    if fault == "vault_not_writable" and mount:
        subprocess.run(["mount", "-o", "remount,ro", root], check=True)
    elif fault == "vault_not_writable":
        root.chmod(0o500)
    asyncio.run(main())
"""


@pytest.mark.parametrize("fault", ["disk_full", "vault_not_writable"] if ALLOWED else ["vault_not_writable"])
def test_disk_that_takes_nothing(fault: str) -> None:
    """On a full or a read-only disk nothing changes, nothing is left behind, and the error says which it is."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        said = run_script(CHILD, name, fault, "mount" if ALLOWED else "", in_namespace=ALLOWED)

    assert {fault} == set(said.split())


def test_write_cut_short(tmp_path: Path) -> None:
    """When the disk takes only a part of the bytes the file is as it was, and the part is gone."""
    (tmp_path / "a.md").write_bytes(OLD)
    script = """
        import resource, sys
        from pathlib import Path
        from bridge.vault import atomic

        folder = Path(sys.argv[1])
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        for work, name in ((atomic.replace, "a.md"), (atomic.add, "b.md")):
            try:
                work(str(folder / ".tmp"), str(folder / name), bytes(5000))
            except OSError as error:
                print(error.errno)
    """
    said = run_script(script, tmp_path)

    assert 2 == len(said.split())
    assert {"a.md"} == names(tmp_path)
    assert OLD == (tmp_path / "a.md").read_bytes()
