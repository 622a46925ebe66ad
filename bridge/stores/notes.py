"""Notes and their chunks as rows of `index.sqlite`; writing happens inside a writer's transaction."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any, TypeAlias

import aiosqlite

from bridge.model import (
    Attachment,
    Chunk,
    ChunkId,
    Failed,
    Kind,
    Note,
    NoteId,
    NotePath,
    Revision,
    Stamp,
    Touched,
)
from bridge.paths import fold, is_transcript, name_key
from bridge.stores.database import Database, Row
from bridge.stores.rows import as_json, insert
from bridge.words import head

_WORDS_SEQ = "fulltext_seq"
STALE = Revision("")
"""The revision of a row that an older parser or chunker made: it never equals a file's."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A note read, parsed and split, ready to be stored."""

    id: NoteId
    note: Note
    chunks: tuple[Chunk, ...]
    hashes: tuple[bytes | None, ...]
    """Embedding cache key of each chunk; None where there is nothing to embed."""
    language: str
    revision: Revision
    size: int
    lines: int
    modified_ns: int
    origin: str


NameRow: TypeAlias = tuple[int, str]
"""A note's id and a folded name that it carries."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the index holds of a note before a change."""

    revision: Revision
    shape: str
    title: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ChunkDiff:
    """The chunks that a transaction took out and brought in."""

    gone: tuple[ChunkId, ...]
    fresh: tuple[tuple[ChunkId, NoteId, bytes | None], ...]


async def stamps(
    db: Database, shapes: Collection[str], paths: Collection[NotePath] | None = None
) -> dict[NotePath, Stamp]:
    """What the index knows of these paths and all below them (None: of all), failures and attachments too.

    Notes of another shape carry a stamp that no file matches, so the source delivers them again.
    """
    known = {
        NotePath(path): Stamp(modified_ns, size, Revision(revision))
        if shape in shapes
        else Stamp(-1, -1, STALE)
        for path, modified_ns, size, revision, shape in await _below(db, "notes", ", revision, shape", paths)
        if not is_transcript(path)
    }
    for table in ("files", "failures"):
        for path, modified_ns, size in await _below(db, table, "", paths):
            known[NotePath(path)] = Stamp(modified_ns, size, STALE)
    return known


async def _below(db: Database, table: str, more: str, paths: Collection[NotePath] | None) -> list[Row]:
    columns = f"SELECT path, modified_ns, size{more} FROM"
    if paths is None:
        return await db.rows(f"{columns} {table}")
    wanted = json.dumps([*paths])
    below = f"{columns} (SELECT value AS top FROM json_each(?1)) CROSS JOIN {table} ON"
    return await db.rows(
        f"{below} path = top UNION ALL {below} path > top || '/' AND path < top || '0'", (wanted,)
    )


async def paths_of(db: Database, ids: Collection[NoteId]) -> set[str]:
    """Give the paths of those of the notes that are indexed."""
    rows = await db.rows(
        "SELECT path FROM notes WHERE id IN (SELECT value FROM json_each(?))", (json.dumps([*ids]),)
    )
    return {row[0] for row in rows}


async def failure_of(db: Database, path: NotePath) -> str | None:
    """Say why a path could not be indexed."""
    rows = await db.rows("SELECT reason FROM failures WHERE path = ?", (path,))
    return str(rows[0][0]) if rows else None


async def known(tx: aiosqlite.Connection, ids: Collection[NoteId]) -> dict[NoteId, Known]:
    """Look up the given notes."""
    rows = await tx.execute_fetchall(
        "SELECT id, revision, shape, title, kind FROM notes WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps([*ids]),),
    )
    return {NoteId(row[0]): Known(Revision(row[1]), row[2], row[3], row[4]) for row in rows}


async def names(tx: aiosqlite.Connection, ids: Collection[NoteId]) -> set[NameRow]:
    """List under which folded names links may mean the given notes."""
    rows = await tx.execute_fetchall(
        "SELECT note_id, folded, path FROM names JOIN notes ON notes.id = note_id "
        "WHERE note_id IN (SELECT value FROM json_each(?))",
        (json.dumps([*ids]),),
    )
    return {(id_, key) for id_, folded, path in rows for key in (folded, name_key(path))}


