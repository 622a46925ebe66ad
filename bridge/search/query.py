"""Any text that a person or an agent types, read as a query; never raises.

`"…"` asks for words as they stand, a leading `-` leaves out, `tag:`, `path:` and `kind:`
narrow the notes. All else, unbalanced quotes and lone signs included, is words.
"""

import re
from typing import Final, get_args

from bridge.model import Kind, Narrowing, ParsedQuery

_KINDS: Final[dict[str, Kind]] = {kind: kind for kind in get_args(Kind)}
_QUOTED: Final = r'"[^"]+"|“[^”]+”|„[^“”]+[“”]|«[^»]+»'
_PART: Final = re.compile(
    rf"""
    (?P<minus> (?<!\S) - (?= [^\W\d_] | ["“„«] ) )?
    (?:
        (?P<key> tag | path | kind ) : (?P<value> {_QUOTED} | [^\s"]+ )
      | (?<!\w) (?P<phrase> {_QUOTED} ) (?!\w)
      | (?P<word> [^\s"“„«]+ | \S )
    )
    """,
    re.VERBOSE | re.IGNORECASE,
)


_LONGEST: Final = 10_000
_MOST_NARROWING: Final = 100


def parse_query(query: str) -> ParsedQuery:
    """Read a query; of one that goes on for pages, the beginning."""
    words: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    narrowed: dict[tuple[bool, str], list[str]] = {}
    for part in _PART.finditer(query[:_LONGEST]):
        minus = bool(part["minus"])
        if part["key"] and (value := _value(part["key"], part["value"])):
            narrowed.setdefault((minus, part["key"].casefold()), []).append(value)
            continue
        if minus:
            without.append(_unquoted(part["phrase"] or part[0][1:]))
            continue
        if part["phrase"]:
            phrases.append(_unquoted(part["phrase"]))
        words.append(_unquoted(part["phrase"]) if part["phrase"] else part[0])
    return ParsedQuery(
        " ".join(words),
        tuple(phrases),
        tuple(without),
        _narrowing(narrowed, False),
        _narrowing(narrowed, True),
    )


def _value(key: str, written: str) -> str:
    """Clean the value after a key; empty where it names nothing, which makes it words."""
    value = _unquoted(written)
    if key.casefold() == "kind":
        return _KINDS.get(value.casefold(), "")
    return value.strip("#/") if key.casefold() == "tag" else value


def _unquoted(text: str) -> str:
    return text[1:-1].strip() if re.fullmatch(_QUOTED, text) else text


def _narrowing(narrowed: dict[tuple[bool, str], list[str]], minus: bool) -> Narrowing:
    tags, paths, kinds = (
        tuple(dict.fromkeys(narrowed.get((minus, key), ())))[:_MOST_NARROWING]
        for key in ("tag", "path", "kind")
    )
    return Narrowing(tags, paths, tuple(_KINDS[kind] for kind in kinds))
