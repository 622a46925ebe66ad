"""What breaks from outside: killed in the wrong moment, a disk that is full."""

import asyncio
import shutil
from pathlib import Path

import pytest

from bridge.data import FULLTEXT
from bridge.errors import InstallationError
from bridge.model import NotePath
from bridge.paths import note_id
from bridge.runtime import Bridge
from bridge.stores import notes
from bridge.stores.fulltext import Fulltext
from tests.processes import ALLOWED, run_script
from tests.small import found, serving, settings
from tests.soak.bridge import index_killed_at_random


async def test_a_full_text_index_begun_anew_and_killed_is_begun_again(vault: Path, tmp_path: Path) -> None:
    """Killed before the replay into a new full-text index was committed, the next start replays it."""
    chosen = settings(vault, tmp_path / "data")
    async with serving(chosen) as bridge:
        expected = await found(bridge, "coffee")
        [(instance,)] = await bridge._db.rows("SELECT value FROM meta WHERE key = 'instance'")
    folder = tmp_path / "data" / FULLTEXT
    shutil.rmtree(folder)
    killed = await asyncio.to_thread(Fulltext.open, folder, instance)
    await asyncio.to_thread(killed.close)
    async with serving(chosen) as bridge:
        assert expected
        assert expected == await found(bridge, "coffee")


async def test_a_note_removed_before_a_crash_is_taken_out_of_the_words(vault: Path, tmp_path: Path) -> None:
    """Killed between SQLite's commit and that of the full text, the next start removes what is gone."""
    chosen, gone = settings(vault, tmp_path / "data"), NotePath("Coffee/Espresso.md")
    async with serving(chosen):
        pass
    async with Bridge.open(chosen) as bridge, bridge._db.write() as tx:
        await notes.remove(tx, await notes.next_seq(tx), [note_id(gone)])
    (vault / gone).unlink()
    async with serving(chosen) as bridge:
        [(chunks,)] = await bridge._db.rows("SELECT count(*) FROM chunks")

        assert chunks == bridge._fulltext.chunks


_FILL = """
    import asyncio, os, subprocess, sys
    from pathlib import Path
    from tests.small import found, serving, settings, until, until_settled
    from bridge.runtime import Bridge

    mount, vault = Path(sys.argv[1]), Path(sys.argv[2])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", mount], check=True)

    async def main():
        async with Bridge.open(settings(vault, mount / "data")) as bridge:
            bridge.start()
            await until_settled(bridge)
            with open(mount / "ballast", "wb", buffering=0) as file:
                try:
                    while file.write(bytes(4096)):
                        pass
                except OSError:
                    pass
            for n in range(300):
                (vault / f"Late {n}.md").write_text(f"quokkabird {n} " + os.urandom(8000).hex())

            async def held():
                files = (await bridge.status()).sources.files
                return files.state == "held" and "pace" in files.reason
            await until(held)
            assert await found(bridge, "coffee"), "keyword search must go on"
            (mount / "ballast").unlink()
            subprocess.run(["mount", "-o", "remount,size=200m", mount], check=True)
            await until_settled(bridge)
            hits = await found(bridge, "quokkabird", limit=200)
            assert 200 == len(hits), len(hits)
            for n in range(300):
                [path] = await found(bridge, f"quokkabird path:\\"Late {n}.md\\"")
            notes = await bridge._db.rows("SELECT count(*) FROM notes WHERE path LIKE 'Late %'")
            assert [(300,)] == notes, notes

    asyncio.run(main())
    print("done")
"""


@pytest.mark.skipif(not ALLOWED, reason="needs a mount of its own")
def test_a_full_disk_pauses_and_loses_nothing(vault: Path, tmp_path: Path) -> None:
    """While the data folder's disk is full the source is held and words are found; then all is caught up."""
    (tmp_path / "mount").mkdir()

    assert "done" in run_script(_FILL, tmp_path / "mount", vault, in_namespace=True)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_index_agrees_with_a_fresh_one(seed: int) -> None:
    """Killed with -9 in the midst of indexing, twice: rows and full text are those of a fresh index."""
    index_killed_at_random(seed, kills=2)


async def test_a_spoilt_first_key_is_kept_and_said(vault: Path, tmp_path: Path) -> None:
    """A `token` that is no text is neither overwritten nor a surprise."""
    chosen = settings(vault, tmp_path / "data")
    async with Bridge.open(chosen):
        pass
    token = tmp_path / "data" / "token"
    token.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InstallationError, match="token"):
        async with Bridge.open(chosen):
            pass

    assert b"\xff\xfe\x00" == token.read_bytes()
