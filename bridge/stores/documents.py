"""A chunk as a tantivy document: which words of it stand in which field.

Terms are made by `bridge.words`. `text` holds a chunk's words with its headings and its note's
title, aliases and tags; `around`, which queries rank by, the same with the words of the chunks
beside it, since a chunk that fits a model's window is short for BM25; `name` the title and
aliases once more; `literal` all words as they stand, with positions, for quoted phrases.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import tantivy

from bridge.model import ChunkId, NoteId
from bridge.words import terms_and_literal

_AROUND_CHARS: Final = 1600
"""How long the chunks of a note are together that are ranked by each other's words too."""
_BETWEEN: Final = " ¶ "
"""Keeps a phrase from reaching over the border of two texts."""


@dataclass(frozen=True, slots=True)
class ChunkDoc:
    """A chunk with what its note says of it, as written."""

    chunk_id: ChunkId
    note_id: NoteId
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    headings: tuple[str, ...]
    text: str
    language: str


def schema() -> tantivy.Schema:
    """The fields of a document."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("around", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("name", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("literal", tokenizer_name="whitespace", index_option="position")
    builder.add_text_field("language", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("chunk_id", fast=True)
    builder.add_unsigned_field("note_id", fast=True, indexed=True)
    return builder.build()


def documents(docs: Iterable[ChunkDoc]) -> Iterator[tantivy.Document]:
    """Make the documents of a note's chunks, which come in their order."""
    for neighbours in _neighbours(docs):
        yield from _stretch(neighbours)


def _neighbours(docs: Iterable[ChunkDoc]) -> Iterator[list[ChunkDoc]]:
    """Cut a note's chunks into stretches of some length."""
    stretch: list[ChunkDoc] = []
    length = 0
    for doc in docs:
        if stretch and length + len(doc.text) > _AROUND_CHARS:
            yield stretch
            stretch, length = [], 0
        stretch.append(doc)
        length += len(doc.text)
    if stretch:
        yield stretch


def _stretch(neighbours: Sequence[ChunkDoc]) -> Iterator[tantivy.Document]:
    analysed = [terms_and_literal(doc.text, doc.language) for doc in neighbours]
    around = " ".join(text for text, _ in analysed) if len(analysed) > 1 else ""
    for doc, (text, text_literal) in zip(neighbours, analysed, strict=True):
        called = (doc.title, *doc.aliases)
        names, names_literal = _analysed(called, doc.language)
        further = tuple(part for part in (*doc.headings, *doc.tags) if part not in called)
        about, about_literal = _analysed(further, doc.language)
        made = tantivy.Document()
        # Document(note_id=…) would make a signed field of it and stop the writer for good.
        made.add_unsigned("chunk_id", doc.chunk_id)
        made.add_unsigned("note_id", doc.note_id)
        made.add_text("name", names)
        made.add_text("text", f"{names} {about} {text}")
        made.add_text("around", f"{names} {about} {text} {around}")
        made.add_text("literal", _BETWEEN.join((*names_literal, *about_literal, text_literal)))
        if doc.language:
            made.add_text("language", doc.language)
        yield made


@lru_cache(maxsize=256)
def _analysed(texts: tuple[str, ...], language: str) -> tuple[str, tuple[str, ...]]:
    """Analyse what the chunks of one note have in common, once."""
    pairs = [terms_and_literal(text, language) for text in dict.fromkeys(texts)]
    return " ".join(made for made, _ in pairs), tuple(as_it_stands for _, as_it_stands in pairs)
