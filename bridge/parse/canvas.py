"""Read a canvas (JSON Canvas 1.0, jsoncanvas.org): what its cards and labels say, and its files.

Cards are read from top to bottom, then left to right, with a blank line between; lines count
in that text.
"""

import json
from collections.abc import Iterator
from typing import Any

from bridge.inline import wikilink
from bridge.model import Link
from bridge.parse.markdown import Scanner


def scan(source: str, scanner: Scanner) -> str | None:
    """Add a canvas to what was scanned; give an issue if it is not one, its text read as it is."""
    try:
        board = json.loads(source) if source.strip() else {}
    except (ValueError, RecursionError):
        scanner.scan(source)
        return "The canvas is not valid JSON; its text was indexed as it stands."
    line = 1
    for text, link in _cards(board):
        if link is not None:
            scanner.links.append(Link(link.target, "canvas", line, link.heading, link.block))
        if text.strip():
            scanner.scan(text, line)
            line += text.count("\n") + 2
    return None


def _cards(board: Any) -> Iterator[tuple[str, Link | None]]:
    for node in sorted(_objects(board, "nodes"), key=_place):
        link = wikilink(_text(node, "file") + _text(node, "subpath"), "canvas", 1)
        yield _text(node, "text") or _text(node, "label") or _text(node, "url"), link
    for edge in _objects(board, "edges"):
        yield _text(edge, "label"), None


def _objects(board: Any, key: str) -> list[dict[str, Any]]:
    found = board.get(key) if isinstance(board, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _place(node: dict[str, Any]) -> tuple[float, float]:
    y, x = node.get("y"), node.get("x")
    return (y if isinstance(y, (int, float)) else 0, x if isinstance(x, (int, float)) else 0)


def _text(item: dict[str, Any], key: str) -> str:
    """Give a text without what no store can hold: NUL and half surrogates."""
    value = item.get(key)
    if not isinstance(value, str):
        return ""
    value = value.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
    return value.encode("utf-8", "replace").decode()
