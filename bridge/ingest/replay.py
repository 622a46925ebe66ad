"""Bring the full-text index up to SQLite's last transaction after a crash or a wipe."""

import asyncio
import json

import structlog

from bridge.model import ChunkId, NoteId
from bridge.stores import notes
from bridge.stores.database import Database
from bridge.stores.documents import ChunkDoc
from bridge.stores.fulltext import Fulltext

log = structlog.get_logger(__name__)

_NOTES_A_TIME = 500


async def replay(db: Database, fulltext: Fulltext) -> int:
    """Index again the notes stored after the full-text index's last commit; return how many."""
    reached = 0 if fulltext.fresh else await notes.words_seq(db)
    last = int(await notes.get_meta(db, "seq") or 0)
    if reached == last:
        return 0
    gone = await db.rows("SELECT note_id FROM removals WHERE seq > ?", (reached,))
    await asyncio.to_thread(_remove, fulltext, [NoteId(id_) for (id_,) in gone])
    ids = [row[0] for row in await db.rows("SELECT id FROM notes WHERE seq > ? ORDER BY seq", (reached,))]
    for start in range(0, len(ids), _NOTES_A_TIME):
        docs = await _docs(db, ids[start : start + _NOTES_A_TIME])
        await asyncio.to_thread(_replace, fulltext, docs)
    await asyncio.to_thread(fulltext.commit)
    async with db.write() as tx:
        await notes.words_reached(tx, last)
    log.info("ingest.replayed", notes=len(ids), reached=reached, last=last)
    return len(ids)


def _remove(fulltext: Fulltext, ids: list[NoteId]) -> None:
    for id_ in ids:
        fulltext.remove(id_)


def _replace(fulltext: Fulltext, docs: dict[NoteId, list[ChunkDoc]]) -> None:
    for id_, chunks in docs.items():
        fulltext.replace(id_, chunks)


async def _docs(db: Database, ids: list[int]) -> dict[NoteId, list[ChunkDoc]]:
    wanted = json.dumps(ids)
    names: dict[int, list[str]] = {id_: [] for id_ in ids}
    tags: dict[int, list[str]] = {id_: [] for id_ in ids}
    docs: dict[NoteId, list[ChunkDoc]] = {NoteId(id_): [] for id_ in ids}
    async with db.read() as conn:
        for owner, name in await conn.execute_fetchall(
            "SELECT note_id, name FROM names WHERE kind = 'alias' AND note_id IN (SELECT value FROM json_each(?))",
            (wanted,),
        ):
            names[owner].append(name)
        for owner, tag in await conn.execute_fetchall(
            "SELECT note_id, tag FROM tags WHERE note_id IN (SELECT value FROM json_each(?))", (wanted,)
        ):
            tags[owner].append(tag)
        for id_, owner, title, heading_path, text, language in await conn.execute_fetchall(
            "SELECT c.id, c.note_id, n.title, c.heading_path, c.text, n.language FROM chunks c "
            "JOIN notes n ON n.id = c.note_id WHERE c.note_id IN (SELECT value FROM json_each(?)) ORDER BY c.ordinal",
            (wanted,),
        ):
            docs[NoteId(owner)].append(
                ChunkDoc(
                    chunk_id=ChunkId(id_),
                    note_id=NoteId(owner),
                    title=title,
                    aliases=tuple(names[owner]),
                    tags=tuple(tags[owner]),
                    headings=tuple(json.loads(heading_path)),
                    text=text,
                    language=language,
                )
            )
    return docs
