"""Globs say which notes a setting, a scope or a filter covers."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.globs import glob_matcher

COVERED = [
    ("**", "a/b/c.md", True),
    ("*.md", "a.md", True),
    ("*.md", "a/b.md", False),
    ("**/*.md", "b.md", True),
    ("**/*.md", "a/x/b.md", True),
    ("Private", "Private/a/b.md", True),
    ("Private/", "Private/a.md", True),
    ("Private", "private/a.md", False),
    ("Private", "Privateer/a.md", False),
    ("Private", "a/Private/b.md", False),
    ("/Private/", "Private/a.md", True),
    ("**/Private", "a/Private/b.md", True),
    ("Projects/*", "Projects/a.md", True),
    ("Projects/*", "Projects/a/b.md", False),
    ("Projects/*/", "Projects/a/b.md", True),
    ("Projects/**", "Projects/a/b.md", True),
    ("Projects/**", "Projects", False),
    ("a/**/z.md", "a/z.md", True),
    ("a/**/z.md", "a/b/c/z.md", True),
    ("a/**/m/**/z.md", "a/m/n/m/z.md", True),
    ("a*b*c.md", "a-b-b-c.md", True),
    ("a?c.md", "abc.md", True),
    ("a?c.md", "a/c.md", False),
    ("a[/]c.md", "a/c.md", False),
    ("202[0-4].md", "2023.md", True),
    ("202[!0-4].md", "2023.md", False),
    ("[z-a].md", "b.md", False),
    ("[open.md", "[open.md", True),
    (r"\[x\].md", "[x].md", True),
    ("C++ (old)/", "C++ (old)/a.md", True),
    ("Cafe\u0301/", "Caf\u00e9/a.md", True),
    ("", "a.md", False),
    ("/", "a.md", True),
]


@pytest.mark.parametrize(("pattern", "path", "covered"), COVERED)
def test_pattern_covers(pattern: str, path: str, covered: bool) -> None:
    """Each pattern covers what the settings page says it does."""
    assert covered == glob_matcher([pattern])(path)


def test_no_patterns() -> None:
    """No patterns cover nothing; several cover what any of them does."""
    assert not glob_matcher([])("a.md")
    assert glob_matcher(["x/", "a.md"])("a.md")


@given(st.lists(st.text(alphabet="ab/*?[]!-\\^é", max_size=12), max_size=3), st.text("ab/é", max_size=12))
def test_any_text_is_a_pattern(patterns: list[str], path: str) -> None:
    """Whatever is given as a pattern compiles and answers."""
    assert glob_matcher(patterns)(path) in (True, False)


@given(st.lists(st.sampled_from(["a", "b", "*", "?", "**", "a*", "*a*b"]), min_size=1, max_size=5), st.data())
def test_atomic_runs_lose_nothing(segments: list[str], data: st.DataObject) -> None:
    """The fast expression matches exactly what the plain one does."""
    path = "/".join(data.draw(st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=6)))
    plain = "/".join(segments).replace("?", "[^/]").replace("**", "\0").replace("*", "[^/]*")
    plain = re.sub("(?:\0/)+", "(?:[^/]+/)*", plain)
    plain = plain.replace("\0", "(?:[^/]+/)*[^/]+")
    if not set("*?") & set(segments[-1]):
        plain += "(?:/.*)?"

    assert bool(re.fullmatch(plain, path)) == glob_matcher(["/".join(segments)])(path)


def test_hostile_pattern() -> None:
    """A pattern of many stars answers at once."""
    started = time.perf_counter()
    covers = glob_matcher(["*a" * 40 + "b", "**/a/" * 12 + "b", "**/*a*" * 9 + "b"])

    assert not covers("a" * 200)
    assert not covers("a/" * 30 + "c")
    assert time.perf_counter() - started < 0.5
