"""Embeddings by llama.cpp in this process."""

import asyncio
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from bridge.embed.catalogue import Located
from bridge.embed.native import Context, Model
from bridge.embed.vectors import identity, unit
from bridge.errors import InvalidSetting, Unavailable

log = structlog.get_logger(__name__)

_NICE = 5
_MOST_THREADS = 2
_PATIENCE_S = 0.5
_LEAST_ROOM = 32

_T = TypeVar("_T")


class _Lane:
    """A thread with a context of its own."""

    def __init__(self, name: str, context: Context, *, nice: int = 0) -> None:
        self.context = context
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=_be_nice, initargs=(nice,))


class LlamaEmbedder:
    """A GGUF model with one lane for queries and a few for documents; see `Embedder`.

    Queries never wait behind documents: they have a lane of their own, and between two texts
    the others pause while a query is under way.
    """

    def __init__(
        self,
        located: Located,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        *,
        threads: int | None = None,
    ) -> None:
        """Load the model, in a thread, for that takes up to a second; prefixes left out are the model's.

        Raises `InstallationError` when the file is spoilt or memory is short.
        """
        threads = threads or max(1, min(_cores() - 1, _MOST_THREADS))
        self.name = located.name
        self.languages = located.languages
        self._query_prefix = located.query_prefix if query_prefix is None else query_prefix
        self._document_prefix = located.document_prefix if document_prefix is None else document_prefix
        self._model = Model(located.path)
        self.dimensions = self._model.dimensions
        self.window = min(located.window, self._model.trained_window or located.window)
        self._n_head = len(self._model.opening) + len(
            self._model.tokens(self._document_prefix, special=False)
        )
        contexts: list[Context] = []
        try:
            if self.window - self._n_head < _LEAST_ROOM:
                raise InvalidSetting(
                    f"The prefix leaves no room for text in the model's window of {self.window} tokens; "
                    "shorten it.",
                    setting="embedding.document_prefix",
                )
            for _ in range(threads + 1):
                contexts.append(Context(self._model, self.window, located.pooling))  # noqa: PERF401 -- those made are freed if one fails
        except BaseException:
            for context in contexts:
                context.free()
            self._model.free()
            raise
        self.identity = identity(
            located.sha256, self._query_prefix, self._document_prefix, str(contexts[0].pooling)
        )
        self._query = _Lane("embed-query", contexts[0])
        self._documents = [_Lane("embed", context, nice=_NICE) for context in contexts[1:]]
        self._in_front = 0
        self._go_on = threading.Event()
        self._go_on.set()
        self._closed = False
        log.info(
            "embed.model_loaded",
            model=self.name,
            dimensions=self.dimensions,
            window=self.window,
            threads=threads,
        )

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query; one longer than the window is cut at the window."""
        self._in_front += 1
        self._go_on.clear()
        try:
            return await self._run(self._query, self._embed_query, text)
        finally:
            self._in_front -= 1
            if not self._in_front:
                self._go_on.set()

    async def embed_documents(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embed passages on all document lanes; one longer than the window is averaged over pieces."""
        waiting = deque(enumerate(texts))
        found: dict[int, NDArray[np.float32]] = {}
        lanes = self._documents[: len(waiting)]
        try:
            await asyncio.gather(
                *(self._run(lane, self._drain, lane.context, waiting, found) for lane in lanes)
            )
        finally:
            waiting.clear()
        return [found[i] for i in range(len(texts))]

    def count_tokens(self, text: str) -> int:
        """Count a document's tokens with prefix and special ones; any thread may."""
        self._check_open()
        return len(self._model.tokens(self._document_prefix + text))

    async def close(self) -> None:
        """Finish the texts under way and free the memory."""
        if not self._closed:
            self._closed = True
            self._go_on.set()
            await asyncio.to_thread(self._free)

    async def _run(self, lane: _Lane, work: Callable[..., _T], *args: object) -> _T:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(lane.thread, work, *args)

    def _drain(
        self, context: Context, waiting: deque[tuple[int, str]], found: dict[int, NDArray[np.float32]]
    ) -> None:
        """Embed texts until none waits; a lane's work."""
        while True:
            self._go_on.wait(_PATIENCE_S)
            self._check_open()
            try:
                i, text = waiting.popleft()
            except IndexError:
                return
            found[i] = self._embed_document(context, text)

    def _embed_query(self, text: str) -> NDArray[np.float32]:
        tokens = self._model.tokens(self._query_prefix + text)
        closing = self._model.closing
        if len(tokens) > self.window:
            tokens = tokens[: self.window - len(closing)] + closing
        return unit(self._query.context.embed(tokens))

    def _embed_document(self, context: Context, text: str) -> NDArray[np.float32]:
        tokens = self._model.tokens(self._document_prefix + text)
        if len(tokens) <= self.window:
            return unit(context.embed(tokens))
        head, closing = tokens[: self._n_head], self._model.closing
        body = tokens[self._n_head : len(tokens) - len(closing)]
        room = self.window - len(head) - len(closing)
        pieces = [body[i : i + room] for i in range(0, len(body), room)]
        total = np.zeros(self.dimensions, np.float32)
        for piece in pieces:
            total += len(piece) * unit(context.embed(head + piece + closing))
        return unit(total)

    def _check_open(self) -> None:
        if self._closed:
            raise Unavailable("Transom is stopping, so the embedding model is closed; try again later.")

    def _free(self) -> None:
        for lane in (self._query, *self._documents):
            lane.thread.shutdown(cancel_futures=True)
            lane.context.free()
        self._model.free()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _be_nice(nice: int) -> None:
    """Let searches go before embedding; Linux gives each thread a priority of its own."""
    if nice and sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
