"""Embeddings from any endpoint that speaks OpenAI's API: llama-server, Ollama, hosted ones.

Request and answer: https://platform.openai.com/docs/api-reference/embeddings
"""

import base64
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import aiohttp
import numpy as np
import stamina
import structlog
from numpy.typing import NDArray
from yarl import URL

from bridge.embed.embedder import EndpointDown, Unembeddable
from bridge.embed.vectors import identity, unit
from bridge.errors import InvalidSetting

log = structlog.get_logger(__name__)

WINDOW = 256
_BATCH = 32
_LONGEST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an endpoint is waited for, and for how long it is left alone after a failure."""

    query_s: float = 5.0
    documents_s: float = 60.0
    attempts: int = 4
    rest_s: float = 10.0


class _FailedError(Exception):
    """The endpoint gave no embeddings; `wait_s` is what it asked for."""

    def __init__(self, reason: str, *, again: bool = True, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.again = again
        self.wait_s = wait_s


class _RefusedError(_FailedError):
    """The endpoint does not take these texts, so asking again is no use."""


class OpenAIEmbedder:
    """A model behind an endpoint; see `Embedder`. Its tokenizer is unknown, so tokens are estimated."""

    def __init__(
        self, model: str, base_url: str, api_key: str | None, prefixes: tuple[str, str], patience: Patience
    ) -> None:
        self.name = model
        self.window = WINDOW
        self.languages: frozenset[str] | None = None
        self.dimensions = 0
        self._url = _endpoint(base_url)
        if api_key and self._url.user:
            raise InvalidSetting(
                "[embedding] api_key and a user name in base_url exclude each other; nothing was sent anywhere. "
                "Keep one of them.",
                setting="embedding.api_key",
            )
        self._query_prefix, self._document_prefix = prefixes
        self.identity = identity("openai", str(self._url.with_user(None)), model, *prefixes)
        self._patience = patience
        self._trouble: str | None = None
        self._rest_until = 0.0
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {api_key}"} if api_key else None, trust_env=True
        )

    @classmethod
    async def open(
        cls,
        model: str,
        base_url: str,
        api_key: str | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        *,
        patience: Patience | None = None,
    ) -> Self:
        """Ask the endpoint for one embedding to learn the dimensions; raises `EndpointDown`."""
        prefixes = (query_prefix or "", document_prefix or "")
        embedder = cls(model, base_url, api_key, prefixes, patience or Patience())
        try:
            [probe] = await embedder._ask(["dimensions"], embedder._patience.documents_s, attempts=1)
        except BaseException:
            await embedder.close()
            raise
        embedder.dimensions = len(probe)
        log.info("embed.endpoint_ready", model=model, host=embedder._url.host, dimensions=len(probe))
        return embedder

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query; while the endpoint is known to be away this fails at once."""
        if self._trouble and time.monotonic() < self._rest_until:
            raise self._down(self._trouble)
        [vector] = await self._ask([self._query_prefix + text], self._patience.query_s, attempts=1)
        return vector

    async def embed_documents(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embed passages in batches; raises `Unembeddable` when the endpoint takes one of them not at all."""
        found: list[NDArray[np.float32]] = []
        for start in range(0, len(texts), _BATCH):
            some = [self._document_prefix + text for text in texts[start : start + _BATCH]]
            found += await self._ask(some, self._patience.documents_s, attempts=self._patience.attempts)
        return found

    def count_tokens(self, text: str) -> int:
        """Estimate a document's tokens from its bytes, rather too many than too few."""
        return len((self._document_prefix + text).encode("utf-8", "replace")) // 3 + 3

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def _ask(
        self, texts: Sequence[str], timeout_s: float, *, attempts: int
    ) -> list[NDArray[np.float32]]:
        """Get the unit vectors of texts, trying again where that may help."""
        try:
            async for attempt in stamina.retry_context(on=_backoff, attempts=attempts, timeout=None):
                with attempt:
                    vectors = await self._post(texts, timeout_s)
        except _RefusedError as error:
            raise Unembeddable(
                f"The embeddings endpoint at {self._url.host} does not take one of the texts ({error}); "
                "it is found by its words, and all else is embedded."
            ) from error
        except _FailedError as error:
            reason = str(error)
            if self._trouble is None:
                log.warning("embed.endpoint_down", host=self._url.host, reason=reason)
            self._trouble = reason
            self._rest_until = time.monotonic() + self._patience.rest_s
            raise self._down(reason) from error
        if self._trouble:
            log.info("embed.endpoint_back", host=self._url.host)
            self._trouble = None
        return [unit(vector) for vector in vectors]

    async def _post(self, texts: Sequence[str], timeout_s: float) -> list[NDArray[np.float32]]:
        body = {"model": self.name, "input": list(texts), "encoding_format": "float"}
        try:
            async with self._session.post(
                self._url, json=body, timeout=aiohttp.ClientTimeout(timeout_s), allow_redirects=False
            ) as response:
                if response.status != 200:
                    raise _failure(response)
                answer = json.loads(await response.read())
        except TimeoutError:
            raise _FailedError(f"no answer in {timeout_s:g} s") from None
        except aiohttp.ClientError as error:
            raise _FailedError(f"no connection: {type(error).__name__}") from error
        except ValueError:
            raise _FailedError("an answer that is not JSON") from None
        return _vectors(answer, len(texts), self.dimensions)

    def _down(self, reason: str) -> EndpointDown:
        return EndpointDown(
            f"The embeddings endpoint at {self._url.host} is not to be had ({reason}); nothing is lost, keyword "
            "search goes on and it is asked again. Check that it runs, and [embedding] base_url and api_key.",
            retry_after_s=round(self._patience.rest_s),
            reason=reason,
        )


def _endpoint(base_url: str) -> URL:
    url = URL(base_url.rstrip("/"))
    if url.scheme not in {"http", "https"} or not url.host:
        raise InvalidSetting(
            "[embedding] base_url is no http(s) address; nothing was sent anywhere. "
            "It looks like http://127.0.0.1:11434/v1",
            setting="embedding.base_url",
        )
    return url if url.name == "embeddings" else url / "embeddings"


def _backoff(error: Exception) -> bool | float:
    """Whether to ask again, and when the endpoint said so, after how long."""
    if not isinstance(error, _FailedError) or not error.again:
        return False
    return True if error.wait_s is None else min(error.wait_s, _LONGEST_WAIT_S)


def _failure(response: aiohttp.ClientResponse) -> _FailedError:
    status = response.status
    if status in {400, 413, 422}:
        return _RefusedError(f"status {status}", again=False)
    if status in {401, 403}:
        return _FailedError("it refuses the key", again=False)
    if status == 404:
        return _FailedError("it knows neither this address nor this model", again=False)
    wait = response.headers.get("Retry-After", "")
    return _FailedError(
        "too many requests" if status == 429 else f"status {status}",
        again=status == 429 or status >= 500,
        wait_s=float(wait) if wait.isdigit() else None,
    )


def _vectors(answer: Any, n: int, dimensions: int) -> list[NDArray[np.float32]]:
    """Read the answer's vectors in the order of the texts, whichever way they are written."""
    try:
        found = {item["index"]: _vector(item["embedding"]) for item in answer["data"]}
        vectors = [found[i] for i in range(n)]
    except (KeyError, TypeError, ValueError):
        raise _FailedError("an answer without embeddings") from None
    sizes = {len(vector) for vector in vectors}
    if sizes != {dimensions or len(vectors[0])} or 0 in sizes:
        raise _FailedError("embeddings of another size than before", again=False)
    return vectors


def _vector(value: Any) -> NDArray[np.float32]:
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), "<f4").astype(np.float32)
    with np.errstate(over="ignore"):
        vector = np.asarray(value, np.float32)
    if vector.ndim != 1:
        raise ValueError
    return vector
