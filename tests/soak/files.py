"""Random operations on a folder, and an index that follows them as the real one does."""

import asyncio
import hashlib
import os
import random
import shutil
import tempfile
import time
import unicodedata
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import assert_never

from bridge.model import Attachment, Deleted, Failed, NoteChange, NotePath, Revision, Stamp, Touched, Upserted
from bridge.paths import is_hidden, is_note
from bridge.sources.files import FilesSource
from bridge.sources.watch import QUIET_MS

UNREAD = Revision("")


class Mirror:
    """What an index would hold after the changes of a source."""

    def __init__(self) -> None:
        self.stamps: dict[NotePath, Stamp] = {}
        self.contents: dict[NotePath, bytes] = {}
        self.failures: dict[NotePath, str] = {}
        self.changes: list[NoteChange] = []

    async def known(self, paths: Collection[NotePath] | None) -> dict[NotePath, Stamp]:
        if paths is None:
            return dict(self.stamps)
        tops, below = set(paths), tuple(path + "/" for path in paths)
        return {path: stamp for path, stamp in self.stamps.items() if path in tops or path.startswith(below)}

    def apply(self, batch: list[NoteChange]) -> None:
        self.changes += batch
        for change in batch:
            path = change.path
            if isinstance(change, Upserted | Deleted):
                self.failures.pop(path, None)
            match change:
                case Upserted():
                    self.contents[path] = change.content
                    revision = Revision(hashlib.sha256(change.content).hexdigest())
                    self.stamps[path] = Stamp(change.modified_ns, len(change.content), revision)
                case Touched():
                    self.stamps[path] = Stamp(change.modified_ns, change.size, self.stamps[path].revision)
                case Deleted():
                    self.contents.pop(path, None)
                    self.stamps.pop(path, None)
                case Failed():
                    self.failures[path] = change.reason
                    self.stamps[path] = Stamp(change.modified_ns, change.size, UNREAD)
                case Attachment():
                    self.stamps[path] = Stamp(change.modified_ns, change.size, UNREAD)
                case _:
                    assert_never(change)

    @property
    def attachments(self) -> set[NotePath]:
        return {path for path in self.stamps if not is_note(path)}

    async def scan(self, source: FilesSource) -> list[NoteChange]:
        """Take in one scan; return its changes."""
        before = len(self.changes)
        async for batch in source.scan():
            self.apply(batch)
        return self.changes[before:]

    @asynccontextmanager
    async def watching(self, source: FilesSource) -> AsyncIterator[None]:
        """Follow a source from the moment in which it watches."""

        async def follow() -> None:
            async for batch in source.watch():
                self.apply(batch)

        task = asyncio.create_task(follow())
        try:
            await until(lambda: source.status().state != "scanning" or task.done())
            yield
            assert not task.done()
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def until(condition: Callable[[], bool], timeout_s: float = 10) -> None:
    """Wait for something that a person would see."""
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        await asyncio.sleep(0.01)


def on_disk(root: Path) -> dict[str, bytes]:
    """The notes of a folder, read anew."""
    return {
        unicodedata.normalize("NFC", name): file.read_bytes()
        for file in root.rglob("*")
        if file.is_file() and is_note(name := file.relative_to(root).as_posix()) and not is_hidden(name)
    }


FOLDERS = ("", "a", "a/b", "Übung", "c c", "a/e\u0301t\u00e9")
NAMES = ("one.md", "two.md", "Caf\u00e9.md", "日本.md", "map.canvas", "picture.png", "이름.md")


def operate(root: Path, rng: random.Random) -> str:
    """Do one thing that people, editors and sync tools do to a folder."""
    file = root / rng.choice(FOLDERS) / rng.choice(NAMES)
    other = root / rng.choice(FOLDERS) / rng.choice(NAMES)
    folder = root / rng.choice(FOLDERS[1:])
    data = rng.randbytes(rng.choice((0, 3, 2000)))
    verb = rng.choice(
        ("write", "write", "save", "touch", "append", "rename", "move", "delete", "drop", "copy")
    )
    with suppress(FileNotFoundError, NotADirectoryError):
        match verb:
            case "write":
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            case "save":
                file.parent.mkdir(parents=True, exist_ok=True)
                (file.parent / ".save.tmp").write_bytes(data)
                os.replace(file.parent / ".save.tmp", file)
            case "touch":
                os.utime(file, ns=(0, rng.randrange(2**60)))
            case "append":
                if file.exists():
                    file.write_bytes(file.read_bytes() + data)
            case "rename":
                if other.parent.is_dir():
                    os.replace(file, other)
            case "move":
                target = root / f"moved {rng.randrange(3)}"
                if not target.exists():
                    os.rename(folder, target)
            case "delete":
                file.unlink()
            case "drop":
                shutil.rmtree(folder)
            case "copy":
                shutil.copytree(folder, root / f"copy {rng.randrange(3)}", dirs_exist_ok=True)
    return verb


async def watch_random_operations(seed: int, steps: int) -> None:
    """Operate on a watched folder; once it is quiet the changes must equal the disk."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "kept.md").write_text("a vault that empties is held, so one note stays")
        mirror = Mirror()
        source = FilesSource(root, mirror.known)
        async with mirror.watching(source):
            for _ in range(steps):
                await asyncio.to_thread(operate, root, rng)
                if rng.random() < 0.3:
                    await asyncio.sleep(rng.choice((0.005, 0.03, 0.3)))
            with suppress(TimeoutError):
                await until(lambda: mirror.contents == on_disk(root), timeout_s=5)
            await asyncio.sleep(2 * QUIET_MS / 1000)
            assert mirror.contents == on_disk(root), f"seed {seed}"
            missed = await mirror.scan(source)
            assert missed == [], f"seed {seed}"
