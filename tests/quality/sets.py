"""The labelled sets, as they lie in the shared data."""

import json
import random
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

Judgements = Mapping[str, Mapping[str, float]]

LANGUAGES = ("en", "de", "es", "ru", "ar", "zh", "el", "hi", "th", "tr", "vi", "ro")
SEARCH_SETS = ("scifact-train-slice", *(f"xquad/{language}" for language in LANGUAGES), "xquad/cross")
RELATED_SETS = ("data-engineering-wiki", "medium-knowledge", "zh-knowledge-garden")


@dataclass(frozen=True, slots=True)
class SearchSet:
    """Questions to a vault; right answers are note names without ending."""

    name: str
    vault: Path
    questions: Mapping[str, str]
    truth: Judgements

    def sample(self, count: int) -> "SearchSet":
        """Keep a fixed sample of the questions."""
        ids = sorted(self.questions)
        kept = random.Random(1).sample(ids, min(count, len(ids)))
        return replace(self, questions={id_: self.questions[id_] for id_ in kept})


@dataclass(frozen=True, slots=True)
class RelatedSet:
    """Notes of a vault whose links are masked; right answers are the notes that they linked."""

    name: str
    vault: Path
    truth: Judgements


def search_set(shared: Path, name: str) -> SearchSet:
    """Read a retrieval set; `xquad/cross` asks all twelve corpora at once."""
    folder = shared / "data" / "retrieval" / name
    truth = _judgements(folder / "qrels.tsv")
    lines = (json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines() if line)
    questions = {line["id"]: line["text"] for line in lines if line["id"] in truth}
    vault = folder.parent if name == "xquad/cross" else folder / "corpus"
    return SearchSet(name, vault, questions, truth)


def related_set(shared: Path, name: str, unpacked: Path) -> RelatedSet:
    """Unpack a related-notes set, unless that was done before, and read it."""
    folder = unpacked / name
    if not folder.is_dir():
        with tarfile.open(shared / "data" / "related" / f"{name}.tar.gz") as archive:
            archive.extractall(unpacked, filter="data")
    return RelatedSet(name, folder / "notes", _judgements(folder / "truth.tsv"))


def bm25_floor(shared: Path, name: str) -> dict[str, list[str]]:
    """Rank a retrieval set with the plain BM25 of the shared tools."""
    command: list[str | Path] = [
        sys.executable,
        shared / "tools" / "bm25.py",
        shared / "data" / "retrieval" / name,
        "--depth",
        "10",
    ]
    ranked: defaultdict[str, list[str]] = defaultdict(list)
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        question, note, _ = line.split("\t")
        ranked[question].append(note)
    return ranked


def _judgements(path: Path) -> Judgements:
    truth: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for line in path.read_text("utf-8").splitlines()[1:]:
        question, note, relevance = line.split("\t")
        truth[question][note] = float(relevance)
    return truth
