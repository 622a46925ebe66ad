"""Vector search over 100,000 vectors: recall and time beside sqlite-vec's exact search."""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bridge.stores import sqlite
from bridge.stores.vectors import VectorIndex
from tests.bench.figures import Report, p50, p95, timed_ms

K = 20
QUERIES = 200

Floats = NDArray[np.float32]


def spread(base: Floats, count: int, seed: int = 5) -> Floats:
    """Make `count` unit vectors out of real ones: each a real one moved by a sixth of its length or more."""
    rng = np.random.default_rng(seed)
    chosen = base[rng.integers(0, len(base), count)]
    noise = rng.standard_normal(chosen.shape, np.float32) / np.sqrt(base.shape[1])
    moved = chosen + noise * rng.uniform(0.15, 0.5, (count, 1)).astype(np.float32)
    unit: Floats = (
        (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)
    )
    return unit


def run(report: Report, base: Floats, count: int = 100_000) -> float:
    """Report recall and time; return the exact search's p95 in milliseconds."""
    vectors = spread(base, count)
    asked = [*spread(base, QUERIES, seed=6)]
    with tempfile.TemporaryDirectory() as folder:
        index = VectorIndex(base.shape[1], Path(folder))
        for first in range(0, count, 5000):
            rows = range(first, min(first + 5000, count))
            index.upsert(rows, rows, vectors[rows.start : rows.stop])
        db = sqlite.connect(Path(folder) / "exact.sqlite", vectors=True)
        db.execute(
            f"CREATE VIRTUAL TABLE v USING vec0(id INTEGER PRIMARY KEY, e FLOAT[{base.shape[1]}] distance_metric=cosine)"
        )
        db.execute("BEGIN")
        db.executemany("INSERT INTO v VALUES (?, ?)", ((row, vectors[row].tobytes()) for row in range(count)))
        db.execute("COMMIT")
        sql = "SELECT id FROM v WHERE e MATCH ? AND k = ?"
        exact = timed_ms(lambda query: db.execute(sql, (query.tobytes(), K)).fetchall(), asked)
        ours = timed_ms(lambda query: index.search(query, K), [*asked, *asked])[QUERIES:]
        found = 0
        for query in asked:
            truth = {row[0] for row in db.execute(sql, (query.tobytes(), K))}
            found += len(truth & {near.id for near in index.search(query, K)})
        print(f"     p50: ours {p50(ours):.2f} ms, exact {p50(exact):.2f} ms")
        report.least(f"vector query at {count:,}: recall@{K}", found / (K * QUERIES), "", 0.98)
        report.ratio_most(
            f"vector query at {count:,}, p95", p95(ours), "ms", p95(exact), "sqlite-vec, exact", 0.5
        )
        db.close()
    return p95(exact)
