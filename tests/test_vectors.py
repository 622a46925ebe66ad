"""Embeddings in sqlite-vec and the index that is derived from them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.model import ChunkId, NoteId
from bridge.stores import schema
from bridge.stores.database import Database
from bridge.stores.embeddings import Embeddings
from bridge.stores.vectors import Vector, VectorIndex, Vectors


def crowded(count: int, dimensions: int, seed: int) -> Vectors:
    """Make unit vectors as models do: in clusters, all near one direction, rounded to float16."""
    random = np.random.default_rng(seed)
    scales = np.geomspace(1, 0.05, dimensions)
    clusters = random.standard_normal((count // 50 + 1, dimensions)) * scales
    vectors = clusters[random.integers(0, len(clusters), count)]
    vectors = vectors + 0.7 * random.standard_normal((count, dimensions)) * scales
    vectors += 4 * np.eye(dimensions)[0]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float16).astype(np.float32)


def exact(vectors: Vectors, query: Vector, k: int) -> list[int]:
    return [int(place) for place in np.argsort(-(vectors @ query), kind="stable")[:k]]


@pytest.mark.parametrize("dimensions", [384, 100])
async def test_recall(tmp_path: Path, dimensions: int) -> None:
    """Of the 20 nearest of 12,000 vectors 98 in 100 are found, with or without a scope."""
    vectors = crowded(12_100, dimensions, 1)
    vectors, queries = vectors[:12_000], vectors[12_000::4]
    owners = np.arange(12_000) // 5

    def work() -> tuple[list[float], list[float]]:
        index = VectorIndex(dimensions, tmp_path)
        for first in range(0, 12_000, 3_000):
            ids = range(first, min(first + 3_000, 12_000))
            index.upsert(ids, owners[first : first + 3_000], vectors[first : first + 3_000])
        half = frozenset(range(0, 2_400, 2))
        inside = np.flatnonzero(owners % 2 == 0)
        everywhere, scoped = [], []
        for query in queries:
            found = {near.id for near in index.search(query, 20)}
            everywhere.append(len(found & set(exact(vectors, query, 20))) / 20)
            found = {near.id for near in index.search(query, 20, half)}
            scoped.append(len(found & set(inside[exact(vectors[inside], query, 20)])) / 20)
        return everywhere, scoped

    everywhere, scoped = await asyncio.to_thread(work)

    assert np.mean(everywhere) >= 0.98
    assert np.mean(scoped) >= 0.98


async def test_cosines(tmp_path: Path) -> None:
    """A hit's cosine is that of the stored vector, and the nearest comes first."""
    vectors = crowded(3_000, 64, 2)

    def work() -> list[tuple[int, int, float]]:
        index = VectorIndex(64, tmp_path)
        index.upsert(range(3_000), [7] * 3_000, vectors)
        return [*index.search(vectors[42], 5)]

    found = await asyncio.to_thread(work)

    assert found[0][:2] == (42, 7)
    assert [near[2] for near in found] == sorted((near[2] for near in found), reverse=True)
    for id_, _, cosine in found:
        assert cosine == pytest.approx(float(vectors[id_] @ vectors[42]), abs=1e-6)


async def test_equal_vectors(tmp_path: Path) -> None:
    """Many equal vectors, as a template's notes have, are found like any others."""
    vectors = np.repeat(crowded(1, 64, 3), 5_000, axis=0)

    def work() -> list[tuple[int, int, float]]:
        index = VectorIndex(64, tmp_path)
        index.upsert(range(5_000), range(5_000), vectors)
        return [*index.search(vectors[0], 30)]

    found = await asyncio.to_thread(work)

    assert len({near[0] for near in found}) == 30
    assert {round(near[2], 3) for near in found} == {1.0}


