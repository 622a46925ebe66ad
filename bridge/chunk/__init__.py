"""Split a note into passages that fit the model's window.

A section is one chunk where it fits. A longer one is cut into atoms at the gentlest border
that makes each fit (block, then line or row, sentence, clause, word, character), and
neighbouring atoms are joined again for as long as they fit together.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from bridge.chunk.body import body
from bridge.chunk.cut import MOST_CHARS, packs
from bridge.chunk.meter import Meter
from bridge.inline import plain
from bridge.model import Chunk, ChunkId, Note, Section

_LAST_HEADING = re.compile(r"H+(?= *$)")


def split(note: Note, count_tokens: Callable[[str], int] | None, window: int) -> tuple[Chunk, ...]:
    """Give a note's chunks in order; none takes more than `window` tokens.

    Without `count_tokens` the tokens are estimated. A note that says nothing is one chunk
    whose embedded text is its title, since its name is its content.
    """
    splitter = _Splitter(_meter(count_tokens), window)
    pieces = [piece for section in _joined(note.sections) for piece in splitter.section(section)]
    if not any(piece.embed_text for piece in pieces):
        first = pieces[0] if pieces else _Piece((), 1, 1, "", "")
        pieces[:1] = [replace(first, embed_text=splitter.name(note))]
    equals: Counter[int] = Counter()
    chunks = []
    for ordinal, piece in enumerate(pieces):
        digest = _digest(note.path, *piece.heading_path, piece.text)
        chunks.append(
            Chunk(
                id=ChunkId((digest + equals[digest]) % 2**63),
                ordinal=ordinal,
                heading_path=piece.heading_path,
                first_line=piece.first_line,
                last_line=piece.last_line,
                text=piece.text,
                embed_text=piece.embed_text,
            )
        )
        equals[digest] += 1
    return tuple(chunks)


@lru_cache(maxsize=2)
def _meter(count_tokens: Callable[[str], int] | None) -> Meter:
    return Meter(count_tokens)


def _digest(*parts: str) -> int:
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


def _joined(sections: Iterable[Section]) -> Iterator[Section]:
    """Join a section that is only a heading with the one after it under the same parent."""
    held: Section | None = None
    for section in sections:
        whole = section
        if held is not None:
            parent = held.heading_path[:-1]
            if section.heading_path[: len(parent)] == parent and len(held.text) < MOST_CHARS // 4:
                whole = _join(held, section)
            else:
                yield held
            held = None
        if whole.shape.strip("Hh "):
            yield whole
        else:
            held = whole
    if held is not None:
        yield held


def _join(heading: Section, section: Section) -> Section:
    """Put a heading before the next section; what is not in its path is said in its body."""
    shape = heading.shape
    if section.heading_path[: len(heading.heading_path)] != heading.heading_path:
        shape = _LAST_HEADING.sub(lambda run: "h" * len(run[0]), shape)
    gap = section.first_line - heading.first_line - len(shape)
    return Section(
        section.heading_path,
        heading.first_line,
        heading.text + "\n" * (gap + 1) + section.text,
        shape + " " * gap + section.shape,
    )


@dataclass(frozen=True, slots=True)
class _Piece:
    """A chunk without its number and id."""

    heading_path: tuple[str, ...]
    first_line: int
    last_line: int
    text: str
    embed_text: str


class _Splitter:
    """Splits sections for one window."""

    def __init__(self, meter: Meter, window: int) -> None:
        self._meter = meter
        self._room = window - meter.specials

    def section(self, section: Section) -> Iterator[_Piece]:
        path = section.heading_path
        prefix = self._prefix(path)
        budget = self._room - self._meter.cost(prefix)
        if len(section.text) <= min(MOST_CHARS, budget * 6):
            words = body(section.text, section.shape)
            if self._meter.cost(words) <= budget:
                text = section.text.strip("\n").rstrip()
                first = section.first_line + section.text.index(text)
                yield _Piece(path, first, first + text.count("\n"), text, _under(prefix, words))
                return
        for pack in packs(section, self._meter, budget):
            first, last = pack.atoms[0].first_line, pack.atoms[-1].last_line
            yield _Piece(path, first, last, pack.text(), _under(prefix, pack.body()))

    def _prefix(self, path: tuple[str, ...]) -> str:
        """The heading path in words, its end alone if it would take half of the room."""
        prefix = plain(" > ".join(path)) if path else ""
        while len(prefix) > 1 and self._meter.cost(prefix) > self._room // 2:
            prefix = prefix[len(prefix) // 4 + 1 :]
        return prefix

    def name(self, note: Note) -> str:
        """What a note says that has no words to embed: its title, headings and properties."""
        lines = [note.title, *(plain(heading.text) for heading in note.headings)]
        kept: list[str] = []
        room = self._room
        for line in (*lines, *_property_words(note.frontmatter)):
            room -= self._meter.cost(line)
            if room < 0:
                break
            kept.append(line)
        return "\n".join(filter(None, kept)) or note.title[: max(self._room // 4, 1)]


def _under(prefix: str, words: str) -> str:
    return f"{prefix}\n{words}" if prefix and words else words


def _property_words(value: Any, name: str = "") -> Iterator[str]:
    """Give `name: value` for each property that holds words."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _property_words(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _property_words(item, name)
    elif isinstance(value, str) and any(map(str.isalpha, value)):
        yield f"{name}: {plain(value)}"
