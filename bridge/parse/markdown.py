"""Scan Markdown as Obsidian writes it, line by line, in one pass.

Each line gets a letter (see `Section.shape`) and its share of the prose in which links and
tags may stand; code, math, comments and templates have none.
"""

import re
from collections.abc import Iterable

from bridge import inline
from bridge.model import Block, Heading, Link, LinkKind, Section, Task

_LINE = re.compile(
    r"""
    (?P<lead>[ \t]*+(?:(?:>|(?P<item>[-*+]|\d{1,9}[.)])(?=[ \t]|$))[ \t]*+)*+)
    (?:
      (?P<fence>`{3,}(?=[^`]*$)|~{3,})[ \t]*(?P<language>[^\s`{]*)
    | (?P<hashes>\#{1,6})(?=[ \t]|$)
    | (?P<rule>=+|-+)[ \t]*$
    | (?P<bar>\|)
    | \[(?P<mark>[^\n])\](?:[ \t]+(?P<task>.*))?$
    )?
    """,
    re.VERBOSE,
)
_PLAIN_START = re.compile(r"[^\s>\-*+`~#=|\d]")
_MAY_OPEN = re.compile(r"%%|<!--|<%|\$\$")
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]+)$")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{200,}+={0,2}")
_QUERIES = frozenset(
    {"base", "compressed-json", "dataview", "dataviewjs", "expander", "query", "tasks", "tracker"}
)
"""Fenced languages that fetch or draw instead of saying something."""


class Scanner:
    """What one or more Markdown texts say; `scan` adds a text."""

    def __init__(self) -> None:
        self.headings: list[Heading] = []
        self.links: list[Link] = []
        self.tags: list[str] = []
        self.blocks: list[Block] = []
        self.tasks: list[Task] = []
        self.sections: list[Section] = []

    def scan(self, text: str, first_line: int = 1) -> None:
        """Read a text whose first line has this number."""
        lines = text.split("\n")
        reader = _Lines(self, lines, first_line, may_open=_MAY_OPEN.search(text) is not None)
        for at, line in enumerate(lines):
            reader.read(at, line)
        reader.end_section(len(lines))


