"""The commands that ask, with a bridge running and without one: the same answers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bridge.cli.remote import Remote
from bridge.errors import Unavailable
from tests.cli.conftest import Serve, Transom

Ask: TypeAlias = Callable[..., Any]


@pytest.fixture(params=["alone", "with a bridge"])
def ask(request: pytest.FixtureRequest, transom: Transom, serve: Serve, vault: Path, tmp_path: Path) -> Ask:
    """Call a command on the sample vault, indexed, in both ways."""
    flags: tuple[str, ...] = ("--vault", str(vault), "--data", str(tmp_path / "data"))
    if request.param == "with a bridge":
        flags = serve().flags
    assert 0 == transom("index", *flags).code

    def call(*arguments: str | Path, **variables: str) -> Any:
        return transom(*arguments, *flags, **variables)

    return call


def test_search_finds_and_filters(ask: Ask) -> None:
    """Hits come as JSON or for people; filters narrow them."""
    answer = ask("search", "sourdough", "--json").json
    paths = [hit["path"] for hit in answer["hits"]]

    assert paths
    assert ["keyword"] == answer["signals_used"]
    folder = paths[0].rsplit("/", 1)[0]
    inside = ask("search", "sourdough", "--path", f"{folder}/**", "-n", "1", "--json").json["hits"]
    assert paths[:1] == [hit["path"] for hit in inside]
    assert [] == ask("search", "sourdough", "--after", "2999-01-01", "--json").json["hits"]
    assert paths[0] in ask("search", "sourdough").out
    assert "Nothing found." in ask("search", "xyzzyplugh").out


def test_a_note_has_related_ones(ask: Ask, vault: Path) -> None:
    """The path may be that in the vault or that of the file."""
    path = ask("search", "sourdough", "-n", "1", "--json").json["hits"][0]["path"]
    answer = ask("related", path, "-n", "3", "--json").json

    assert path == answer["path"]
    assert answer["hits"]
    assert answer == ask("related", vault / path, "-n", "3", "--json").json
    assert answer["hits"][0]["title"] in ask("related", path).out
    missing = ask("related", "no such note.md")
    assert 1 == missing.code
    assert missing.err.startswith("Error: ")


def test_status_counts_and_explains(ask: Ask, vault: Path) -> None:
    """Counts for the vault, state and reason for one note."""
    answer = ask("status", "--json").json
    notes = sum(1 for file in vault.rglob("*.md") if not any(part.startswith(".") for part in file.parts))

    assert notes == answer["vault"]["notes"]
    assert answer["coverage"] is None
    assert "notes" in ask("status").out
    path = ask("search", "sourdough", "-n", "1", "--json").json["hits"][0]["path"]
    assert "indexed" == ask("status", path, "--json").json["state"]
    assert "absent" in ask("status", "no such note.md").out


def test_rebuild_gives_the_same_index(ask: Ask) -> None:
    """Everything derived comes again from the notes."""
    before = ask("status", "--json").json["vault"]
    found = ask("search", "sourdough", "--json").json["hits"]
    done = ask("rebuild", "--embeddings", "--json")

    assert 0 == done.code
    assert before == done.json["vault"]
    assert found == ask("search", "sourdough", "--json").json["hits"]


def test_keys_are_made_listed_and_revoked(ask: Ask) -> None:
    """A key is printed when it is made and never again."""
    owner = ask("token", "show").out.strip()
    made = ask("token", "create", "agent", "--read-only", "--deny", "Diary/**", "--json").json
    listed = ask("token", "list")

    assert "agent" == made["name"]
    assert owner.startswith("transom_")
    assert "reads; never Diary/**; no transcripts" in listed.out
    assert made["token"] not in listed.out
    assert owner not in listed.out
    assert 1 == ask("token", "create", "agent").code
    assert 0 == ask("token", "revoke", "agent").code
    assert 1 == ask("token", "revoke", "agent").code
    assert ["owner"] == [key["name"] for key in ask("token", "list", "--json").json]


def test_hostile_text_cannot_command_the_terminal(ask: Ask, vault: Path) -> None:
    """Control characters of a note are shown as blanks."""
    (vault / "evil.md").write_text("# Evil\n\nplughxyzzy \x1b]0;owned\x07 \x1b[2J end\n")
    assert 0 == ask("index").code
    out = ask("search", "plughxyzzy").out

    assert "owned" in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_a_vault_that_is_gone_is_held_and_said(transom: Transom, vault: Path, tmp_path: Path) -> None:
    """An unmounted disk fails the index run and deletes nothing."""
    flags = ("--vault", vault, "--data", tmp_path / "data")
    notes = transom("index", *flags, "--json").json["vault"]["notes"]
    vault.rename(tmp_path / "away")
    vault.mkdir()
    done = transom("index", *flags)

    assert notes > 0
    assert 1 == done.code
    assert "left as it is" in done.err
    assert notes == transom("status", *flags, "--json").json["vault"]["notes"]


def test_a_missing_model_is_said_and_words_work(transom: Transom, vault: Path, tmp_path: Path) -> None:
    """Without the model file the index run fails with its mend; search goes on by words."""
    flags = ("--vault", vault, "--data", tmp_path / "data")
    missing = {"TRANSOM_EMBEDDING_MODEL": "all-MiniLM-L6-v2", "TRANSOM_MODELS_DIR": str(tmp_path / "models")}
    done = transom("index", *flags, **missing)
    found = transom("search", "sourdough", *flags, "--json", **missing).json

    assert 1 == done.code
    assert "transom model get all-MiniLM-L6-v2" in done.err
    assert found["hits"]
    assert {"signal": "semantic", "reason": "no_model"} in found["signals_missing"]


def test_something_else_on_the_port_is_no_bridge() -> None:
    """A connection that nobody answers is a sentence, not a trace."""
    with pytest.raises(Unavailable, match="did not answer"):
        Remote("http://127.0.0.1:9", "key").status()
