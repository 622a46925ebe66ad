"""Small vaults made in a test, and bridges over them that look at the folder when told to."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bridge.runtime import Bridge
from bridge.settings import DataSettings, EmbeddingSettings, Settings, VaultSettings
from bridge.stores.database import Database


def write(vault: Path, notes: Mapping[str, str]) -> Path:
    """Lay out files of a vault."""
    for path, text in notes.items():
        file = vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return vault


def settings(vault: Path, data: Path, *, model: str = "none", exclude: tuple[str, ...] = ()) -> Settings:
    """Settings for a test: no model unless one is named."""
    return Settings(
        vault=VaultSettings(path=vault, name=vault.name, exclude=exclude),
        data=DataSettings(path=data),
        embedding=EmbeddingSettings(model=model),
    )


@asynccontextmanager
async def serving(chosen: Settings) -> AsyncIterator[Bridge]:
    """A bridge that follows its sources, settled."""
    async with Bridge.open(chosen) as bridge:
        bridge.start()
        await until_settled(bridge)
        yield bridge


async def until_settled(bridge: Bridge) -> None:
    await until(lambda: _settled(bridge))


async def _settled(bridge: Bridge) -> bool:
    return (await bridge.status()).settled


async def until(holds: Callable[[], Any], timeout_s: float = 20.0) -> None:
    """Wait until an awaited condition holds."""
    async with asyncio.timeout(timeout_s):
        while not await holds():
            await asyncio.sleep(0.02)


async def found(bridge: Bridge, query: str, **more: Any) -> list[str]:
    return [hit.path for hit in (await bridge.search(query, **more)).hits]


async def snapshot(db: Database) -> dict[str, Any]:
    """Everything derived, but for what counts transactions."""
    tables = {
        "notes": "id, path, title, kind, revision, size, lines, language, frontmatter, headings, blocks, tasks, issues",
        "names": "*",
        "tags": "*",
        "chunks": "*",
        "links": "*",
        "files": "path, key, size",
        "failures": "path, reason",
    }
    return {
        table: sorted(await db.rows(f"SELECT {columns} FROM {table}"), key=repr)
        for table, columns in tables.items()
    }


@asynccontextmanager
async def indexed(vault: Path, notes: Mapping[str, str], model: str = "none") -> AsyncIterator[Bridge]:
    """Write the notes and open a bridge that has indexed them."""
    async with Bridge.open(settings(write(vault, notes), vault.with_name("data"), model=model)) as bridge:
        await bridge.index()
        yield bridge
