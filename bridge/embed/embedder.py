"""What every embedding model does, and how it fails."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bridge.errors import TransomError, Unavailable


class EndpointDown(Unavailable):
    """The embeddings endpoint is away or refuses; it is asked again later."""

    key = "endpoint_down"


class Unembeddable(TransomError):
    """The model gives no usable vector for one of the texts; the others are not to blame."""

    key = "unembeddable"


class Embedder(Protocol):
    """What turns texts into unit vectors, each rounded to float16.

    `identity` names the model with its prefixes and pooling: vectors of different identities
    do not compare. `window` is the most tokens of a document, as `count_tokens` counts them;
    `languages` holds the ISO 639-1 codes that the model knows, None when that is unknown or all.
    """

    name: str
    identity: str
    dimensions: int
    window: int
    languages: frozenset[str] | None

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed what somebody looks for; goes ahead of any documents."""
        ...

    async def embed_documents(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embed passages, yielding to queries; raises `Unembeddable` or `Unavailable`."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count a document's tokens with prefix and special ones; any thread may."""
        ...

    async def close(self) -> None:
        """Stop and give memory and connections back."""
        ...
