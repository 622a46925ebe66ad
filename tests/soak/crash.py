"""Kill the writer at any moment: the vault has old or new bytes, and the journal tells the truth."""

import asyncio
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bridge.errors import TransomError
from bridge.model import NotePath
from bridge.stores.database import Database
from bridge.stores.schema import STATE
from bridge.stores.state import StateStore
from bridge.vault.reader import revision_of
from bridge.vault.writer import ANY, VaultWriter

PATHS = [NotePath(name) for name in ("a.md", "b.md", "sub/c.md", "sub/deep/d.md")]


def sealed(rng: random.Random) -> bytes:
    """Bytes that show whether they are whole."""
    body = rng.randbytes(rng.choice((0, 10, 5_000, 300_000)))
    return hashlib.sha256(body).digest() + body


def is_whole(data: bytes) -> bool:
    return hashlib.sha256(data[32:]).digest() == data[:32]


async def _open(folder: Path) -> tuple[Database, StateStore, VaultWriter]:
    db = await Database.open(folder / "state.sqlite", STATE, durable=True)
    state = StateStore(db, folder)
    return db, state, VaultWriter(folder / "vault", state)


async def write_for_ever(folder: Path, seed: int) -> None:
    """Change files at random until killed."""
    rng = random.Random(seed)
    _, _, writer = await _open(folder)
    print("ready", flush=True)
    while True:
        path, to = rng.choice(PATHS), rng.choice(PATHS)
        try:
            match rng.choice(("write", "write", "write", "delete", "move")):
                case "write":
                    await writer.write(path, sealed(rng), ANY, "soak")
                case "delete":
                    await writer.delete(path, ANY, "soak")
                case "move":
                    await writer.move(path, to, ANY, "soak")
        except TransomError:
            continue


async def check(folder: Path) -> int:
    """Recover, then compare the vault with what the journal tells; return the number of its entries."""
    db, state, writer = await _open(folder)
    try:
        await writer.recover()
        entries = await state.journal(limit=1_000_000)
        told = {}
        for entry in reversed(entries):
            told[entry.path] = entry.after if entry.to_path is None else None
            if entry.to_path:
                told[entry.to_path] = entry.after
            for revision in (entry.before, entry.after):
                assert revision is None or await state.content(revision) is not None
        files = {file for file in (folder / "vault").rglob("*") if file.is_file()}
        found = {NotePath(file.relative_to(folder / "vault").as_posix()): file.read_bytes() for file in files}

        assert all(is_whole(data) for data in found.values())
        assert {path: revision_of(data) for path, data in found.items()} == {
            p: r for p, r in told.items() if r
        }
        assert [] == await state.conflicts()
        return len(entries)
    finally:
        await db.close()


def crash_at_random(seed: int, kills: int = 3) -> int:
    """Kill a writer on one folder several times; return how many changes it made."""
    rng = random.Random(seed)
    entries = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "vault").mkdir()
        (folder / "vault" / "kept").mkdir()
        for kill in range(kills):
            child = subprocess.Popen(
                [sys.executable, "-m", "tests.soak.crash", folder, str(seed + kill)],
                stdout=subprocess.PIPE,
                cwd=Path(__file__).parent.parent.parent,
            )
            assert child.stdout
            assert b"ready\n" == child.stdout.readline()
            time.sleep(rng.uniform(0, 0.4))
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()
            entries = asyncio.run(check(folder))
    return entries


if __name__ == "__main__":
    asyncio.run(write_for_ever(Path(sys.argv[1]), int(sys.argv[2])))
