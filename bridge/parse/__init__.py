"""Text to `Note`: pure, and never failing. What could not be understood is an issue of the note."""

import codecs
import re
from collections.abc import Iterable

from bridge.inline import plain
from bridge.model import Kind, Note, NotePath, Section
from bridge.parse import canvas, frontmatter
from bridge.parse.markdown import Scanner, valid_tags
from bridge.paths import fold, title_of

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DRAWING = re.compile(r"^#+ Drawing[ \t]*$", re.MULTILINE)


def parse(path: NotePath, content: bytes) -> Note:
    """Read a note or canvas; any bytes will do."""
    text, issue = _decode(content)
    scanner = Scanner()
    issues = [issue]
    if path.lower().endswith(".canvas"):
        issues.append(canvas.scan(text, scanner))
        return _note(path, scanner, issues, head=None)
    head = frontmatter.read(text)
    body, first_line = text, 1
    if head is not None:
        issues.append(head.issue)
        body = text[head.end :]
        first_line = text.count("\n", 0, head.end) + 1
        if "excalidraw-plugin" in head.values:
            body = _without_drawing(body)
        scanner.links += frontmatter.links(head.source, 2)
        said = frontmatter.said(head)
        if said.strip():
            scanner.sections.append(Section((), 2, said, "x" * (said.count("\n") + 1)))
    scanner.scan(body, first_line)
    return _note(path, scanner, issues, head)


def _note(
    path: NotePath, scanner: Scanner, issues: list[str | None], head: frontmatter.Frontmatter | None
) -> Note:
    title = title_of(path)
    values = head.values if head else {}
    kind: Kind = "canvas" if path.lower().endswith(".canvas") else "note"
    first_h1 = [plain(heading.text) for heading in scanner.headings if heading.level == 1][:1]
    names = [*frontmatter.aliases(values), *(first_h1 if kind == "note" else ())]
    return Note(
        path=path,
        title=title,
        kind=kind,
        frontmatter=values,
        aliases=_without(title, names),
        tags=valid_tags([*frontmatter.tags(values), *scanner.tags]),
        headings=tuple(scanner.headings),
        links=tuple(scanner.links),
        blocks=tuple(scanner.blocks),
        tasks=tuple(scanner.tasks),
        sections=tuple(scanner.sections),
        issues=tuple(issue for issue in issues if issue),
    )


def _without(title: str, names: Iterable[str]) -> tuple[str, ...]:
    """Keep each name once, in any case, and never the title."""
    first = {fold(title): "", "": ""}
    for name in names:
        first.setdefault(fold(name), name)
    return tuple(name for name in first.values() if name)


def _decode(content: bytes) -> tuple[str, str | None]:
    r"""Give the text with `\n` line ends, and what was wrong with it."""
    issue = None
    if content.startswith(_UTF16):
        text = content.decode("utf-16", "replace")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("utf-8", "replace").removeprefix("\ufeff")
            issue = "This file is not UTF-8; what could not be read is shown as �. Save it as UTF-8."
    if "\0" in text:
        if issue or text.count("\0") * 20 > len(text):
            return "", "This is not a text file; only its name is indexed."
        text = text.replace("\0", "")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text, issue


def _without_drawing(body: str) -> str:
    """Leave out an Excalidraw file's drawing, which is data."""
    drawing = _DRAWING.search(body)
    return body[: drawing.start()] if drawing else body
