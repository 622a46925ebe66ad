"""The real models, opened."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import stamina

from bridge.embed import Embedder, open_embedder
from bridge.settings import EmbeddingSettings


@pytest.fixture(scope="session")
def e5(models: Path) -> Iterator[Embedder]:
    """The default model, with two threads for documents."""
    embedder = asyncio.run(open_embedder(EmbeddingSettings(threads=2), models))
    assert embedder
    yield embedder
    asyncio.run(embedder.close())


@pytest.fixture
async def minilm(models: Path) -> AsyncIterator[Embedder]:
    """The small model, which loads fast enough to be opened for each test."""
    embedder = await open_embedder(EmbeddingSettings(model="all-MiniLM-L6-v2", threads=1), models)
    assert embedder
    yield embedder
    await embedder.close()


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Try again at once, four times at most."""
    with stamina.set_testing(True, attempts=4, cap=True):
        yield
