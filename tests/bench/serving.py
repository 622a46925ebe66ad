"""The bridge as it is used: a server over 20,000 notes and 100,000 chunks, asked over HTTP."""

import asyncio
import os
import random
import re
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from bridge.data import EMBEDDINGS
from bridge.embed import Embedder, open_embedder
from bridge.embed.cache import EmbeddingCache
from bridge.ingest.prepare import prepare
from bridge.model import NotePath, Upserted
from bridge.runtime import Bridge
from bridge.settings import EmbeddingSettings, models_dir
from tests.bench.corpus import make_vault, queries
from tests.bench.embedding import query_times
from tests.bench.figures import Report, p50, p95
from tests.bench.vectors import Floats, spread
from tests.small import settings

NOTES = 20_000
TEXTS_A_NOTE = 2
ASKED = 200
SAVES = 25
BURST = 1000


class Server:
    """A bridge in its own process, and a client of it."""

    def __init__(self, process: asyncio.subprocess.Process, http: aiohttp.ClientSession) -> None:
        self.process = process
        self._http = http

    @classmethod
    @asynccontextmanager
    async def running(cls, vault: Path, data: Path, model: str) -> AsyncIterator["Server"]:
        """Serve a vault until the end of the block, settled at its beginning."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bridge", "serve", "--vault", str(vault), "--data", str(data), "--port", "0",
            env=os.environ | {"TRANSOM_EMBEDDING_MODEL": model},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().split()[-1]
        headers = {"Authorization": f"Bearer {(data / 'token').read_text().strip()}"}
        try:
            async with aiohttp.ClientSession(url, headers=headers) as http:
                server = cls(process, http)
                while not (await server.get("/v1/status"))["settled"]:
                    await asyncio.sleep(0.2)
                yield server
        finally:
            process.terminate()
            await process.wait()

    async def get(self, route: str, **query: Any) -> Any:
        async with self._http.get(route, params=query) as answer:
            return await answer.json()

    async def search(self, query: str, mode: str = "hybrid", limit: int = 10) -> tuple[Any, float]:
        """Ask; return the answer and the milliseconds that the client waited."""
        started = time.perf_counter()
        async with self._http.post(
            "/v1/search", json={"query": query, "mode": mode, "limit": limit}
        ) as answer:
            found = await answer.json()
        return found, (time.perf_counter() - started) * 1000

    def anonymous_mb(self) -> float:
        """Resident anonymous memory of the process (`smaps_rollup`)."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text("utf-8")
        found = re.search(r"^Anonymous:\s+(\d+) kB", rollup, re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0


async def run(
    report: Report,
    folder: Path,
    model: str,
    base: Floats,
    *,
    keyword_ms: float,
    exact_ms: float,
    memory_mb: float,
) -> None:
    """Report every figure of a serving bridge; the floors were measured before in the same run."""
    vault, data = folder / "vault", folder / f"data-{model}"
    if not vault.exists():
        make_vault(vault, NOTES, texts_a_note=TEXTS_A_NOTE)
    embedder = await open_embedder(EmbeddingSettings(model=model), models_dir())
    assert embedder is not None
    chunks = await _seed(vault, data, embedder, base)
    query_ms = p95(await query_times(embedder))
    await embedder.close()
    async with Bridge.open(settings(vault, data, model=model)) as bridge:
        await bridge.index()
    print(f"     {model}: {NOTES:,} notes, {chunks:,} chunks")
    async with Server.running(vault, data, model) as server:
        idle = await _questions(report, server, model, query_ms + keyword_ms + exact_ms, exact_ms)
        report.most(f"anonymous memory serving with {model}", server.anonymous_mb(), "MB", memory_mb)
        await _saves(report, server, vault, model)
        await _burst(report, server, vault, model, idle)
        if model == "all-MiniLM-L6-v2":
            await _many_embeddings(report, server, vault)


async def _seed(vault: Path, data: Path, embedder: Embedder, base: Floats) -> int:
    """Give the cache a vector for every chunk, since to embed them all takes an hour."""
    files = [path for path in vault.rglob("*") if path.is_file()]
    changes = [Upserted(NotePath(str(path.relative_to(vault))), path.read_bytes(), 0, "") for path in files]
    prepared = await asyncio.to_thread(prepare, changes, embedder.count_tokens, embedder.window)
    hashes = list({digest: None for item in prepared for digest in item.hashes if digest})
    data.mkdir()
    cache = await EmbeddingCache.open(data / EMBEDDINGS)
    for at in range(0, len(hashes), 5000):
        some = hashes[at : at + 5000]
        await cache.put_many(
            embedder.identity, dict(zip(some, spread(base, len(some), seed=at), strict=True))
        )
    await cache.close()
    return sum(len(item.chunks) for item in prepared)


async def _questions(report: Report, server: Server, model: str, floor_ms: float, exact_ms: float) -> float:
    """Ask by words, in full and for related notes; return the p95 of the full questions."""
    asked = queries(2 * ASKED)
    for query in asked[ASKED:]:
        await server.search(query)
    words, added = [], []
    for query in asked[:ASKED]:
        answer, ms = await server.search(query, "keyword")
        words.append(ms)
        added.append(ms - answer["took_ms"])
    full, paths = [], []
    for query in asked[:ASKED]:
        answer, ms = await server.search(query)
        full.append(ms)
        paths += [hit["path"] for hit in answer["hits"][:1]]
    related = []
    for path in paths:
        started = time.perf_counter()
        await server.get("/v1/related", path=path)
        related.append((time.perf_counter() - started) * 1000)
    print(f"     p50: words {p50(words):.1f}, hybrid {p50(full):.1f}, related {p50(related):.1f} ms")
    report.most(f"keyword over HTTP, {NOTES:,} notes, {model}, p95", p95(words), "ms", 15)
    report.most("what HTTP adds to it, p95", p95(added), "ms", 3)
    report.ratio_most(
        f"hybrid over HTTP with {model}, p95",
        p95(full),
        "ms",
        floor_ms,
        "bare embedding + words + exact KNN",
        1,
    )
    report.ratio_most(
        "related notes over HTTP, p95", p95(related), "ms", exact_ms, "one exact vector query", 2
    )
    return p95(full)


async def _saves(report: Report, server: Server, vault: Path, model: str) -> None:
    by_words, by_meaning = [], []
    for n in range(SAVES):
        word = f"zq{n}x{random.Random(n).randrange(10**9)}"
        text = f"The {word} of the lighthouse keeper's {n}th garden was painted green before the storm."
        note = vault / f"saved {n}.md"
        started = time.perf_counter()
        await asyncio.to_thread(note.write_text, text)
        await _until(server, note.name, word, "keyword")
        by_words.append((time.perf_counter() - started) * 1000)
        await _until(server, note.name, text, "semantic")
        by_meaning.append((time.perf_counter() - started) * 1000)
        await asyncio.sleep(0.3)
    report.most(f"saved note found by words, {model}, p95", p95(by_words), "ms", 150)
    report.most(f"saved note found by meaning, {model}, p95", p95(by_meaning), "ms", 500)


async def _until(server: Server, path: str, query: str, mode: str) -> None:
    while True:
        answer, _ = await server.search(query, mode)
        if path in [hit["path"] for hit in answer["hits"]] and mode in answer["signals_used"]:
            return
        await asyncio.sleep(0.005)


async def _burst(report: Report, server: Server, vault: Path, model: str, idle_ms: float) -> None:
    """Ask while a thousand notes arrive, until their words are found."""
    await asyncio.to_thread(make_vault, vault / "burst", BURST, first=1_000_000)
    last = vault / "burst" / "the last one.md"
    await asyncio.to_thread(last.write_text, "xylophonist quagmire")
    asked = queries(2000)[ASKED:]
    times = []
    for query in asked:
        times.append((await server.search(query))[1])
        await asyncio.sleep(0.02)
        if (await server.search("xylophonist quagmire", "keyword"))[0]["hits"] and len(times) > 50:
            break
    report.ratio_most(
        f"hybrid while {BURST:,} notes are indexed, {model}, p95", p95(times), "ms", idle_ms, "idle", 2
    )


async def _many_embeddings(report: Report, server: Server, vault: Path) -> None:
    """Embed ten thousand short texts and look at the memory before and after."""
    notes = [vault / f"again {n}.md" for n in range(500)]

    async def round_(number: int) -> None:
        def write() -> None:
            for n, note in enumerate(notes):
                note.write_text(f"Round {number}, note {n}.")

        await asyncio.to_thread(write)
        await asyncio.sleep(0.5)
        while not (await server.get("/v1/status"))["settled"]:
            await asyncio.sleep(0.2)

    for number in range(4):
        await round_(number)
    before = server.anonymous_mb()
    for number in range(4, 24):
        await round_(number)
    report.most("growth over 10,000 embeddings", server.anonymous_mb() - before, "MB", 10)
