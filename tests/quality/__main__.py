"""Measure the quality of search and related notes and hold it against its floors."""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from tests.conftest import REPOSITORY, SHARED
from tests.quality.asking import opened, related_quality, search_quality
from tests.quality.measures import ndcg
from tests.quality.sets import (
    RELATED_SETS,
    SEARCH_SETS,
    SearchSet,
    bm25_floor,
    related_set,
    search_set,
)

MODELS: Final = ("multilingual-e5-small", "all-MiniLM-L6-v2")
SLICE: Final = "scifact-train-slice"
SLICE_KEYWORD_FLOOR: Final = 0.75
SLICE_HYBRID_FLOOR: Final = 0.79
BELOW_BM25: Final = 0.02
BELOW_BETTER_SIGNAL: Final = 0.01
RELATED_GAIN: Final = 1.15
FEW: Final = 6
"""Of fewer figures, "most" says nothing."""


@dataclass(frozen=True, slots=True)
class Found:
    """nDCG@10 of a set with a model, by mode, and that of the shared plain BM25."""

    labelled: SearchSet
    model: str
    bm25: float
    keyword: float
    semantic: float
    hybrid: float

    def misses(self) -> Iterator[str]:
        """Name the floors that are not reached."""
        name = f"{self.labelled.name}, {self.model}"
        better = max(self.keyword, self.semantic)
        if self.hybrid < better - BELOW_BETTER_SIGNAL:
            yield f"{name}: hybrid {self.hybrid:.4f} is below its better signal's {better:.4f}"
        if self.labelled.name == SLICE and self.keyword < SLICE_KEYWORD_FLOOR:
            yield f"{name}: keyword {self.keyword:.4f} is below {SLICE_KEYWORD_FLOOR}"
        if self.labelled.name == SLICE and self.hybrid < SLICE_HYBRID_FLOOR:
            yield f"{name}: hybrid {self.hybrid:.4f} is below {SLICE_HYBRID_FLOOR}"
        if self.keyword < self.bm25 - BELOW_BM25:
            yield f"{name}: keyword {self.keyword:.4f} is below plain BM25's {self.bm25:.4f}"


@dataclass(frozen=True, slots=True)
class Related:
    """Recall@10 of related notes, and of the cosine of mean note vectors."""

    name: str
    model: str
    ours: float
    means: float


async def measure_search(
    shared: Path, build: Path, names: Sequence[str], models: Sequence[str], count: int
) -> list[Found]:
    """Measure each set with each model, printing as it goes."""
    found = []
    print(f"{'nDCG@10':24}{'model':24}{'bm25':>8}{'keyword':>9}{'semantic':>9}{'hybrid':>8}")
    for name in names:
        labelled = search_set(shared, name).sample(count)
        ranked = bm25_floor(shared, name) if name != "xquad/cross" else {}
        bm25 = sum(ndcg(ranked.get(id_, ()), labelled.truth[id_]) for id_ in labelled.questions)
        for model in models:
            async with opened(labelled.vault, build / model / name, model) as bridge:
                figures = [
                    await search_quality(bridge, labelled, mode) for mode in ("keyword", "semantic", "hybrid")
                ]
            one = Found(labelled, model, bm25 / len(labelled.questions), *figures)
            found.append(one)
            print(
                f"{name:24}{model:24}{one.bm25:8.4f}{one.keyword:9.4f}{one.semantic:9.4f}{one.hybrid:8.4f}",
                flush=True,
            )
    return found


async def measure_related(
    shared: Path, build: Path, names: Sequence[str], models: Sequence[str]
) -> list[Related]:
    """Measure related notes on each set with each model, printing as it goes."""
    found = []
    print(f"\n{'recall@10':24}{'model':24}{'means':>8}{'related':>9}")
    for name in names:
        labelled = related_set(shared, name, build / "unpacked")
        for model in models:
            async with opened(labelled.vault, build / model / "related" / name, model) as bridge:
                one = Related(name, model, *await related_quality(bridge, labelled))
            found.append(one)
            print(f"{name:24}{model:24}{one.means:8.4f}{one.ours:9.4f}", flush=True)
    return found


def misses(searched: Sequence[Found], related: Sequence[Related]) -> Iterator[str]:
    """Name every floor that is not reached."""
    for found in searched:
        yield from found.misses()
    above = [found.hybrid > max(found.keyword, found.semantic) for found in searched]
    if len(above) >= FEW and 2 * sum(above) <= len(above):
        yield f"hybrid is above its better signal in {sum(above)} of {len(above)} only"
    for one in related:
        if one.ours <= one.means:
            yield f"{one.name}, {one.model}: related notes {one.ours:.4f} are no better than mean vectors' {one.means:.4f}"
    for model in {one.model for one in related}:
        gains = [one.ours / one.means for one in related if one.model == model]
        if (gain := sum(gains) / len(gains)) < RELATED_GAIN:
            yield f"{model}: related notes gain {gain:.2f} on average, not {RELATED_GAIN}"


def main() -> None:
    """Run from the command line; exit code 1 when a floor is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=__doc__)
    parser.add_argument("--sets", nargs="*", default=SEARCH_SETS, help="retrieval sets")
    parser.add_argument("--related", nargs="*", default=RELATED_SETS, help="related-notes sets")
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--questions", type=int, default=600, help="at most so many of each retrieval set")
    parser.add_argument(
        "--build", type=Path, default=REPOSITORY / "build" / "quality", help="kept for the next run"
    )
    args = parser.parse_args()
    shared = Path(os.environ.get("TRANSOM_SHARED", SHARED))
    if not shared.is_dir():
        sys.exit(
            f"The labelled sets are not at {shared}; set TRANSOM_SHARED to the folder that holds data/ and tools/."
        )
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))

    async def measure() -> list[str]:
        searched = await measure_search(shared, args.build, args.sets, args.models, args.questions)
        related = await measure_related(shared, args.build, args.related, args.models) if args.related else []
        return [*misses(searched, related)]

    missed = asyncio.run(measure())
    print("\n" + ("\n".join(f"MISSED {one}" for one in missed) or "Every floor is reached."))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
