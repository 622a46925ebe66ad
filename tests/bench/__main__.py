"""Run the benchmarks: `python -m tests.bench [--only SECTION]… [--small]`."""

import argparse
import asyncio
import tempfile
from pathlib import Path

from bridge.embed import open_embedder
from bridge.settings import EmbeddingSettings, models_dir
from tests.bench import embedding, ingest, serving, vectors, words
from tests.bench.figures import Report
from tests.bench.vectors import Floats

MODELS = {"all-MiniLM-L6-v2": 300.0, "multilingual-e5-small": 600.0}
"""The anonymous memory in MB that a bridge with each model may take."""
SECTIONS = ("words", "vectors", "ingest", "embedding", "serving")


async def _base(model: str) -> Floats:
    """Real vectors of real passages."""
    embedder = await open_embedder(EmbeddingSettings(model=model), models_dir())
    assert embedder is not None
    found, _ = await embedding.embed(embedder, embedding.fitting(embedder, 1500))
    await embedder.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", choices=SECTIONS, action="append")
    wanted = parser.parse_args().only or SECTIONS
    report = Report()
    if "embedding" in wanted:
        for model in MODELS:
            for threads in (1, 2):
                asyncio.run(embedding.run(report, model, threads))
    keyword_ms = words.run(report) if {"words", "serving"} & {*wanted} else 0.0
    if "ingest" in wanted:
        asyncio.run(ingest.run(report))
    if {"vectors", "serving"} & {*wanted}:
        with tempfile.TemporaryDirectory() as folder:
            for model, memory_mb in MODELS.items():
                base = asyncio.run(_base(model))
                exact_ms = vectors.run(report, base)
                if "serving" in wanted:
                    asyncio.run(
                        serving.run(
                            report, Path(folder), model, base,
                            keyword_ms=keyword_ms, exact_ms=exact_ms, memory_mb=memory_mb,
                        )
                    )  # fmt: skip
    missed = [figure.name for figure in report.figures if not figure.holds]
    print(f"\n{len(report.figures) - len(missed)} of {len(report.figures)} targets met")
    for name in missed:
        print(f"missed: {name}")


if __name__ == "__main__":
    main()
