"""What every embedding is: a unit vector, rounded to float16, of a model with an identity."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from bridge.embed.embedder import Unembeddable


def unit(raw: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale to unit length and round to float16, so that a cached embedding equals a fresh one.

    Raises `Unembeddable` for zero and for what is not finite.
    """
    norm = float(np.linalg.norm(raw))
    if not (np.isfinite(norm) and norm > 0):
        raise Unembeddable(
            "The model has no vector for one of the texts; it is found by its words, and all else is embedded."
        )
    return (raw / norm).astype(np.float16).astype(np.float32)


def identity(*parts: str) -> str:
    """Hash what makes embeddings comparable: the model, its prefixes and pooling."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()