async def next_seq(tx: aiosqlite.Connection) -> int:
    """Number this transaction; never reused, also after its notes are gone."""
    [row] = await tx.execute_fetchall(
        "INSERT INTO meta VALUES ('seq', '1') ON CONFLICT (key) DO UPDATE SET value = value + 1 RETURNING value"
    )
    return int(row[0])


async def store(tx: aiosqlite.Connection, seq: int, shape: str, batch: Sequence[Prepared]) -> ChunkDiff:
    """Write notes with their names, tags and chunks; chunks that stay keep their vectors."""
    ids = json.dumps([prepared.id for prepared in batch])
    rows = await tx.execute_fetchall(
        "SELECT id, embed_hash FROM chunks WHERE note_id IN (SELECT value FROM json_each(?))", (ids,)
    )
    old: dict[int, str | None] = {row[0]: row[1] for row in rows}
    new = {
        chunk.id: (chunk, prepared.id, digest)
        for prepared in batch
        for chunk, digest in zip(prepared.chunks, prepared.hashes, strict=True)
    }
    gone = [
        ChunkId(id_) for id_, hash_ in old.items() if id_ not in new or _hex(new[ChunkId(id_)][2]) != hash_
    ]
    if gone:
        await tx.execute(
            "DELETE FROM chunks WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(gone),)
        )
    await insert(tx, _INTO_NOTES, 16, (_note_row(prepared, shape, seq) for prepared in batch), _NEW_NOTE)
    for table in ("names", "tags"):
        await tx.execute(f"DELETE FROM {table} WHERE note_id IN (SELECT value FROM json_each(?))", (ids,))
    await insert(tx, "INSERT OR IGNORE INTO names", 5, _name_rows(batch))
    await insert(tx, "INSERT OR IGNORE INTO tags", 3, _tag_rows(batch))
    await insert(tx, _INTO_CHUNKS, 8, starmap(_chunk_row, new.values()), _NEW_PLACE)
    kept = old.keys() - set(gone)
    return ChunkDiff(
        tuple(gone), tuple((id_, owner, digest) for id_, (_, owner, digest) in new.items() if id_ not in kept)
    )


async def remove(tx: aiosqlite.Connection, seq: int, ids: Collection[NoteId]) -> tuple[ChunkId, ...]:
    """Delete notes with all that hangs on them, and remember it for the full-text index."""
    wanted = json.dumps([*ids])
    rows = await tx.execute_fetchall(
        "SELECT id FROM chunks WHERE note_id IN (SELECT value FROM json_each(?))", (wanted,)
    )
    await tx.execute("DELETE FROM notes WHERE id IN (SELECT value FROM json_each(?))", (wanted,))
    await tx.executemany("INSERT INTO removals VALUES (?, ?)", [(seq, id_) for id_ in ids])
    return tuple(ChunkId(row[0]) for row in rows)


async def forget_files(tx: aiosqlite.Connection, paths: Sequence[NotePath]) -> None:
    """Drop attachments that are gone."""
    await tx.execute("DELETE FROM files WHERE path IN (SELECT value FROM json_each(?))", (json.dumps(paths),))


async def forget_failures(tx: aiosqlite.Connection, paths: Sequence[NotePath]) -> None:
    """Drop failures of paths that are well again or gone."""
    await tx.execute(
        "DELETE FROM failures WHERE path IN (SELECT value FROM json_each(?))", (json.dumps(paths),)
    )


async def touch(tx: aiosqlite.Connection, touched: Iterable[Touched]) -> None:
    """Move the stamps of notes whose bytes did not change."""
    rows = [(one.modified_ns, one.size, one.path) for one in touched]
    await tx.executemany("UPDATE notes SET modified_ns = ?, size = ? WHERE path = ?", rows)


async def words_reached(tx: aiosqlite.Connection, seq: int) -> None:
    """Note up to which transaction the full-text index has everything; `words_seq` tells it."""
    await put_meta(tx, _WORDS_SEQ, str(seq))
    await tx.execute("DELETE FROM removals WHERE seq <= ?", (seq,))


async def words_seq(db: Database) -> int:
    """Tell up to which transaction the full-text index has everything."""
    return int(await get_meta(db, _WORDS_SEQ) or 0)


