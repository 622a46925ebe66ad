"""Small vaults made in a test, and bridges over them that look at the folder when told to."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bridge.runtime import Bridge
from bridge.settings import DataSettings, EmbeddingSettings, Settings, VaultSettings


def write(vault: Path, notes: Mapping[str, str]) -> Path:
    """Lay out files of a vault."""
    for path, text in notes.items():
        file = vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return vault


def settings(vault: Path, data: Path, model: str = "none") -> Settings:
    """Settings of a bridge over a folder."""
    return Settings(
        vault=VaultSettings(path=vault, name="vault"),
        data=DataSettings(path=data),
        embedding=EmbeddingSettings(model=model),
    )


@asynccontextmanager
async def indexed(vault: Path, notes: Mapping[str, str], model: str = "none") -> AsyncIterator[Bridge]:
    """Write the notes and open a bridge that has indexed them."""
    async with Bridge.open(settings(write(vault, notes), vault.with_name("data"), model)) as bridge:
        await bridge.index()
        yield bridge
