"""Queries: what signs mean, and that any text is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.model import Narrowing, ParsedQuery
from bridge.search.query import parse_query


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("rank fusion", ParsedQuery("rank fusion")),
        ('say "rank fusion" twice', ParsedQuery("say rank fusion twice", phrases=("rank fusion",))),
        ('"rank fusion"-draft', ParsedQuery("rank fusion -draft", phrases=("rank fusion",))),
        ("“rank fusion”", ParsedQuery("rank fusion", phrases=("rank fusion",))),
        ("„Haus am See“ kaufen", ParsedQuery("Haus am See kaufen", phrases=("Haus am See",))),
        ("fusion -draft", ParsedQuery("fusion", without=("draft",))),
        ('fusion -"first draft"', ParsedQuery("fusion", without=("first draft",))),
        ("tag:idea fusion", ParsedQuery("fusion", only=Narrowing(tags=("idea",)))),
        ("Tag:#area/health", ParsedQuery("", only=Narrowing(tags=("area/health",)))),
        ("x -tag:done", ParsedQuery("x", never=Narrowing(tags=("done",)))),
        ("path:Projects/ x", ParsedQuery("x", only=Narrowing(paths=("Projects/",)))),
        ('path:"My Notes/*.md"', ParsedQuery("", only=Narrowing(paths=("My Notes/*.md",)))),
        (
            "-path:Archive kind:canvas x",
            ParsedQuery("x", only=Narrowing(kinds=("canvas",)), never=Narrowing(paths=("Archive",))),
        ),
        ("-tag:", ParsedQuery("", without=("tag:",))),
    ],
)
def test_signs_that_mean_something(query: str, expected: ParsedQuery) -> None:
    """Quotes, a minus, `tag:`, `path:` and `kind:` are understood, alone and together."""
    assert expected == parse_query(query)


@pytest.mark.parametrize(
    "query",
    [
        'an "unbalanced quote',
        "a - b",
        "well-known state-of-the-art",
        "--flag -5 degrees",
        "tag: and path:",
        "kind:regards",
        "hashtag:x",
        'a 5" disk and a 3" disk',
        "AND OR NOT (a b) [x TO y] field:value ~2 ^3 *",
        "C++ && a || b! \\ {}",
        "¿Qué? 全文検索「引用」",
        "''",
    ],
)
def test_all_else_is_words(query: str) -> None:
    """Unbalanced quotes, lone signs and other engines' syntax are words."""
    parsed = parse_query(query)

    assert ParsedQuery(parsed.text) == parsed
    assert query.replace(" ", "") == parsed.text.replace(" ", "")


@given(st.text(max_size=100) | st.text(alphabet='ab "-“”„«»:tagphkind#', max_size=60))
def test_any_text_is_a_query(query: str) -> None:
    """Reading a query never fails, and no phrase or exclusion of it is empty."""
    parsed = parse_query(query)

    assert all((*parsed.without, *parsed.only.tags, *parsed.never.paths))


def test_a_query_of_pages_is_read_at_its_beginning() -> None:
    """However long a text is and however often it narrows, what is asked of the stores stays small."""
    parsed = parse_query("".join(f"tag:t{n} -tag:t{n} -path:p{n} word{n} " for n in range(5000)))

    assert "word1 " in parsed.text
    assert len(parsed.text) < 10_000
    assert len(parsed.only.tags) == len(parsed.never.tags) == len(parsed.never.paths) == 100
