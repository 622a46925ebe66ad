"""`transom model`: what there is, and which one the settings file names."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.cli.model import set_model
from tests.cli.conftest import Transom


def test_the_list_marks_what_is_used_and_here(transom: Transom, tmp_path: Path) -> None:
    """The default comes first; nothing is here on a new machine."""
    rows = transom(
        "model",
        "list",
        "--json",
        TRANSOM_EMBEDDING_MODEL="all-MiniLM-L6-v2",
        TRANSOM_MODELS_DIR=str(tmp_path / "models"),
    ).json

    assert "multilingual-e5-small" == rows[0]["name"]
    assert ["all-MiniLM-L6-v2"] == [row["name"] for row in rows if row["used"]]
    assert not any(row["installed"] for row in rows)
    assert "* all-MiniLM-L6-v2" in transom("model", "list", TRANSOM_EMBEDDING_MODEL="all-MiniLM-L6-v2").out


def test_use_writes_the_settings_file_and_says_which(transom: Transom, tmp_path: Path) -> None:
    """Without a settings file it is made in the person's folder; what else is in it stays."""
    own = tmp_path / "home" / ".config" / "transom" / "transom.toml"
    done = transom("model", "use", "none", "--json", TRANSOM_EMBEDDING_MODEL="")
    assert {"name": "none", "file": str(own)} == done.json

    file = tmp_path / "t.toml"
    file.write_text('# mine\n[embedding]\nthreads = 2\nmodel = "x"  # old\n[server]\nport = 1\n')
    done = transom("model", "use", "none", "--config", file)
    assert str(file) in done.out
    assert '# mine\n[embedding]\nthreads = 2\nmodel = "none"\n[server]\nport = 1\n' == file.read_text()
    assert "TRANSOM_EMBEDDING_MODEL is set and wins" in done.err


def test_use_leaves_a_file_that_it_does_not_understand(transom: Transom, tmp_path: Path) -> None:
    """A layout that could be spoilt is left alone, and the sentence says what to write."""
    file = tmp_path / "t.toml"
    file.write_text('embedding = { model = "x" }\n')
    done = transom("model", "use", "none", "--config", file)

    assert 2 == done.code
    assert 'model = "none"' in done.err
    assert 'embedding = { model = "x" }\n' == file.read_text()


def test_an_unknown_model_is_refused(transom: Transom, tmp_path: Path) -> None:
    """A name that says nothing changes no file."""
    done = transom("model", "use", "magic", TRANSOM_MODELS_DIR=str(tmp_path))

    assert 2 == done.code
    assert "magic" in done.err
    assert not (tmp_path / "home" / ".config").exists()


def test_no_file_is_got_for_models_without_one(transom: Transom) -> None:
    """`none` and an endpoint need no download."""
    assert {"name": "none", "path": None} == transom("model", "get", "none", "--json").json
    assert 0 == transom("model", "get", "openai:small").code


@pytest.mark.parametrize(
    "text", ["", "[server]\nport = 1", "[embedding]\n", '[embedding]\nmodel = "a"\n\n[vault]\nname = "[b]"\n']
)
@given(name=st.text(min_size=1, max_size=20))
def test_setting_the_model_changes_nothing_else(text: str, name: str) -> None:
    """Whatever the name, the file says it and all that it said before."""
    expected = tomllib.loads(text)
    expected.setdefault("embedding", {})["model"] = name

    assert expected == tomllib.loads(set_model(text, name))
