"""What is written about the program is what the program is."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from bridge import __version__
from bridge.cli import COMMANDS
from bridge.cli.docs import REFERENCE, pages
from bridge.settings import SETTINGS

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["settings.md", "cli.md", "rest.md", "openapi.json"])
def test_the_reference_is_current(name: str) -> None:
    """`make docs` was run after the last change of settings, commands or types."""
    assert dict(pages())[name] == (REFERENCE / name).read_text("utf-8")


def test_nothing_is_missing_from_the_reference() -> None:
    """Each setting, command and verb is on its page."""
    made = dict(pages())
    paths = json.loads(made["openapi.json"])["paths"]

    assert all(f"| `{setting.key}` |" in made["settings.md"] for setting in SETTINGS)
    assert all(f"## transom {name}" in made["cli.md"] for name in COMMANDS)
    assert all(f"## {method.upper()} {path}\n" in made["rest.md"] for path in paths for method in paths[path])


def test_there_is_one_version_number() -> None:
    """Package, changelog and `transom --version` agree."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    released = re.findall(
        r"^## \[(\d+\.\d+\.\d+)\]", (REPOSITORY / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )

    assert ["version"] == project["project"]["dynamic"]
    assert "bridge/__init__.py" == project["tool"]["hatch"]["version"]["path"]
    assert not released or released[0] == __version__


def test_links_of_the_docs_lead_somewhere() -> None:
    """No page points to a file that is not there."""
    for page in (REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
