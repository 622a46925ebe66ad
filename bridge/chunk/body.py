"""What is embedded of a section's lines: words, without marks, queries, drawings and comments."""

import re

from bridge.inline import plain

_RUN = re.compile(r"H+|x+|[Cc]c*|[Tt]t*|[hpl ]+")
_FENCE = re.compile(r"^[ \t>]*(?:[-*+][ \t]+)?(?:`{3,}|~{3,}|\$\$[ \t]*$).*$", re.MULTILINE)
_RULE_ROW = re.compile(r"^[ \t>]*\|?[ \t:]*-[ \t|:-]*$", re.MULTILINE)
_HAS_WORD = re.compile(r"\w")


def body(text: str, shape: str) -> str:
    """Give the words of these lines by their shape (see `Section`); empty if there are none."""
    if shape.strip("hpl "):
        lines = text.split("\n")
        runs = ((run[0][0], "\n".join(lines[run.start() : run.end()])) for run in _RUN.finditer(shape))
        words = "\n".join(filter(None, [_run(letter, text) for letter, text in runs]))
    else:
        words = plain(text)
    return words if _HAS_WORD.search(words) else ""


def _run(letter: str, text: str) -> str:
    match letter:
        case "H" | "x":
            return ""
        case "C" | "c":
            return "\n".join(filter(None, map(str.strip, _FENCE.sub("", text).split("\n"))))
        case "T" | "t":
            cells = plain(_RULE_ROW.sub("", text)).replace("|", " ")
            return "\n".join(" ".join(row.split()) for row in cells.split("\n"))
    return plain(text)
