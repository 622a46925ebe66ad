"""The cache of embeddings."""

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.embed import Embedder
from bridge.embed.cache import EmbeddingCache, text_hash
from bridge.embed.vectors import unit


@pytest.fixture
async def cache(tmp_path: Path) -> AsyncIterator[EmbeddingCache]:
    opened = await EmbeddingCache.open(tmp_path / "embeddings.sqlite")
    yield opened
    await opened.close()


def vector(seed: int, dimensions: int = 384) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return unit(np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32))


async def test_a_cached_embedding_equals_a_fresh_one(cache: EmbeddingCache, minilm: Embedder) -> None:
    """What comes from the cache is, bit for bit, what the model would say again."""
    [fresh] = await minilm.embed_documents(["Bread wants time."])
    key = text_hash("Bread wants time.")
    await cache.put_many(minilm.identity, {key: fresh})
    found = await cache.get_many(minilm.identity, [key])

    assert np.array_equal(fresh, found[key])
    assert np.float32 == found[key].dtype


async def test_identities_do_not_mix(cache: EmbeddingCache) -> None:
    """The same text has one embedding for each model, and absent ones are left out."""
    key, other = text_hash("a"), text_hash("b")
    await cache.put_many("one", {key: vector(1)})
    await cache.put_many("two", {key: vector(2, 768)})

    assert np.array_equal(vector(1), (await cache.get_many("one", [key, other]))[key])
    assert [key] == list(await cache.get_many("two", [key, other]))
    assert {} == await cache.get_many("three", [key])
    assert {} == await cache.get_many("one", [])


async def test_many_texts_at_once(cache: EmbeddingCache) -> None:
    """A whole vault may be asked for in one call."""
    vectors = {text_hash(str(i)): vector(i, 8) for i in range(2_500)}
    await cache.put_many("one", vectors)
    found = await cache.get_many("one", list(vectors))

    assert all(np.array_equal(found[key], vectors[key]) for key in vectors)


async def test_what_is_stored_again_is_replaced(cache: EmbeddingCache) -> None:
    """The last embedding of a text counts."""
    key = text_hash("a")
    await cache.put_many("one", {key: vector(1)})
    await cache.put_many("one", {key: vector(2)})

    assert np.array_equal(vector(2), (await cache.get_many("one", [key]))[key])


async def test_pruning_spares_the_model_in_use(cache: EmbeddingCache) -> None:
    """Other models' embeddings go first, then the oldest ones."""
    keys = [text_hash(str(i)) for i in range(6)]
    await cache.put_many("used", {key: vector(i, 8) for i, key in enumerate(keys[:4])})
    await cache.put_many("other", {key: vector(i, 8) for i, key in enumerate(keys)})

    assert 5 == await cache.prune("used", 5)
    assert 4 == len(await cache.get_many("used", keys))
    assert keys[5:] == list(await cache.get_many("other", keys))
    assert 2 == await cache.prune("used", 3)
    assert set(keys[1:4]) == set(await cache.get_many("used", keys))
    assert 0 == await cache.prune("used", 3)


async def test_a_damaged_cache_is_begun_anew(tmp_path: Path) -> None:
    """A file that is no database costs the embeddings in it and nothing else."""
    path = tmp_path / "embeddings.sqlite"
    path.write_bytes(b"no database at all " * 500)
    cache = await EmbeddingCache.open(path)
    await cache.put_many("one", {text_hash("a"): vector(1)})

    assert 1 == len(await cache.get_many("one", [text_hash("a")]))
    await cache.close()


@given(st.text(), st.text())
def test_texts_have_hashes_of_their_own(one: str, other: str) -> None:
    """Equal texts share a hash of 16 bytes, different ones do not, surrogates included."""
    assert 16 == len(text_hash(one + "\ud800"))
    assert (one == other) == (text_hash(one) == text_hash(other))
