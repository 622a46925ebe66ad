"""Keyword search over 100,000 chunks in process: beside its own query tree, and beside SQLite's FTS5."""

import sqlite3
import tempfile
from pathlib import Path

from bridge.language import language_of
from bridge.model import ChunkId, NoteId
from bridge.search.query import parse_query
from bridge.stores.documents import ChunkDoc
from bridge.stores.fulltext import Fulltext
from tests.bench.corpus import passages, queries
from tests.bench.figures import Report, p50, p95, timed_ms

QUERIES = 400
NOTES_A_CHUNK = 5
HITS = 100


def run(report: Report, chunks: int = 100_000) -> float:
    """Report the figures; return the bare tree's p95 in milliseconds."""
    texts = passages(chunks)
    with tempfile.TemporaryDirectory() as folder:
        fulltext = Fulltext.open(Path(folder) / "fulltext", "bench")
        for first in range(0, chunks, NOTES_A_CHUNK):
            fulltext.replace(
                NoteId(first), [_doc(at, first, texts[at]) for at in range(first, first + NOTES_A_CHUNK)]
            )
            if first % 5000 == 0:
                fulltext.commit()
        fulltext.commit()
        asked = [parse_query(query) for query in queries(QUERIES)]
        searcher = fulltext._index.searcher()
        trees = [tree.query for query in asked if (tree := fulltext._tree(query))]
        bare = timed_ms(lambda tree: searcher.search(tree, 2 * HITS, count=False).hits, trees * 2)[
            len(trees) :
        ]
        ours = timed_ms(lambda query: fulltext.search(query, HITS), asked * 2)[len(asked) :]
        fts = _fts5(Path(folder) / "fts.sqlite", texts)
        name = f"keyword query at {chunks:,} chunks, in process"
        print(f"     p50: ours {p50(ours):.2f} ms, bare tree {p50(bare):.2f} ms, FTS5 {p50(fts):.2f} ms")
        report.ratio_most(f"{name}, p95", p95(ours), "ms", p95(bare), "the same tree, bare", 2)
        report.ratio_least(f"{name}: FTS5's p95 over ours", p95(fts) / p95(ours), "x", 1.0, "ours", 8)
        fulltext.close()
    return p95(bare)


def _doc(chunk: int, note: int, text: str) -> ChunkDoc:
    return ChunkDoc(ChunkId(chunk), NoteId(note), f"Note {note}", (), (), (), text, language_of(text))


def _fts5(path: Path, texts: list[str]) -> list[float]:
    """Time the same questions in FTS5 with BM25 order: any word, fifty rows back."""
    db = sqlite3.connect(path)
    db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'porter unicode61')")
    with db:
        db.executemany("INSERT INTO t VALUES (?)", ((text,) for text in texts))
    asked = [" OR ".join(f'"{word}"' for word in query.split()) for query in queries(QUERIES)]
    sql = "SELECT rowid, bm25(t) FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 50"
    times = timed_ms(lambda match: db.execute(sql, (match,)).fetchall(), asked)
    db.close()
    return times
