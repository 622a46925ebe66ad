"""Text to vectors: a GGUF model in this process, or an endpoint that speaks OpenAI's API."""

import asyncio
from pathlib import Path

from bridge.embed.embedder import Embedder, EndpointDown, Unembeddable
from bridge.errors import InvalidSetting
from bridge.settings import EmbeddingSettings

__all__ = ["Embedder", "EndpointDown", "Unembeddable", "open_embedder"]


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
