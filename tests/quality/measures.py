"""Measures of a ranking against relevance judgements."""

import math
from collections.abc import Iterable, Mapping, Sequence


def ndcg(ranked: Sequence[str], relevance: Mapping[str, float], k: int = 10) -> float:
    """Normalised discounted cumulative gain of the first `k`; the gain is the relevance (as trec_eval's)."""
    gained = (relevance.get(name, 0.0) for name in ranked[:k])
    return _discounted(gained) / _discounted(sorted(relevance.values(), reverse=True)[:k])


def recall(ranked: Sequence[str], relevance: Mapping[str, float], k: int = 10) -> float:
    """The part of the relevant ones that stands among the first `k`."""
    return len(relevance.keys() & set(ranked[:k])) / len(relevance)


def _discounted(gains: Iterable[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
