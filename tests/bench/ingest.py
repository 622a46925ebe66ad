"""First index without embeddings, beside the same work in bare loops; a start when nothing changed."""

import asyncio
import os
import sqlite3
import tempfile
import time
from pathlib import Path

from bridge.ingest.prepare import prepare
from bridge.model import NotePath, Upserted
from bridge.runtime import Bridge
from bridge.settings import Settings
from bridge.stores.fulltext import Fulltext
from tests.bench.corpus import make_vault
from tests.bench.figures import Report
from tests.small import settings

PEER_NOTES_A_SECOND = 1200


async def run(report: Report, notes: int = 20_000) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        vault = folder / "vault"
        make_vault(vault, notes)
        seconds, chunks = await first_index(settings(vault, folder / "data"))
        report.least(
            f"first index of {notes:,} notes ({chunks:,} chunks)",
            notes / seconds,
            "notes/s",
            PEER_NOTES_A_SECOND,
        )
        bare = await asyncio.to_thread(_bare, vault, folder / "bare")
        report.ratio_most("first index", seconds, "s", bare, "parse, documents, rows in bare loops", 2)
        await _nothing_changed(report, settings(vault, folder / "data"), vault, notes)
        small = folder / "small"
        make_vault(small, notes // 20)
        few, _ = await first_index(settings(small, folder / "small-data"))
        report.most(
            f"cost of a note at {notes:,} over that at {notes // 20:,}",
            (seconds / notes) / (few / (notes // 20)),
            "x",
            1.2,
        )


async def first_index(chosen: Settings) -> tuple[float, int]:
    """Index a folder into a new data folder; return the seconds and the chunks."""
    async with Bridge.open(chosen) as bridge:
        started = time.perf_counter()
        await bridge.refresh()
        seconds = time.perf_counter() - started
        return seconds, (await bridge.status()).vault.chunks


async def _nothing_changed(report: Report, chosen: Settings, vault: Path, notes: int) -> None:
    walks, starts = [], []
    for _ in range(3):
        walks.append(await asyncio.to_thread(_walk, vault))
        started = time.perf_counter()
        async with Bridge.open(chosen) as bridge:
            await bridge.refresh()
            starts.append(time.perf_counter() - started)
    report.ratio_most(
        f"start over {notes:,} unchanged notes",
        min(starts) * 1000,
        "ms",
        min(walks) * 1000,
        "os.walk and stat",
        3,
    )


def _walk(folder: Path) -> float:
    started = time.perf_counter()
    for parent, _, names in os.walk(folder):
        for name in names:
            os.stat(os.path.join(parent, name))
    return time.perf_counter() - started


def _bare(vault: Path, folder: Path) -> float:
    """Do the first index's work one step after another, with nothing around it."""
    from bridge.ingest.pipeline import _docs

    folder.mkdir()
    db = sqlite3.connect(folder / "rows.sqlite")
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, path TEXT UNIQUE, title, kind, revision, size, modified, front, headings);"
        "CREATE TABLE chunks (id INTEGER PRIMARY KEY, note, ordinal, path, first, last, text, hash);"
        "CREATE INDEX chunks_note ON chunks (note, ordinal);"
        "CREATE TABLE links (note, ordinal, target, line, PRIMARY KEY (note, ordinal)) WITHOUT ROWID;"
    )
    fulltext = Fulltext.open(folder / "fulltext", "bench")
    files = sorted(path for path in vault.rglob("*") if path.is_file())
    started = time.perf_counter()
    prepared = prepare(
        [Upserted(NotePath(str(path.relative_to(vault))), path.read_bytes(), 0, "files") for path in files],
        None,
        192,
    )
    for at in range(0, len(prepared), 256):
        for item in prepared[at : at + 256]:
            fulltext.replace(item.id, _docs(item))
        fulltext.commit()
    for at in range(0, len(prepared), 256):
        batch = prepared[at : at + 256]
        with db:
            db.executemany(
                "INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (item.id, item.note.path, item.note.title, item.note.kind, item.revision, item.size,
                     item.modified_ns, repr(item.note.frontmatter), repr(item.note.headings))
                    for item in batch
                ],
            )  # fmt: skip
            db.executemany(
                "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (chunk.id, item.id, chunk.ordinal, repr(chunk.heading_path), chunk.first_line, chunk.last_line,
                     chunk.text, digest)
                    for item in batch
                    for chunk, digest in zip(item.chunks, item.hashes, strict=True)
                ],
            )  # fmt: skip
            db.executemany(
                "INSERT INTO links VALUES (?, ?, ?, ?)",
                [
                    (item.id, n, link.target, link.line)
                    for item in batch
                    for n, link in enumerate(item.note.links)
                ],
            )
    seconds = time.perf_counter() - started
    fulltext.close()
    db.close()
    return seconds