STEP = st.one_of(
    st.tuples(st.just("put"), st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True)),
    st.tuples(st.just("remove"), st.lists(st.integers(0, 35), max_size=8, unique=True)),
)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEP, max_size=12))
def test_steps(steps: list[tuple[str, list[int]]], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever was put in and taken out, the index holds what a dictionary would."""
    index = VectorIndex(16, tmp_path_factory.mktemp("vectors"))
    model: dict[int, tuple[int, Vector]] = {}
    for turn, (verb, ids) in enumerate(steps):
        if verb == "put":
            vectors = crowded(len(ids), 16, turn)
            index.upsert(ids, [id_ % 4 for id_ in ids], vectors)
            model.update({id_: (id_ % 4, vector) for id_, vector in zip(ids, vectors, strict=True)})
        else:
            index.remove(ids)
            for id_ in ids:
                model.pop(id_, None)
    query = crowded(1, 16, 99)[0]
    for scope in (None, frozenset({1, 3})):
        expected = {
            id_: vector @ query for id_, (of, vector) in model.items() if scope is None or of in scope
        }

        found = {near.id: near.cosine for near in index.search(query, 50, scope)}

        assert found == pytest.approx(expected, abs=1e-6)
        assert index.count(scope) == len(expected)


async def test_loop_is_refused(tmp_path: Path) -> None:
    """Searching on the event loop's thread fails at once."""
    index = VectorIndex(16, tmp_path)

    with pytest.raises(AssertionError, match="event loop"):
        index.search(crowded(1, 16, 0)[0], 1)


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    """An index with 500 notes of 4 chunks each."""
    db = await Database.open(tmp_path / "index.sqlite", schema.INDEX, vectors=True)
    async with db.write() as tx:
        await tx.execute("PRAGMA defer_foreign_keys = ON")
        for id_ in range(500):
            await tx.execute(
                "INSERT INTO notes VALUES (?, ?, '', 'note', '', 0, 0, 0, '', '', '', '', '', '', '', 1)",
                (id_, f"{id_}.md"),
            )
        await tx.executemany(
            "INSERT INTO chunks VALUES (?, ?, 0, '[]', 1, 1, '', NULL)",
            [(id_, id_ // 4) for id_ in range(2000)],
        )
    yield db
    await db.close()


async def test_reload(db: Database, tmp_path: Path) -> None:
    """After any writes a start finds exactly what was there before it, and what sqlite-vec holds."""
    vectors = crowded(2_000, 32, 5)
    live = Embeddings(tmp_path / "vectors")
    async with db.write() as tx:
        await live.create(tx, 32)
    await live.load(db, 32)
    for first, removed in ((0, []), (1_200, [*range(0, 1_200, 3), 1_999]), (2_000, [*range(1_200, 1_300)])):
        last = min(first + 1_200, 2_000)
        gone = [ChunkId(id_) for id_ in removed]
        async with db.write() as tx:
            await live.drop(tx, gone)
            await live.put(tx, {ChunkId(id_): vectors[id_] for id_ in range(first, last)})
        added = [(ChunkId(id_), NoteId(id_ // 4), vectors[id_]) for id_ in range(first, last)]
        await asyncio.to_thread(live.refresh, gone, added)
    again = Embeddings(tmp_path / "vectors")
    await again.load(db, 32)
    query = crowded(1, 32, 6)[0]
    rows = await db.rows(
        "SELECT chunk_id, 1 - distance FROM vectors WHERE embedding MATCH ? AND k = 2000",
        (query.tobytes(),),
    )
    best: dict[int, float] = {}
    for id_, cosine in rows:
        best.setdefault(id_ // 4, cosine)

    found = await asyncio.to_thread(live.search, query, 500, None)
    reloaded = await asyncio.to_thread(again.search, query, 500, None)
    means = await asyncio.to_thread(live.alike, query, 500, None)
    means_reloaded = await asyncio.to_thread(again.alike, query, 500, None)

    assert {hit.note_id: hit.cosine for hit in found} == pytest.approx(best, abs=1e-3)
    assert {hit.note_id: hit.cosine for hit in reloaded} == pytest.approx(best, abs=1e-3)
    assert len(live) == len(again) == 2_000 - 400 - 1 - 100 + 1
    assert means_reloaded == pytest.approx(means, abs=0.02)


async def test_mean_of_a_note(db: Database, tmp_path: Path) -> None:
    """A note's mean vector follows its chunks, and goes with the last of them."""
    vectors = crowded(8, 32, 7)
    live = Embeddings(tmp_path / "vectors")
    async with db.write() as tx:
        await live.create(tx, 32)
    await live.load(db, 32)

    def means() -> dict[NoteId, Vector]:
        live.refresh((), [(ChunkId(id_), NoteId(id_ // 4), vectors[id_]) for id_ in range(8)])
        live.refresh([ChunkId(0)], ())
        live.refresh([ChunkId(id_) for id_ in range(4, 8)], ())
        return live.means([NoteId(0), NoteId(1)])

    left = await asyncio.to_thread(means)
    expected = vectors[1:4].sum(axis=0)

    assert left.keys() == {0}
    assert left[NoteId(0)] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-3)


async def test_other_model(db: Database, tmp_path: Path) -> None:
    """A change of model drops every vector and takes those of other dimensions."""
    live = Embeddings(tmp_path / "vectors")
    for dimensions in (32, 48):
        async with db.write() as tx:
            await live.create(tx, dimensions)
            await live.put(tx, {ChunkId(1): crowded(1, dimensions, 8)[0]})
        await live.load(db, dimensions)
        found = await asyncio.to_thread(live.search, crowded(1, dimensions, 8)[0], 10, None)

        assert [(hit.chunk_id, hit.note_id) for hit in found] == [(1, 0)]
