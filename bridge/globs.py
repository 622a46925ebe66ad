"""Glob patterns over note paths: what settings, key scopes and filters are written in.

`**` is any depth, `*` and `?` stay within a segment, `[a-z]` and `[!a-z]` are one character
of a class, a backslash takes the next character as it is. Patterns start at the vault's root
and mind case. One that names a folder (`Private` or `Private/`) covers all below it.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable

_TOKEN = re.compile(
    r"(?P<star>\*+)|(?P<one>\?)|\[(?P<not>[!^]?)(?P<members>\]?[^\]]+)\]|\\(?P<plain>.)|(?P<char>.)",
    re.DOTALL,
)
_FOLDERS = "(?:[^/]+/)*"
_CHARACTERS = "[^/]*"


def glob_matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Compile patterns into one test of a path; no patterns match nothing.

    >>> covers = glob_matcher(["Private/", "Daily/2024-*.md", "**/draft.md"])
    >>> [covers(path) for path in ("Private/a/b.md", "Daily/2024-01-02.md", "draft.md", "x.md")]
    [True, True, True, False]
    """
    patterns = tuple(patterns)
    if "**" in patterns:
        return lambda _path: True
    expressions = (_expression(unicodedata.normalize("NFC", pattern)) for pattern in patterns)
    match = re.compile("|".join(expressions) or "(?!)", re.DOTALL).fullmatch
    return lambda path: match(path) is not None


def _expression(pattern: str) -> str:
    segments = [segment for segment in pattern.split("/") if segment]
    if not segments:
        return ".*" if pattern else ""
    runs = [""]
    for segment in segments[:-1]:
        if segment == "**":
            runs.append("")
        else:
            runs[-1] += _segment(segment) + "/"
    if segments[-1] == "**":
        runs.append("[^/]+")
    else:
        runs[-1] += _segment(segments[-1])
    expression = _gapped(runs, _FOLDERS)
    if pattern.endswith("/"):
        return f"{expression}/.*"
    return expression if re.search(r"[*?\[]", segments[-1]) else f"{expression}(?:/.*)?"


def _segment(segment: str) -> str:
    runs = [""]
    for token in _TOKEN.finditer(segment):
        if token["star"]:
            runs.append("")
        elif token["one"]:
            runs[-1] += "[^/]"
        elif token["members"]:
            runs[-1] += _class(token["members"], negated=bool(token["not"]))
        else:
            runs[-1] += re.escape(token["plain"] or token["char"])
    return _gapped(runs, _CHARACTERS)


def _gapped(runs: list[str], gap: str) -> str:
    """Join runs by gaps of any length.

    A middle run is atomic: its first match leaves the rest the most room, so nothing is
    lost, and a hostile pattern of many stars cannot make the match slow.
    """
    if len(runs) == 1:
        return runs[0]
    first, *middle, last = runs
    return first + "".join(f"(?>{gap}?{run})" for run in middle if run) + gap + last


def _class(members: str, *, negated: bool) -> str:
    items = ""
    for low, high, one in re.findall(r"(.)-(.)|(.)", members, re.DOTALL):
        if one:
            items += re.escape(one)
        elif low <= high:
            items += f"{re.escape(low)}-{re.escape(high)}"
    if negated:
        return f"[^/{items}]"
    return f"(?!/)[{items}]" if items else "(?!)"
