"""A change's bytes, read into rows: parse, split, hash. Pure; runs in a worker thread."""

from collections.abc import Callable, Sequence

from bridge.chunk import split
from bridge.embed.cache import text_hash
from bridge.language import language_of
from bridge.model import Upserted
from bridge.parse import parse
from bridge.paths import note_id
from bridge.stores.notes import Prepared
from bridge.vault.reader import revision_of

VERSION = 1
"""Raised whenever the parser or the chunker gives other rows for the same bytes."""

_LANGUAGE_SAMPLE = 4000


def prepare(
    changes: Sequence[Upserted], count_tokens: Callable[[str], int] | None, window: int
) -> list[Prepared]:
    """Parse and split the notes of one batch."""
    return [_one(change, count_tokens, window) for change in changes]


def _one(change: Upserted, count_tokens: Callable[[str], int] | None, window: int) -> Prepared:
    note = parse(change.path, change.content)
    chunks = split(note, count_tokens, window)
    sample = " ".join(chunk.text for chunk in chunks[:8])[:_LANGUAGE_SAMPLE]
    return Prepared(
        id=note_id(change.path),
        note=note,
        chunks=chunks,
        hashes=tuple(text_hash(chunk.embed_text) if chunk.embed_text else None for chunk in chunks),
        language=language_of(sample or note.title),
        revision=revision_of(change.content),
        size=len(change.content),
        lines=change.content.count(b"\n") + 1,
        modified_ns=change.modified_ns,
        origin=change.origin,
    )
