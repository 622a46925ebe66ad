"""An index of unit vectors in memory: one bit a dimension finds candidates, float16 ranks them."""

import tempfile
import threading
import weakref
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bridge.offloop import assert_off_loop

Vector: TypeAlias = NDArray[np.float32]
Vectors: TypeAlias = NDArray[np.float32]
"""One to a row; all vectors here are of unit length."""
Ids: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = NDArray[np.intp]

_LEAST_CANDIDATES = 3000
_CANDIDATES_PER_HIT = 25
_LEAST_CENTRED = 16
_RECENTRED_AFTER = 1.5
"""Growth of the index after which its centre is taken anew."""
_BLOCK = 512
"""Rows worked on at once, so that what is needed for a moment stays in the processor's cache."""


class Near(NamedTuple):
    """A vector found: the id it was stored under, its owner and its cosine with the query."""

    id: int
    owner: int
    cosine: float


class VectorIndex:
    """Finds the nearest of many vectors, each under an id and with an owner.

    A row keeps in memory the side of the centre on which each of its dimensions lies, its
    distance from the centre and its product with it. From the bits that differ from the
    query's follows an estimate of the angle at the centre (Charikar 2002), and from all
    three one of the cosine, as in RaBitQ (Gao and Long 2024). The rows with the highest
    estimates are scored with their float16 vectors, which lie in an unlinked file of
    `folder`: the system may drop those pages from memory.

    Methods block for milliseconds, and may be called from any thread but an event loop's.
    """

    def __init__(self, dimensions: int, folder: Path, *, centred: bool = False) -> None:
        """Make an empty index; a `centred` one takes its cosines at the centre, not at the origin."""
        self._dimensions = dimensions
        self._centred = centred
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 -- lives as long as the index
        weakref.finalize(self, self._file.close)
        self._lock = threading.RLock()
        self._count = 0
        self._ids: Ids = np.empty(0, np.int64)
        self._owners: Ids = np.empty(0, np.int64)
        self._vectors = np.empty((0, dimensions), np.float16)
        self._codes = np.empty((-(-dimensions // 64), 0), np.uint64)
        self._radii = np.empty(0, np.float32)
        self._offsets = np.empty(0, np.float32)
        self._centre = np.zeros(dimensions, np.float32)
        self._centred_at = _LEAST_CENTRED
        self._scope: tuple[frozenset[int], NDArray[np.bool_]] | None = None

    def __len__(self) -> int:
        return self._count

    def upsert(self, ids: Sequence[int] | Ids, owners: Sequence[int] | Ids, vectors: ArrayLike) -> None:
        """Put vectors, shape `(len(ids), dimensions)`, in place of those under the same ids."""
        assert_off_loop()
        with self._lock:
            self.remove(ids)
            first, self._count = self._count, self._count + len(ids)
            self._reserve(self._count)
            rows = slice(first, self._count)
            self._ids[rows] = ids
            self._owners[rows] = owners
            self._vectors[rows] = vectors
            if self._count >= _RECENTRED_AFTER * self._centred_at:
                self._recentre()
            else:
                self._encode(first)

    def remove(self, ids: Collection[int] | Ids) -> None:
        """Take out what is under these ids; unknown ones are ignored."""
        assert_off_loop()
        with self._lock:
            self._scope = None
            gone = np.flatnonzero(np.isin(self._ids[: self._count], np.fromiter(ids, np.int64)))
            kept = self._count - len(gone)
            holes = gone[gone < kept]
            last = np.setdiff1d(np.arange(kept, self._count), gone, assume_unique=True)
            for column in (self._ids, self._owners, self._vectors, self._radii, self._offsets):
                column[holes] = column[last]
            self._codes[:, holes] = self._codes[:, last]
            self._count = kept

    def search(self, query: Vector, k: int, owners: frozenset[int] | None = None) -> list[Near]:
        """Find the `k` nearest, among those of `owners` if given, nearest first."""
        assert_off_loop()
        with self._lock:
            allowed = None if owners is None else np.flatnonzero(self._mask(owners))
            candidates = max(_LEAST_CANDIDATES, k * _CANDIDATES_PER_HIT)
            rows = np.arange(self._count) if allowed is None else allowed
            if len(rows) > candidates:
                estimates = self._estimates(query)
                if allowed is not None:
                    estimates = estimates[allowed]
                rows = rows[_highest(estimates, candidates)]
            cosines = self._cosines(rows, query)
            best = _highest(cosines, k)
            best = best[np.argsort(-cosines[best], kind="stable")]
            found = zip(
                self._ids[rows[best]].tolist(),
                self._owners[rows[best]].tolist(),
                cosines[best].tolist(),
                strict=True,
            )
            return [Near(*each) for each in found]

    def of(self, owners: Collection[int]) -> tuple[Ids, Ids, Vectors]:
        """Give ids, owners and vectors of all that these owners have."""
        assert_off_loop()
        with self._lock:
            rows = np.flatnonzero(np.isin(self._owners[: self._count], np.fromiter(owners, np.int64)))
            return self._ids[rows], self._owners[rows], self._floats(rows)

    def owners_of(self, ids: Collection[int]) -> set[int]:
        """Tell whose the given ids are, as far as they are here."""
        assert_off_loop()
        with self._lock:
            known = np.isin(self._ids[: self._count], np.fromiter(ids, np.int64))
            return set(self._owners[: self._count][known].tolist())

    def count(self, owners: frozenset[int] | None = None) -> int:
        """Count the vectors, of `owners` if given."""
        assert_off_loop()
        with self._lock:
            return self._count if owners is None else int(np.count_nonzero(self._mask(owners)))

    def _mask(self, owners: frozenset[int]) -> NDArray[np.bool_]:
        """Mark the rows of `owners`; the last answer is kept, since a key asks again and again."""
        if self._scope is None or self._scope[0] != owners:
            self._scope = owners, np.isin(self._owners[: self._count], np.fromiter(owners, np.int64))
        return self._scope[1]

    def _estimates(self, query: Vector) -> NDArray[np.float32]:
        """Estimate for every row its cosine with the query, or what grows with it."""
        differing = np.zeros(self._count, np.uint16)
        away = query - self._centre
        for column, bits in zip(self._codes[:, : self._count], _codes(away[None]), strict=True):
            differing += np.bitwise_count(column ^ bits)
        angles = np.linspace(0, np.pi, self._dimensions + 1, dtype=np.float32)
        if self._centred:
            return np.cos(angles)[differing]
        estimates: NDArray[np.float32] = (np.cos(angles) * np.linalg.norm(away))[differing]
        estimates *= self._radii[: self._count]
        estimates += self._offsets[: self._count]
        return estimates

    def _cosines(self, rows: Rows, query: Vector) -> NDArray[np.float32]:
        cosines = np.empty(len(rows), np.float32)
        away = query - self._centre
        for at in range(0, len(rows), _BLOCK):
            some = rows[at : at + _BLOCK]
            vectors = self._floats(some)
            if self._centred:
                lengths = np.maximum(self._radii[some] * np.linalg.norm(away), 1e-9)
                cosines[at : at + _BLOCK] = _products(vectors - self._centre, away) / lengths
            else:
                cosines[at : at + _BLOCK] = _products(vectors, query)
        return cosines

    def _floats(self, rows: Rows) -> Vectors:
        """Widen float16 vectors; by their bits, which takes a tenth of numpy's time for it."""
        bits = self._vectors[rows].view(np.int16).astype(np.int32)
        bits <<= 13
        bits &= ~0x70000000
        floats: Vectors = bits.view(np.float32) * np.float32(2.0**112)
        return floats

    def _reserve(self, count: int) -> None:
        if count <= len(self._ids):
            return
        capacity = max(1024, count, len(self._ids) * 3 // 2)
        vectors = np.memmap(self._file, np.float16, "r+", shape=(capacity, self._dimensions))
        self._vectors = vectors.view(np.ndarray)
        self._ids = _grown(self._ids, capacity)
        self._owners = _grown(self._owners, capacity)
        self._radii = _grown(self._radii, capacity)
        self._offsets = _grown(self._offsets, capacity)
        self._codes = _grown(self._codes, capacity)

    def _recentre(self) -> None:
        """Make the mean the centre: vectors of one model lie close together, away from the origin."""
        total = np.zeros(self._dimensions, np.float64)
        for rows in self._blocks(0):
            total += self._floats(rows).sum(axis=0)
        self._centre = (total / self._count).astype(np.float32)
        self._centred_at = self._count
        self._encode(0)

    def _encode(self, first: int) -> None:
        for rows in self._blocks(first):
            away = self._floats(rows) - self._centre
            self._codes[:, rows] = _codes(away)
            self._radii[rows] = np.sqrt(np.einsum("ij,ij->i", away, away))
            self._offsets[rows] = _products(away, self._centre)

    def _blocks(self, first: int) -> list[Rows]:
        return [np.arange(at, min(at + _BLOCK, self._count)) for at in range(first, self._count, _BLOCK)]


def _codes(away: Vectors) -> NDArray[np.uint64]:
    """Pack the signs of rows to 64-bit words, shape `(words, rows)`."""
    packed = np.packbits(away > 0, axis=1)
    packed = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return np.ascontiguousarray(packed.view(np.uint64).T)


def _products(rows: Vectors, vector: Vector) -> NDArray[np.float32]:
    """Multiply rows with a vector on this thread alone: BLAS would start others and wait for them."""
    products: NDArray[np.float32] = np.einsum("ij,j->i", rows, vector)
    return products


def _grown(column: NDArray[Any], capacity: int) -> NDArray[Any]:
    grown = np.empty((*column.shape[:-1], capacity), column.dtype)
    grown[..., : column.shape[-1]] = column
    return grown


def _highest(scores: NDArray[np.float32], k: int) -> Rows:
    """Give the places of the `k` highest, in no order."""
    if len(scores) <= k:
        return np.arange(len(scores))
    return np.argpartition(scores, len(scores) - k)[len(scores) - k :]