class _Lines:
    """The state between one line and the next."""

    def __init__(self, found: Scanner, lines: list[str], first_line: int, *, may_open: bool) -> None:
        self.found = found
        self.lines = lines
        self.first_line = first_line
        self.may_open = may_open
        self.shape: list[str] = []
        self.prose: list[str] = []
        self.section_start = 0
        self.path: list[tuple[int, str]] = []
        self.paragraph: int | None = None
        """Where the open paragraph began; a heading's underline may follow while `plain`."""
        self.plain = False
        self.indent = 0
        """The column of the current list item's words; 0 outside lists."""
        self.fence = ""
        self.quoted = False
        self.inside = ""
        """The letter of the lines within the open fence or span."""
        self.closer = ""
        self.last_closers: dict[str, int] = {}

    def read(self, at: int, line: str) -> None:
        if len(line) > 200:
            line = self.lines[at] = _BASE64.sub("…", line)
        if self.fence and self._in_fence(line):
            return
        if self.closer:
            self._in_span(at, line)
        elif not line or line.isspace():
            self._add(" ", "\0")
            self.paragraph = None
        elif _PLAIN_START.match(line):
            self._prose(at, line, "p", plain=True)
        else:
            self._marked(at, line)

    def _add(self, letter: str, prose: str) -> None:
        self.shape.append(letter)
        self.prose.append(prose)

    # --- what runs over lines ----------------------------------------------------------------

    def _in_fence(self, line: str) -> bool:
        """Take a line of fenced code; False when a quote's end has ended it."""
        if self.quoted and not line.lstrip().startswith(">"):
            self.fence = ""
            return False
        self._add(self.inside, "")
        marks = line.strip(" \t>")
        if marks.startswith(self.fence) and not marks.strip(self.fence[0]):
            self.fence = ""
        return True

    def _in_span(self, at: int, line: str) -> None:
        end = line.find(self.closer)
        if end < 0:
            self._add(self.inside, "")
            return
        rest = line[end + len(self.closer) :]
        self.closer = ""
        self._add(self.inside, "\0" + self._open_span(at, rest))

    def _open_span(self, at: int, line: str) -> str:
        """Give what stands before a comment, template or math that runs on to later lines."""
        if not self.may_open or not _MAY_OPEN.search(line):
            return line
        for opener in inline.unclosed(line):
            closer = inline.CLOSERS[opener[0]]
            hides_rest = closer in {"%%", "-->"} and not line[: opener.start()].strip(" \t>")
            if self._last(closer) > at or hides_rest:
                self.closer = closer
                self.inside = "c" if closer == "$$" else "x"
                self.paragraph = None
                return line[: opener.start()]
        return line

    def _last(self, closer: str) -> int:
        """The last line with this closer: a span that nothing closes is none."""
        if closer not in self.last_closers:
            with_closer = (at for at in range(len(self.lines) - 1, -1, -1) if closer in self.lines[at])
            self.last_closers[closer] = next(with_closer, -1)
        return self.last_closers[closer]

    # --- lines by their beginnings -----------------------------------------------------------

    def _prose(self, at: int, line: str, letter: str, *, plain: bool = False) -> None:
        """Take a line of a paragraph; letters other than `p` begin one."""
        if self.paragraph is None or letter != "p":
            self.paragraph = at
            self.plain = plain
            edge = "\0"
            if letter == "p" and self.indent:
                self.indent = min(self.indent, _width(line[: len(line) - len(line.lstrip())]))
        else:
            edge = ""
        line = self._open_span(at, line)
        if self.closer:
            letter = self.inside.replace("c", "C")
        if "^" in line:
            self._block_id(at, line)
        self._add(letter, edge + line)

    def _block_id(self, at: int, line: str) -> None:
        match = _BLOCK_ID.search(line.rstrip())
        if match:
            self.found.blocks.append(Block(match[1], self.first_line + at))

    def _marked(self, at: int, line: str) -> None:
        """Take a line that begins with a blank or a mark."""
        match = _LINE.match(line)
        assert match
        lead = match["lead"]
        if self._is_indented_code(lead, match["item"]):
            self._add("c" if at and self.shape[-1] in "Cc" else "C", "")
        elif match["fence"]:
            self._open_fence(match)
        elif match["hashes"] and (not lead or (lead in {" ", "  ", "   "} and not self.indent)):
            self._heading(at, line, match)
        elif match["rule"] and not lead and self.plain and self.paragraph is not None:
            self._underline(at, line, self.paragraph)
        elif match["rule"] and not lead and line.startswith("---"):
            self.paragraph = None
            self.indent = 0
            self._add("p", "\0")
        elif match["bar"]:
            self._prose(at, line, "t" if at and self.shape[-1] in "Tt" else "T")
        elif match["item"]:
            self.indent = _width(lead)
            if match["mark"]:
                self._task(at, match)
            self._prose(at, line, "l")
        else:
            self._prose(at, line, "p", plain=not lead and not match["rule"])

    def _is_indented_code(self, lead: str, item: str | None) -> bool:
        if self.paragraph is not None or (item and self.indent):
            return False
        return _width(lead[: len(lead) - len(lead.lstrip())]) >= self.indent + 4

    def _open_fence(self, match: re.Match[str]) -> None:
        self.paragraph = None
        self.fence = match["fence"]
        self.quoted = ">" in match["lead"]
        is_query = match["language"].lower() in _QUERIES
        self.inside = "x" if is_query else "c"
        self._add("x" if is_query else "C", "\0")

    def _task(self, at: int, match: re.Match[str]) -> None:
        text = _BLOCK_ID.sub("", (match["task"] or "").strip()).strip()
        self.found.tasks.append(Task(text, match["mark"] != " ", self.first_line + at))

    # --- headings and sections ---------------------------------------------------------------

    def _heading(self, at: int, line: str, match: re.Match[str]) -> None:
        level = len(match["hashes"])
        self.paragraph = None
        self.indent = 0
        if level <= 3:
            self.end_section(at)
        rest = self._open_span(at, line[match.end() :])
        if "^" in rest:
            self._block_id(at, rest)
        self._add("H" if level <= 3 else "h", "\0" + rest)
        text = rest.strip()
        bare = text.rstrip("#")
        if not bare or bare[-1].isspace():
            text = bare.rstrip()
        self._enter(level, text, at)

    def _underline(self, at: int, line: str, start: int) -> None:
        """Make the paragraph that began at `start` a heading."""
        self.end_section(start)
        self.shape[start:] = ["H"] * (at - start)
        self._add("H", "\0")
        self.paragraph = None
        self._enter(1 if line[0] == "=" else 2, " ".join(map(str.strip, self.lines[start:at])), start)

    def _enter(self, level: int, text: str, at: int) -> None:
        text = _BLOCK_ID.sub("", text)[: inline.LONGEST_NAME].rstrip()
        self.found.headings.append(Heading(level, text, self.first_line + at))
        if level <= 3:
            while self.path and self.path[-1][0] >= level:
                self.path.pop()
            self.path.append((level, text))

    def end_section(self, end: int) -> None:
        """Close the section before this line: keep its text, read its prose."""
        start = self.section_start
        self.section_start = end
        text = "\n".join(self.lines[start:end])
        if text and not text.isspace():
            path = tuple(text for _, text in self.path if text)
            shape = "".join(self.shape[start:end])
            self.found.sections.append(Section(path, self.first_line + start, text, shape))
            self._collect("\n".join(self.prose[start:end]), self.first_line + start)

    def _collect(self, prose: str, line: int) -> None:
        found = self.found
        seen = 0
        for token, _ in inline.tokens(prose):
            start = token.start()
            match token.lastgroup:
                case "tag":
                    if inline.begins_word(prose, start):
                        found.tags.append(token["tag"])
                case "wiki" | "url" | "outer" as kind:
                    line += prose.count("\n", seen, start)
                    seen = start
                    how: LinkKind = "embed" if inline.is_embed(prose, start) else "link"
                    link = (
                        inline.wikilink(token["wiki"], how, line)
                        if kind == "wiki"
                        else inline.markdown_link(token[kind], token["words"] or "", how, line)
                    )
                    if link:
                        found.links.append(link)


def _width(blanks: str) -> int:
    return len(blanks.expandtabs(4))


def valid_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Keep each tag once, in any case, if it is one: a number alone is none."""
    first: dict[str, str] = {}
    for tag in tags:
        name = tag.strip("/")
        if name and not name.isdigit():
            first.setdefault(name.casefold(), name)
    return tuple(first.values())
