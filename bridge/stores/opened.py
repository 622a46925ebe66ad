"""All stores of one data folder, opened together and closed in reverse."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self
from uuid import uuid4

import structlog

from bridge.data import EMBEDDINGS, FULLTEXT, INDEX, STATE, DataFolder, remove_database
from bridge.embed.cache import EmbeddingCache
from bridge.stores import notes, schema
from bridge.stores.database import CorruptDatabase, Database
from bridge.stores.fulltext import Fulltext
from bridge.stores.keys import Keys
from bridge.stores.state import StateStore

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Stores:
    """What a data folder holds: derived `index`, `fulltext` and `cache`; durable `state` and `keys`."""

    folder: Path
    index: Database
    state: StateStore
    cache: EmbeddingCache
    fulltext: Fulltext
    keys: Keys

    @classmethod
    @asynccontextmanager
    async def open(cls, path: Path) -> AsyncIterator[Self]:
        """Hold the folder and open everything in it; a damaged derived file is built again.

        Raises `InstallationError` when the folder is held, not writable or of a newer version.
        """
        folder = await asyncio.to_thread(DataFolder.hold, path)
        async with AsyncExitStack() as stack:
            stack.callback(folder.release)
            state = await Database.open(path / STATE, schema.STATE, durable=True)
            stack.push_async_callback(state.close)
            index = await _index(folder)
            stack.push_async_callback(_close, index, folder.remove_derived)
            cache = await EmbeddingCache.open(path / EMBEDDINGS)
            stack.push_async_callback(_close, cache.db, partial(remove_database, cache.db.path))
            fulltext = await asyncio.to_thread(Fulltext.open, path / FULLTEXT, await _instance(index))
            stack.push_async_callback(asyncio.to_thread, fulltext.close)
            yield cls(path, index, StateStore(state, path), cache, fulltext, await Keys.open(state, path))


async def _close(db: Database, remove: Callable[[], None]) -> None:
    """Close a derived database; one that was found to be damaged makes room for a new one."""
    await db.close()
    if db.damaged.is_set():
        log.warning("data.damaged_removed", path=str(db.path))
        await asyncio.to_thread(remove)


async def _index(folder: DataFolder) -> Database:
    try:
        return await Database.open(folder.path / INDEX, schema.INDEX, readers=4, vectors=True)
    except CorruptDatabase as error:
        log.warning("data.index_rebuilt", reason=error.message)
        await asyncio.to_thread(folder.remove_derived)
        return await Database.open(folder.path / INDEX, schema.INDEX, readers=4, vectors=True)


async def _instance(index: Database) -> str:
    """Name this index, so that a full-text index of another one is not taken for its own."""
    async with index.write() as tx:
        await tx.execute("INSERT OR IGNORE INTO meta VALUES ('instance', ?)", (uuid4().hex,))
    return str(await notes.get_meta(index, "instance"))
