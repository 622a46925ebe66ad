"""Read a note's frontmatter: the YAML between two lines of `---` at its very beginning."""

import math
import re
from dataclasses import dataclass
from typing import Any

import yaml

from bridge.inline import LONGEST_NAME, plain, wikilink
from bridge.model import Link

_NAME_KEYS = frozenset({"tag", "tags", "alias", "aliases", "title", "cssclass", "cssclasses"})
"""Properties that name or dress a note and are searched as such; the others say something."""

_END = re.compile(r"^---[ \t]*$", re.MULTILINE)
_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_FLOAT = re.compile(r"[-+]?(?:\.\d+|\d+\.\d*)(?:[eE][-+]?\d+)?")
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_BLANKS = re.compile(r"[,\s]+")
_MOST_CHARS = 1_000_000
_MOST_VALUES = 50_000
_MOST_LEVELS = 100


@dataclass(frozen=True, slots=True)
class Frontmatter:
    values: dict[str, Any]
    """As written and in order; dates stay text, so that all of it is JSON."""
    source: str
    end: int
    """Where the note's body begins."""
    issue: str | None = None


class _UnreadableError(Exception):
    pass


def read(text: str) -> Frontmatter | None:
    """Read the frontmatter that begins a note, None when there is none."""
    if not text.startswith("---") or text.partition("\n")[0].rstrip() != "---":
        return None
    start = text.find("\n") + 1
    closing = _END.search(text, start) if start else None
    if closing is None:
        return None
    source = text[start : closing.start()]
    end = min(closing.end() + 1, len(text))
    try:
        values = _load(source)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        fault = f"is not valid YAML (line {mark.line + 2})" if mark else "is not valid YAML"
    except _UnreadableError as error:
        fault = str(error)
    else:
        return None if values is None else Frontmatter(values, source, end)
    is_template = "{{" in source or "<%" in source
    issue = None if is_template else f"The frontmatter {fault}; it was read line by line."
    return Frontmatter(_lenient(source), source, end, issue)


def _load(source: str) -> dict[str, Any] | None:
    """Build values from YAML events; None when it is not a mapping at all.

    Plain scalars follow YAML 1.2 as Obsidian reads it: `yes`, `0123` and dates are text.
    What aliases multiply counts against one budget, so that no document grows without bound.
    """
    if len(source) > _MOST_CHARS:
        raise _UnreadableError("is too large to read as YAML")
    root: list[Any] = []
    stack: list[_Frame] = [_Frame(root)]
    anchors: dict[str, tuple[Any, int]] = {}
    size = 0
    for event in yaml.parse(source, Loader=yaml.CBaseLoader):
        if isinstance(event, yaml.ScalarEvent):
            value = event.value if event.style else scalar(event.value)
            size += 1
            if event.anchor:
                anchors[event.anchor] = (value, 1)
            stack[-1].put(value, event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            frame = _Frame({} if isinstance(event, yaml.MappingStartEvent) else [], event.anchor, size)
            stack[-1].put(frame.value, None)
            stack.append(frame)
        elif isinstance(event, yaml.CollectionEndEvent):
            frame = stack.pop()
            size += 1
            if frame.anchor:
                anchors[frame.anchor] = (frame.value, size - frame.size)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise _UnreadableError("refers to what it does not name")
            value, weight = anchors[event.anchor]
            size += weight
            stack[-1].put(value, value if isinstance(value, str) else None)
        if size > _MOST_VALUES or len(stack) > _MOST_LEVELS:
            raise _UnreadableError("holds too many values or levels")
    if len(root) > 1:
        raise _UnreadableError("holds more than one document")
    values = root[0] if root else None
    return values if isinstance(values, dict) else None if values is not None else {}


class _Frame:
    """A list or mapping being filled."""

    __slots__ = ("anchor", "key", "size", "value")

    def __init__(self, value: list[Any] | dict[str, Any], anchor: str | None = None, size: int = 0) -> None:
        self.value = value
        self.anchor = anchor
        self.size = size
        self.key: str | None = None

    def put(self, value: Any, key: str | None) -> None:
        """Take the next value, which is a key (by its text) where a mapping awaits one."""
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is not None:
            self.value[self.key] = value
            self.key = None
        elif key is None:
            raise _UnreadableError("has a list or mapping for a key")
        else:
            self.key = key


def scalar(text: str) -> Any:
    """Type a plain scalar."""
    if text in _CONSTANTS or text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def _lenient(source: str) -> dict[str, Any]:
    """Take `key: value`, `key: [a, b]` and `key:` with `- item` lines, whatever stands between."""
    values: dict[str, Any] = {}
    items: list[Any] | None = None
    for line in source.split("\n"):
        text = line.strip()
        if text.startswith("- ") and items is not None:
            items.append(_lenient_value(text[2:].strip()))
        elif text and not line[0].isspace() and line[0] not in "#-":
            key, colon, value = text.partition(":")
            if colon and (not value or value[0].isspace()):
                key = key.strip().strip("'\"")
                items = []
                values[key] = _lenient_value(value.strip()) if value.strip() else items
    return {key: value if value != [] else None for key, value in values.items()}


def _lenient_value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]") and not text.startswith("[["):
        return [_lenient_value(part.strip()) for part in text[1:-1].split(",") if part.strip(" []")]
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return scalar(text)


def named(values: dict[str, Any], *keys: str) -> list[str]:
    """Give the texts under these keys (in any case), from a list or a comma-separated text."""
    found: list[Any] = []
    for key, value in values.items():
        if key.lower() in keys:
            found += (
                value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
            )
    texts = [str(part).strip() for part in found if isinstance(part, (str, int, float))]
    return [text for text in texts if text]


def tags(values: dict[str, Any]) -> list[str]:
    """Give the tags of `tags` and `tag` in any spelling."""
    texts = named(values, "tags", "tag")
    return [tag.strip("#[]'\"") for text in texts for tag in _BLANKS.split(text)]


def aliases(values: dict[str, Any]) -> list[str]:
    """Give `aliases`, `alias` and `title`, without template markup."""
    title = values.get("title")
    titles = [title] if isinstance(title, str) else []
    return [plain(text)[:LONGEST_NAME] for text in (*named(values, "aliases", "alias"), *titles)]


def links(source: str, first_line: int) -> list[Link]:
    """Give the `[[links]]` in the values."""
    if "[[" not in source:
        return []
    found = []
    for number, line in enumerate(source.split("\n"), first_line):
        if not line.lstrip().startswith("#"):
            found += [wikilink(match[1], "frontmatter", number) for match in _WIKILINK.finditer(line)]
    return [link for link in found if link]


def said(head: Frontmatter) -> str:
    """Give the source without what only names the note, line for line; empty if nothing is left."""
    if not head.issue and not any(
        _has_words(value) for key, value in head.values.items() if key.lower() not in _NAME_KEYS
    ):
        return ""
    lines = head.source.rstrip("\n").split("\n")
    names = False
    for at, line in enumerate(lines):
        if line[:1].isalpha():
            names = line.partition(":")[0].strip().lower() in _NAME_KEYS
        if names:
            lines[at] = ""
    return "\n".join(lines)


def _has_words(value: Any) -> bool:
    if isinstance(value, str):
        return any(map(str.isalpha, value))
    return isinstance(value, (list, dict)) and any(
        map(_has_words, value if isinstance(value, list) else value.values())
    )