async def put_attachments(tx: aiosqlite.Connection, files: Iterable[Attachment]) -> None:
    """Remember files that are only link targets."""
    await tx.executemany(
        "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
        [(file.path, name_key(file.path), file.modified_ns, file.size) for file in files],
    )


async def put_failures(tx: aiosqlite.Connection, failures: Iterable[Failed]) -> None:
    """Remember paths that could not be indexed, with the reason."""
    await tx.executemany(
        "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)",
        [(failed.path, failed.reason, failed.modified_ns, failed.size) for failed in failures],
    )


async def put_pending(
    tx: aiosqlite.Connection, batch: Sequence[Prepared], wanted: Mapping[ChunkId, NoteId]
) -> None:
    """Queue the chunks in `wanted` for the embedding model."""
    await tx.executemany(
        "INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?)",
        [
            (chunk.id, prepared.id, prepared.modified_ns, chunk.embed_text)
            for prepared in batch
            for chunk in prepared.chunks
            if chunk.id in wanted
        ],
    )


async def forget_embeddings(tx: aiosqlite.Connection) -> None:
    """Mark every chunk as one whose embedding is not there and whose text must be prepared again."""
    await tx.execute("DELETE FROM pending")
    await tx.execute("UPDATE chunks SET embed_hash = '' WHERE embed_hash IS NOT NULL")


async def get_meta(db: Database, key: str) -> str | None:
    """Read one remembered value."""
    rows = await db.rows("SELECT value FROM meta WHERE key = ?", (key,))
    return str(rows[0][0]) if rows else None


async def put_meta(tx: aiosqlite.Connection, key: str, value: str) -> None:
    """Remember one value."""
    await tx.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


_INTO_NOTES = """
    INSERT INTO notes (id, path, title, kind, revision, size, lines, modified_ns, language,
                       frontmatter, headings, blocks, tasks, issues, shape, seq)
"""
_NEW_NOTE = """
    ON CONFLICT (id) DO UPDATE SET
        path = excluded.path, title = excluded.title, kind = excluded.kind, revision = excluded.revision,
        size = excluded.size, lines = excluded.lines, modified_ns = excluded.modified_ns,
        language = excluded.language, frontmatter = excluded.frontmatter, headings = excluded.headings,
        blocks = excluded.blocks, tasks = excluded.tasks, issues = excluded.issues,
        shape = excluded.shape, seq = excluded.seq
"""
_INTO_CHUNKS = """
    INSERT INTO chunks (id, note_id, ordinal, heading_path, first_line, last_line, text, embed_hash)
"""
_NEW_PLACE = """
    ON CONFLICT (id) DO UPDATE SET
        ordinal = excluded.ordinal, first_line = excluded.first_line, last_line = excluded.last_line
"""


def _note_row(prepared: Prepared, shape: str, seq: int) -> tuple[Any, ...]:
    note = prepared.note
    return (
        prepared.id,
        note.path,
        note.title,
        note.kind,
        prepared.revision,
        prepared.size,
        prepared.lines,
        prepared.modified_ns,
        prepared.language,
        as_json(note.frontmatter),
        as_json(note.headings),
        as_json(note.blocks),
        as_json(note.tasks),
        as_json(note.issues),
        shape,
        seq,
    )


def _chunk_row(chunk: Chunk, owner: NoteId, digest: bytes | None) -> tuple[Any, ...]:
    path = as_json(chunk.heading_path)
    return chunk.id, owner, chunk.ordinal, path, chunk.first_line, chunk.last_line, chunk.text, _hex(digest)


def _hex(digest: bytes | None) -> str | None:
    return digest.hex() if digest else None


def _name_rows(batch: Sequence[Prepared]) -> Iterable[tuple[int, str, str, str, str]]:
    for prepared in batch:
        title = prepared.note.title
        yield prepared.id, fold(title), title, "title", head(title)
        for alias in prepared.note.aliases:
            yield prepared.id, fold(alias), alias, "alias", head(alias)


def _tag_rows(batch: Sequence[Prepared]) -> Iterable[tuple[int, str, str]]:
    return ((prepared.id, fold(tag), tag) for prepared in batch for tag in prepared.note.tags)
