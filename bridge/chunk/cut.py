"""Cut what does not fit into atoms that do, at the gentlest border, and pack them again."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from bridge.chunk.body import body
from bridge.chunk.meter import Meter
from bridge.inline import tokens
from bridge.model import Section

MOST_CHARS = 4000
"""No chunk's text is longer, however little of it is embedded."""

_BLOCK = re.compile(r"[Hh]+|[Cc]c*|[Tt]t*|lp*|x+|p+")
_BORDERS = (
    re.compile(r"\n"),
    re.compile(r"[.!?…؟।]['\"”’)»\]]*\s+|[。！？][”』」）]*\s*"),
    re.compile(r"[,;:—]\s+|[，；：、]\s*"),
    re.compile(r"\s+"),
)
_LINES = 0
_CHARACTERS = len(_BORDERS)


@dataclass(frozen=True, slots=True)
class Atom:
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
    header_cost: int = 0

    @property
    def last_line(self) -> int:
        return self.first_line + self.text.count("\n")


class Pack:
    """Neighbouring atoms that fit together."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self._cost = 0
        self._chars = 0

    def add(self, atom: Atom) -> None:
        self._cost += atom.cost if self.atoms else atom.cost + atom.header_cost
        self._chars += len(atom.text)
        self.atoms.append(atom)

    def takes(self, atom: Atom, budget: int) -> bool:
        return self._cost + atom.cost <= budget and self._chars + len(atom.text) <= MOST_CHARS

    def pop_heading(self) -> Atom | None:
        """Give back the last atom if it is a heading with something before it."""
        return self.atoms.pop() if len(self.atoms) > 1 and self.atoms[-1].shape[0] in "Hh" else None

    def text(self) -> str:
        parts = [self.atoms[0].text]
        for before, atom in pairwise(self.atoms):
            parts.append("" if atom.glued else "\n" * (atom.first_line - before.last_line))
            parts.append(atom.text)
        return "".join(parts).rstrip()

    def body(self) -> str:
        return "\n".join(filter(None, [self.atoms[0].header, *(atom.body for atom in self.atoms)]))


def packs(section: Section, meter: Meter, budget: int) -> Iterator[Pack]:
    """Cut a section and join neighbours while they fit; a heading goes with what follows it."""
    pack = Pack()
    for atom in _atoms(section, meter, budget):
        if pack.atoms and not pack.takes(atom, budget):
            heading = pack.pop_heading()
            yield pack
            pack = Pack()
            if heading is not None:
                pack.add(heading)
                if not pack.takes(atom, budget):
                    yield pack
                    pack = Pack()
        pack.add(atom)
    if pack.atoms:
        yield pack


def _atoms(section: Section, meter: Meter, budget: int) -> Iterable[Atom]:
    lines = section.text.split("\n")
    for block in _BLOCK.finditer(section.shape):
        text = "\n".join(lines[block.start() : block.end()])
        yield from _cut(
            _atom(section.first_line + block.start(), text, block[0], meter), meter, budget, _LINES
        )


def _atom(line: int, text: str, shape: str, meter: Meter) -> Atom:
    words = body(text, shape)
    return Atom(line, text, shape, words, meter.cost(words))


def _cut(atom: Atom, meter: Meter, budget: int, level: int) -> Iterator[Atom]:
    """Cut an atom at ever finer borders until each part fits."""
    if level > _CHARACTERS or (atom.cost <= budget and len(atom.text) <= MOST_CHARS):
        yield atom
        return
    header, header_cost = "", 0
    if level == _LINES and atom.shape[0] == "T":
        header = body(atom.text.partition("\n")[0], "T")
        header_cost = meter.cost(header)
        if header_cost > budget // 3:
            header, header_cost = "", 0
    line = atom.first_line
    for at, text in enumerate(_parts(atom, budget, level)):
        shape = "x" if not atom.body else atom.shape[at] if level == _LINES else atom.shape
        part = _atom(line, text, shape, meter)
        if level > _LINES:
            part = replace(part, glued=at > 0 or atom.glued)
        elif at > 0 and header:
            part = replace(part, header=header, header_cost=header_cost)
        line += level == _LINES
        yield from _cut(part, meter, budget - header_cost, level + 1)


def _parts(atom: Atom, budget: int, level: int) -> Iterator[str]:
    text = atom.text
    if level == _LINES:
        yield from text.split("\n")
        return
    if level == _CHARACTERS:
        size = max(budget // 4, 1) if atom.body else MOST_CHARS
        ends = list(range(size, len(text), size))
    else:
        ends = _ends(text, _BORDERS[level])
    start = 0
    for end in (*ends, len(text)):
        yield text[start:end]
        start = end


def _ends(text: str, border: re.Pattern[str]) -> list[int]:
    """Where a text may be cut: after each border that no link, code or comment holds."""
    spans = [(token.start(), end) for token, end in tokens(text)]
    kept = []
    at = 0
    for end in (match.end() for match in border.finditer(text)):
        while at < len(spans) and spans[at][1] < end:
            at += 1
        if end < len(text) and not (at < len(spans) and spans[at][0] < end < spans[at][1]):
            kept.append(end)
    return kept
