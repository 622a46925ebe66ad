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

from bridge.inline import plain, tokens
from bridge.meter import Meter
from bridge.model import Chunk, ChunkId, Note, Section

_MOST_CHARS = 4000
"""No chunk's text is longer, however little of it is embedded."""

_BLOCK = re.compile(r"[Hh]+|[Cc]c*|[Tt]t*|lp*|x+|p+")
_RUN = re.compile(r"H+|x+|[Cc]c*|[Tt]t*|[hpl ]+")
_LAST_HEADING = re.compile(r"H+(?= *$)")
_FENCE = re.compile(r"^[ \t>]*(?:[-*+][ \t]+)?(?:`{3,}|~{3,}|\$\$[ \t]*$).*$", re.MULTILINE)
_RULE_ROW = re.compile(r"^[ \t>]*\|?[ \t:-]*-[ \t|:-]*$", re.MULTILINE)
_HAS_WORD = re.compile(r"\w")
_BORDERS = (
    re.compile(r"\n"),
    re.compile(r"[.!?…؟।]['\"”’)»\]]*\s+|[。！？][”』」）]*\s*"),
    re.compile(r"[,;:—]\s+|[，；：、]\s*"),
    re.compile(r"\s+"),
)


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
        chunk_id = ChunkId((digest + equals[digest]) % 2**63)
        equals[digest] += 1
        chunks.append(
            Chunk(
                id=chunk_id,
                ordinal=ordinal,
                heading_path=piece.heading_path,
                first_line=piece.first_line,
                last_line=piece.last_line,
                text=piece.text,
                embed_text=piece.embed_text,
            )
        )
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
        if held is not None:
            parent = held.heading_path[:-1]
            if section.heading_path[: len(parent)] == parent and len(held.text) < _MOST_CHARS // 4:
                section = _join(held, section)
            else:
                yield held
            held = None
        if section.shape.strip("Hh "):
            yield section
        else:
            held = section
    if held is not None:
        yield held


def _join(heading: Section, section: Section) -> Section:
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


@dataclass(frozen=True, slots=True)
class _Atom:
    """What is not cut further; `body` is what is embedded of it and `cost` its tokens."""

    first_line: int
    text: str
    shape: str
    body: str
    cost: int
    glued: bool = False
    """Begins inside a line that the atom before it began."""
    header: str = ""
    """The table's header row, said again where this row begins a chunk."""

    @property
    def last_line(self) -> int:
        return self.first_line + self.text.count("\n")


