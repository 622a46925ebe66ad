"""Text to vectors: a GGUF model in this process, or an endpoint that speaks OpenAI's API."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bridge.errors import InvalidSetting, TransomError, Unavailable
from bridge.settings import EmbeddingSettings


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


async def open_embedder(settings: EmbeddingSettings, models_dir: Path) -> Embedder | None:
    """Open the model that the settings name; None for "none".

    Raises `InvalidSetting`, `InstallationError` when a model file is absent or spoilt, and
    `EndpointDown` while an endpoint is away.
    """
    if settings.model == "none":
        return None
    if settings.model.startswith("openai:"):
        from bridge.embed.openai import OpenAIEmbedder

        if not settings.base_url:
            raise InvalidSetting(
                f"The model {settings.model} needs [embedding] base_url, the address of the API; "
                "nothing was sent anywhere.",
                setting="embedding.base_url",
            )
        return await OpenAIEmbedder.open(
            settings.model.removeprefix("openai:"),
            settings.base_url,
            settings.api_key,
            settings.query_prefix,
            settings.document_prefix,
        )
    return await asyncio.to_thread(_load, settings, models_dir)


def _load(settings: EmbeddingSettings, models_dir: Path) -> Embedder:
    from bridge.embed.catalogue import locate
    from bridge.embed.llama import LlamaEmbedder

    located = locate(settings.model, models_dir)
    return LlamaEmbedder(located, settings.query_prefix, settings.document_prefix, threads=settings.threads)
