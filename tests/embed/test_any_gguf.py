"""Any GGUF by path: causal models that pool the last token, models without a vector, models that are none."""

import asyncio
from pathlib import Path

import gguf
import numpy as np
import pytest

from bridge.embed import Embedder, Unembeddable, open_embedder
from bridge.errors import InstallationError
from bridge.settings import EmbeddingSettings
from tests.embed import tiny


async def opened(path: Path) -> Embedder:
    embedder = await open_embedder(EmbeddingSettings(model=str(path), threads=1), path.parent)
    assert embedder
    return embedder


async def test_a_causal_model_remembers_no_text_before(tmp_path: Path) -> None:
    """A model with a memory of what it read forgets it between texts."""
    path = await asyncio.to_thread(tiny.write, tmp_path / "causal.gguf", pooling=gguf.PoolingType.LAST)
    embedder = await opened(path)
    first = await embedder.embed_query("bread")
    await embedder.embed_query("the roof of the shed")
    [document] = await embedder.embed_documents(["bread"])

    assert np.array_equal(first, await embedder.embed_query("bread"))
    assert np.array_equal(first, document)
    assert (tiny.WIDTH,) == first.shape
    assert tiny.WINDOW == embedder.window
    await embedder.close()


async def test_its_window_holds_too(tmp_path: Path) -> None:
    """Without an opening token and with a closing one, long texts are cut and split all the same."""
    path = await asyncio.to_thread(tiny.write, tmp_path / "causal.gguf", pooling=gguf.PoolingType.LAST)
    embedder = await opened(path)
    long = "bread and butter " * 40
    [document] = await embedder.embed_documents([long])

    assert embedder.count_tokens(long) > embedder.window
    assert np.array_equal(await embedder.embed_query(long), await embedder.embed_query(long + "roof"))
    assert abs(float(np.linalg.norm(document)) - 1) < 1e-3
    await embedder.close()


async def test_a_vector_that_is_none_is_an_error_of_its_text(tmp_path: Path) -> None:
    """What is not finite is never stored."""
    path = tmp_path / "broken.gguf"
    await asyncio.to_thread(tiny.write, path, pooling=gguf.PoolingType.MEAN, scale=float("nan"))
    embedder = await opened(path)
    with pytest.raises(Unembeddable, match="found by its words"):
        await embedder.embed_documents(["bread"])
    await embedder.close()


async def test_a_model_that_embeds_nothing_is_refused(tmp_path: Path) -> None:
    """A GGUF for chat says no pooling, so it is told from an embedding model at once."""
    path = await asyncio.to_thread(tiny.write, tmp_path / "chat.gguf", pooling=None)
    with pytest.raises(InstallationError, match="no embedding model"):
        await opened(path)
