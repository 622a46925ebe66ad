"""Embedding speed beside bare llama.cpp contexts on the same texts, and a query's own embedding."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from bridge.embed import Embedder, open_embedder
from bridge.settings import EmbeddingSettings, models_dir
from tests.bench.corpus import passages, queries
from tests.bench.figures import Report
from tests.bench.vectors import Floats

TEXTS = 240


async def embed(embedder: Embedder, texts: list[str]) -> tuple[Floats, float]:
    """Embed texts as the background does; return the vectors and the seconds that it took."""
    started = time.perf_counter()
    vectors = await embedder.embed_documents(texts)
    return np.stack(vectors), time.perf_counter() - started


def fitting(embedder: Embedder, count: int) -> list[str]:
    """Cut real passages to the model's window."""
    texts = []
    for passage in passages(count):
        text = passage
        while embedder.count_tokens(text) > embedder.window:
            text = text[: len(text) * 3 // 4]
        texts.append(text)
    return texts


async def run(report: Report, name: str, threads: int = 1) -> None:
    """Report tokens a second of `threads` lanes beside as many bare contexts of one thread each."""
    chosen = EmbeddingSettings(model=name, threads=threads)
    embedder = await open_embedder(chosen, models_dir())
    assert embedder is not None
    texts = fitting(embedder, TEXTS)
    tokens = sum(map(embedder.count_tokens, texts))
    bare = await asyncio.to_thread(_bare, models_dir() / f"{name}.gguf", embedder.window, texts, threads)
    _, ours = await embed(embedder, texts)
    bare_again = await asyncio.to_thread(
        _bare, models_dir() / f"{name}.gguf", embedder.window, texts, threads
    )
    floor = tokens / min(bare, bare_again)
    report.ratio_least(
        f"embedding with {name}, {threads} at once", tokens / ours, "tokens/s", floor, "bare contexts", 0.9
    )
    await embedder.close()


def _bare(path: Path, window: int, texts: list[str], threads: int) -> float:
    """Embed with plain `llama_cpp` contexts of one thread each, with flash attention; return the seconds."""
    import llama_cpp

    def context() -> Any:
        return llama_cpp.Llama(
            str(path), embedding=True, n_ctx=window, n_batch=window, n_ubatch=window, n_threads=1,
            n_threads_batch=1, flash_attn=True, pooling_type=llama_cpp.LLAMA_POOLING_TYPE_MEAN, verbose=False,
        )  # fmt: skip

    contexts = [context() for _ in range(threads)]
    shares = [texts[n::threads] for n in range(threads)]

    def work(pair: tuple[Any, list[str]]) -> None:
        for text in pair[1]:
            pair[0].embed(text, truncate=False)

    with ThreadPoolExecutor(threads) as pool:
        started = time.perf_counter()
        list(pool.map(work, zip(contexts, shares, strict=True)))
        seconds = time.perf_counter() - started
    for one in contexts:
        one.close()
    return seconds


async def query_times(embedder: Embedder) -> list[float]:
    """Time bare query embeddings, in milliseconds."""
    times = []
    for query in queries(100):
        started = time.perf_counter()
        await embedder.embed_query(query)
        times.append((time.perf_counter() - started) * 1000)
    return times
