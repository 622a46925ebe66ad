"""Asking a real bridge, opened over a set's folder as over anybody's vault."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bridge.model import Mode, NotePath
from bridge.runtime import Bridge
from bridge.settings import DataSettings, EmbeddingSettings, Settings, VaultSettings
from tests.quality.measures import ndcg, recall
from tests.quality.sets import RelatedSet, SearchSet


@asynccontextmanager
async def opened(vault: Path, data: Path, model: str) -> AsyncIterator[Bridge]:
    """A bridge over `vault`, indexed and embedded; `data` keeps what it derived for the next run."""
    settings = Settings(
        vault=VaultSettings(path=vault, name=vault.name),
        data=DataSettings(path=data),
        embedding=EmbeddingSettings(model=model),
    )
    async with Bridge.open(settings) as bridge:
        await bridge.index()
        yield bridge


async def search_quality(bridge: Bridge, labelled: SearchSet, mode: Mode) -> float:
    """Mean nDCG@10 of a set's questions."""
    total = 0.0
    for id_, question in labelled.questions.items():
        answer = await bridge.search(question, mode=mode)
        total += ndcg([Path(hit.path).stem for hit in answer.hits], labelled.truth[id_])
    return total / len(labelled.questions)


async def related_quality(bridge: Bridge, labelled: RelatedSet) -> tuple[float, float]:
    """Mean recall@10 of the bridge's related notes, and of the cosine of mean note vectors."""
    paths, means = await _mean_vectors(bridge)
    place = {path: at for at, path in enumerate(paths)}
    ours = baseline = 0.0
    for path, right in labelled.truth.items():
        hits = (await bridge.related(path=NotePath(path), limit=10)).hits
        ours += recall([hit.path for hit in hits], right)
        if path in place:
            order = np.argsort(-(means @ means[place[path]]))[:11]
            baseline += recall([paths[at] for at in order if paths[at] != path], right)
    return ours / len(labelled.truth), baseline / len(labelled.truth)


async def _mean_vectors(bridge: Bridge) -> tuple[list[str], NDArray[np.float32]]:
    rows = await bridge._db.rows(
        "SELECT n.path, v.embedding FROM chunks c JOIN notes n ON n.id = c.note_id "
        "JOIN vectors v ON v.chunk_id = c.id"
    )
    sums: dict[str, NDArray[np.float32]] = {}
    for path, blob in rows:
        vector = np.frombuffer(blob, np.float32)
        sums[path] = sums[path] + vector if path in sums else vector
    stacked = np.stack([*sums.values()])
    return [*sums], stacked / np.linalg.norm(stacked, axis=1, keepdims=True)