class _Splitter:
    """Cuts one note for one window."""

    def __init__(self, meter: Meter, window: int) -> None:
        self.meter = meter
        self.room = window - meter.specials

    def section(self, section: Section) -> Iterator[_Piece]:
        path = section.heading_path
        prefix = self._prefix(path)
        budget = self.room - self.meter.cost(prefix)
        if len(section.text) <= _MOST_CHARS:
            body = _body(section.text, section.shape)
            if self.meter.fits(body, budget):
                text = section.text.strip("\n")
                first = section.first_line + section.text.index(text)
                yield _piece(path, prefix, first, first + text.count("\n"), text, body)
                return
        for pack in self._packs(self._atoms(section, budget), budget):
            text = "".join(
                atom.text if atom.glued and at else "\n" * (at and atom.first_line - pack[at - 1].last_line) + atom.text
                for at, atom in enumerate(pack)
            )
            bodies = [pack[0].header, *(atom.body for atom in pack)]
            body = "\n".join(filter(None, bodies))
            yield _piece(path, prefix, pack[0].first_line, pack[-1].last_line, text.rstrip(), body)

    def name(self, note: Note) -> str:
        """What a note says that has no words to embed: its title, headings and properties."""
        headings = [plain(heading.text) for heading in note.headings]
        words = " \n ".join([note.title, *headings, *_property_words(note.frontmatter)]).split(" ")
        kept, cost = [], 0
        for word in words:
            cost += self.meter.cost(word)
            if cost > self.room:
                break
            kept.append(word)
        return " ".join(kept).replace(" \n ", "\n").strip() or note.title[: max(self.room // 4, 1)]

    def _prefix(self, path: tuple[str, ...]) -> str:
        """The heading path in words, its end alone if it would take half of the room."""
        prefix = plain(" > ".join(path).replace("\n", " ")) if path else ""
        while not self.meter.fits(prefix, self.room // 2) and len(prefix) > 1:
            prefix = prefix[len(prefix) // 4 + 1 :]
        return prefix

    def _atoms(self, section: Section, budget: int) -> Iterator[_Atom]:
        lines = section.text.split("\n")
        for block in _BLOCK.finditer(section.shape):
            start, end = block.span()
            shape = block[0]
            text = "\n".join(lines[start:end])
            yield from self._cut(self._atom(section.first_line + start, text, shape), budget, 0)

    def _atom(self, line: int, text: str, shape: str) -> _Atom:
        body = _body(text, shape)
        return _Atom(line, text, shape, body, self.meter.cost(body))

    def _cut(self, atom: _Atom, budget: int, level: int) -> Iterator[_Atom]:
        """Cut an atom at ever finer borders until each part fits."""
        if atom.cost <= budget and len(atom.text) <= _MOST_CHARS:
            yield atom
            return
        header = ""
        if level == 0 and atom.shape[0] == "T":
            header = _body(atom.text.partition("\n")[0], "T")
            header_cost = self.meter.cost(header)
            header = header if header_cost <= budget // 3 else ""
            budget -= header_cost if header else 0
        line = atom.first_line
        for at, text in enumerate(self._parts(atom, budget, level)):
            shape = atom.shape[at] if level == 0 else atom.shape
            part = self._atom(line, text, shape if atom.body else "x")
            part = replace(part, glued=level > 0 and (at > 0 or atom.glued), header=header if at else atom.header)
            line += level == 0
            if level == len(_BORDERS):
                yield part
            else:
                yield from self._cut(part, budget, level + 1)

    def _parts(self, atom: _Atom, budget: int, level: int) -> Iterator[str]:
        text = atom.text
        if level == 0:
            yield from text.split("\n")
            return
        if level == len(_BORDERS):
            size = max(budget // 4, 1) if atom.body else _MOST_CHARS
            ends = list(range(size, len(text), size))
        else:
            ends = _borders(text, _BORDERS[level])
        start = 0
        for end in (*ends, len(text)):
            yield text[start:end]
            start = end

    def _packs(self, atoms: Iterable[_Atom], budget: int) -> Iterator[list[_Atom]]:
        """Join neighbours while they fit; a heading goes with what follows it."""
        pack: list[_Atom] = []
        cost = chars = 0
        for atom in atoms:
            if pack and (cost + atom.cost > budget or chars + len(atom.text) > _MOST_CHARS):
                carried = []
                while len(pack) > 1 and pack[-1].shape[0] in "Hh":
                    carried.insert(0, pack.pop())
                yield pack
                pack = carried
                cost = sum(kept.cost for kept in pack) + self.meter.cost(atom.header)
                chars = sum(len(kept.text) for kept in pack)
            pack.append(atom)
            cost += atom.cost
            chars += len(atom.text)
        if pack:
            yield pack


def _piece(path: tuple[str, ...], prefix: str, first: int, last: int, text: str, body: str) -> _Piece:
    embed_text = f"{prefix}\n{body}" if prefix and body else body
    return _Piece(path, first, last, text, embed_text)


def _body(text: str, shape: str) -> str:
    """What is embedded of these lines; empty if no word is left."""
    if shape.strip("hpl "):
        lines = text.split("\n")
        parts = [_run_body("\n".join(lines[run.start() : run.end()]), run[0][0]) for run in _RUN.finditer(shape)]
        body = "\n".join(filter(None, parts))
    else:
        body = plain(text)
    return body if _HAS_WORD.search(body) else ""


def _run_body(text: str, letter: str) -> str:
    if letter in "Hx":
        return ""
    if letter in "Cc":
        return "\n".join(filter(None, map(str.strip, _FENCE.sub("", text).split("\n"))))
    if letter in "Tt":
        return " ".join(plain(_RULE_ROW.sub("", text)).replace("|", " ").split(" "))
    return plain(text)


def _borders(text: str, border: re.Pattern[str]) -> list[int]:
    """Where a text may be cut: after each border that no link, code or comment holds."""
    ends = [match.end() for match in border.finditer(text)]
    spans = [(token.start(), end) for token, end in tokens(text)]
    kept = []
    at = 0
    for end in ends:
        while at < len(spans) and spans[at][1] < end:
            at += 1
        if end < len(text) and not (at < len(spans) and spans[at][0] < end < spans[at][1]):
            kept.append(end)
    return kept


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
