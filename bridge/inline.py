"""Read what stands inside lines: links, tags, block ids, and the markup around words.

One expression finds every construct in the order in which Obsidian does, so that a link in
code, math or a comment is never one. Each alternative stops where the same one could begin
again, which keeps the scan linear on any input.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from urllib.parse import unquote

from bridge.model import Link, LinkKind

LONGEST_NAME = 1000
"""Code points of a heading or an alias by which it goes; what is longer is no name, but text."""

EDGE = "\0"
"""Stands before a paragraph, item or row in scanned text: no code span crosses it."""

CLOSERS = {"%%": "%%", "<!--": "-->", "<%": "%>", "$$": "$$"}
"""What may run over several lines, and how it ends."""

_TARGET = (
    r"[ \t]*+(?:<[^<>\n\0]*+>|[^()\s<\0]*+(?:\([^()\s\0]*+\)[^()\s\0]*+)*+)"
    r"(?:\s++(?:\"[^\"\0]*+\"|'[^'\0]*+'))?\s*+"
)
_TAG_END = (
    r"\s\0!-,.:-@\[-^`{-~\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_TOKEN = re.compile(
    r"""
      \\.
    | `(?!`)[^`\0]*+`(?!`)
    | `(?P<ticks>`*)
    | \$\$[^$\0]+\$\$
    | \$(?![\s$])[^$\n\0]*+(?<![\s\\])\$(?!\d)
    | \$\$
    | %%(?:[^%\0]|%(?!%))*+%%
    | %%
    | <!--(?:[^-<\0]|-(?!->)|<(?!!--))*+-->
    | <!--
    | <%(?:[^%<\0]|%(?!>)|<(?!%))*+%>
    | <%
    | <(?P<html>/?[A-Za-z][^<>\0]*)>
    | \{\{[^{}\0]*\}\}
    | \[\[(?P<wiki>[^\[\]\n\0]*+(?:(?:\[(?!\[)|\](?!\]))[^\[\]\n\0]*+)*+)\]\]
    | \[\^(?P<note>[^\[\]\s\0]+)\]:?
    | \[(?P<words>(?:[^\[\]\\\0]|\\.)*+)\]\((?P<url>TARGET)\)
    | \]\((?P<outer>TARGET)\)
    | \#(?P<tag>[^TAG_END]+)
    | \^(?P<block>[A-Za-z0-9-]++)[ \t]*+(?=[\n\0]|\Z)
    """.replace("TARGET", _TARGET).replace("TAG_END", _TAG_END),
    re.VERBOSE,
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_LINE_MARKS = re.compile(
    r"^[ \t]*(?:(?:>|[-*+](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$))[ \t]*)*+"
    r"(?:\[![\w-]+\][+-]?|\[.\](?=[ \t])|\#{1,6}(?=[ \t])|[-=*_]{3,}[ \t]*$)?",
    re.MULTILINE,
)
_TAG_LINE = re.compile(r"^[ \t>]*(?:[-*+][ \t]+)?#[^\s#]+(?:[ \t]+#[^\s#]+)*[ \t]*$", re.MULTILINE)
_EMPHASIS = re.compile(r"\*\*|~~|==")


def tokens(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each construct with the place where it ends."""
    at = 0
    runs: dict[int, list[int]] | None = None
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token.lastgroup == "ticks":
            if runs is None:
                runs = _tick_runs(text)
            at = _code_end(text, token, runs)
        yield token, at


def _tick_runs(text: str) -> dict[int, list[int]]:
    runs: dict[int, list[int]] = {}
    for run in re.finditer("`+", text):
        runs.setdefault(len(run[0]), []).append(run.start())
    return runs


def _code_end(text: str, token: re.Match[str], runs: dict[int, list[int]]) -> int:
    """Find the end of a code span: the next run of as many backticks, or the run itself."""
    same = runs.get(len(token[0]), [])
    after = bisect_right(same, token.start())
    if after == len(same) or text.find(EDGE, token.end(), same[after]) >= 0:
        return token.end()
    return same[after] + len(token[0])


def unclosed(line: str) -> Iterator[re.Match[str]]:
    """Find what opens on this line and does not close on it (see `CLOSERS`)."""
    return (token for token, _ in tokens(line) if token[0] in CLOSERS)


def begins_word(text: str, at: int) -> bool:
    """Whether a tag or block id may begin here."""
    return at == 0 or text[at - 1].isspace() or text[at - 1] in "\0([{*_>|,;"


def is_embed(text: str, at: int) -> bool:
    """Whether an unescaped `!` stands before this link."""
    return at > 0 and text[at - 1] == "!" and (at < 2 or text[at - 2] != "\\")


def wikilink(body: str, kind: LinkKind, line: int) -> Link | None:
    r"""Read the inside of `[[…]]`; a `\|` is a table's way to write `|`."""
    target, _, alias = body.partition("|")
    target, _, anchor = target.removesuffix("\\").partition("#")
    return _link(target, anchor, alias, kind, line)


def markdown_link(url: str, words: str, kind: LinkKind, line: int) -> Link | None:
    """Read `[words](url)`; None for an address outside the vault."""
    url = url.strip()
    url = url[1:].partition(">")[0] if url.startswith("<") else re.split(r"\s", url, maxsplit=1)[0]
    if _SCHEME.match(url):
        return None
    target, _, anchor = url.partition("#")
    return _link(unquote(target), unquote(anchor), words, kind, line)


def _link(target: str, anchor: str, alias: str, kind: LinkKind, line: int) -> Link | None:
    target, anchor = target.strip(), anchor.strip()
    if not target and not anchor:
        return None
    block = anchor[1:] if anchor.startswith("^") else None
    heading = anchor if anchor and block is None else None
    return Link(target, kind, line, heading, block, alias.strip() or None)


def plain(text: str) -> str:
    """Reduce Markdown to its words: no embeds, comments, templates, addresses, marks, lines of tags."""
    if "#" in text:
        text = _TAG_LINE.sub("", text)
    parts = []
    last = 0
    for token, end in tokens(text):
        words = _words(token, end, text)
        if words is not None:
            start = token.start()
            embed = token.lastgroup in {"wiki", "url"} and is_embed(text, start)
            parts.append(text[last : start - embed])
            parts.append("" if embed and token.lastgroup == "wiki" else words)
            last = end
    if parts:
        text = "".join(parts) + text[last:]
    text = _EMPHASIS.sub("", _LINE_MARKS.sub("", text))
    return "\n".join([line for line in map(str.strip, text.split("\n")) if line])


def _words(token: re.Match[str], end: int, text: str) -> str | None:
    """The words that a construct shows; None to leave it as it stands."""
    whole = token[0]
    match token.lastgroup:
        case "wiki":
            target, bar, alias = token["wiki"].partition("|")
            return alias if bar else target.lstrip("#").replace("#", " ")
        case "url":
            return token["words"]
        case "ticks":
            return text[token.end() : end - len(whole)] if end > token.end() else None
        case "html":
            return token["html"] if ":" in token["html"].partition(" ")[0] else ""
        case "tag":
            return token["tag"] if begins_word(text, token.start()) else None
        case "note" | "outer" | "block":
            return "" if token.lastgroup != "block" or begins_word(text, token.start()) else None
    if whole in CLOSERS or whole[0] == "$":
        return None
    if whole[0] in "\\`":
        return whole[1:].removesuffix("`") if whole[0] == "`" else whole[1:]
    return ""
