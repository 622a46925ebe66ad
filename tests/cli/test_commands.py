"""The commands that ask, with a bridge running and without one: the same answers."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bridge.cli.remote import Remote
from bridge.errors import Unavailable
from tests.cli.conftest import Machine, Transom
from tests.conftest import SAMPLE_VAULT

Ask: TypeAlias = Callable[..., Any]


@pytest.fixture(scope="module", params=["alone", "with a bridge"])
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with the sample vault indexed, in both ways."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    vault = Path(shutil.copytree(SAMPLE_VAULT, machine.folder / "vault"))
    if request.param == "with a bridge":
        machine.serve(vault)
    assert 0 == machine.transom("index", "--vault", vault, "--data", machine.data).code
    yield machine
    machine.close()


@pytest.fixture
def ask(used: Machine) -> Ask:
    """Call a command on that vault."""
    return lambda *arguments: used.transom(*arguments, "--vault", used.folder / "vault", "--data", used.data)


def test_search_finds_and_filters(ask: Ask) -> None:
    """Hits come as JSON or for people; filters narrow them."""
    answer = ask("search", "sourdough", "--json").json
    paths = [hit["path"] for hit in answer["hits"]]
    folder = paths[0].rsplit("/", 1)[0]
    narrowed = ask(
        "search", "sourdough", "--path", f"{folder}/**", "--after", "2001-01-01", "-n", "1", "--json"
    )
    shown = ask("search", "sourdough")

    assert ["keyword"] == answer["signals_used"]
    assert paths[:1] == [hit["path"] for hit in narrowed.json["hits"]]
    assert paths[0] in shown.out
    assert "Without meaning" in shown.err
    assert "Nothing found." in ask("search", "sourdough", "--after", "2999-01-01").out


def test_a_note_has_related_ones(ask: Ask, used: Machine) -> None:
    """The path may be that in the vault or that of the file, from here or from the root."""
    path = "Bread/Sourdough starter.md"
    answer = ask("related", path, "-n", "3", "--json").json
    missing = ask("related", "no such note.md")

    assert path == answer["path"]
    assert answer["hits"]
    assert answer["hits"][0]["title"] in ask("related", used.folder / "vault" / path, "-n", "3").out
    assert answer == ask("related", f"../vault/{path}", "-n", "3", "--json").json
    assert (1, "") == (missing.code, missing.out)
    assert missing.err.startswith("Error: ")


def test_status_counts_and_explains(ask: Ask, used: Machine) -> None:
    """Counts for the vault, state and reason for one note."""
    answer = ask("status", "--json").json
    files = (used.folder / "vault").rglob("*.md")

    assert sum(1 for file in files if ".obsidian" not in file.parts) == answer["vault"]["notes"]
    assert answer["coverage"] is None
    assert "notes" in ask("status").out
    assert "indexed" == ask("status", "Bread/Sourdough starter.md", "--json").json["state"]
    assert "absent" in ask("status", "no such note.md").out


def test_rebuild_gives_the_same_index(ask: Ask) -> None:
    """Everything derived comes again from the notes."""
    before, found = ask("status", "--json").json, ask("search", "sourdough", "--json").json
    done = ask("rebuild", "--embeddings", "--json")

    assert 0 == done.code
    assert before["vault"] == done.json["vault"]
    assert found["hits"] == ask("search", "sourdough", "--json").json["hits"]


def test_keys_are_made_listed_and_revoked(ask: Ask) -> None:
    """A key is printed when it is made and never again."""
    owner = ask("token", "show").out.strip()
    made = ask("token", "create", "agent", "--read-only", "--deny", "Diary/**", "--json").json
    listed = ask("token", "list").out

    assert owner.startswith("transom_")
    assert "agent" == made["name"]
    assert "reads; never Diary/**; no transcripts" in listed
    assert made["token"] not in listed
    assert owner not in listed
    assert 1 == ask("token", "create", "agent").code
    assert 0 == ask("token", "revoke", "agent").code
    assert ["owner"] == [key["name"] for key in ask("token", "list", "--json").json]
    assert 1 == ask("token", "revoke", "agent").code


def test_hostile_text_cannot_command_the_terminal(ask: Ask, used: Machine) -> None:
    """Control characters of a note are shown as blanks."""
    note = used.folder / "vault" / "evil.md"
    note.write_text("# Evil\n\nplughxyzzy \x1b]0;owned\x07 \x1b[2J end\n")
    try:
        assert 0 == ask("index").code
        out = ask("search", "plughxyzzy").out
    finally:
        note.unlink()

    assert "owned" in out
    assert "\x1b" not in out
    assert "\x07" not in out


def test_a_vault_that_is_gone_is_held_and_said(
    transom: Transom, flags: tuple[str, ...], vault: Path, tmp_path: Path
) -> None:
    """An unmounted disk fails the index run and deletes nothing."""
    notes = transom("index", *flags, "--json").json["vault"]["notes"]
    vault.rename(tmp_path / "away")
    vault.mkdir()
    done = transom("index", *flags)

    assert notes > 0
    assert 1 == done.code
    assert "left as it is" in done.err
    assert notes == transom("status", *flags, "--json").json["vault"]["notes"]


def test_a_vault_that_was_never_there_is_refused(transom: Transom, machine: Machine, tmp_path: Path) -> None:
    """A mistyped path is an error of each command, and nothing is made for it."""
    flags = ("--vault", tmp_path / "mistyped", "--data", machine.data)
    for arguments in (("search", "bread"), ("status",), ("token", "show"), ("serve", "--port", "0")):
        done = transom(*arguments, *flags)

        assert (1, "") == (done.code, done.out)
        assert "mistyped is not there" in done.err
    assert not machine.data.exists()


def test_a_missing_model_is_said_and_words_work(
    transom: Transom, flags: tuple[str, ...], tmp_path: Path
) -> None:
    """Without the model file the index run fails with its mend; search goes on by words."""
    missing = {"TRANSOM_EMBEDDING_MODEL": "all-MiniLM-L6-v2", "TRANSOM_MODELS_DIR": str(tmp_path / "models")}
    done = transom("index", *flags, **missing)
    found = transom("search", "sourdough", *flags, "--json", **missing).json

    assert 1 == done.code
    assert "transom model get all-MiniLM-L6-v2" in done.err
    assert found["hits"]
    assert {"signal": "semantic", "reason": "no_model"} in found["signals_missing"]


def test_a_bridge_that_does_not_answer_is_a_sentence() -> None:
    """A connection that nobody takes is no trace."""
    with pytest.raises(Unavailable, match="did not answer"):
        Remote("http://127.0.0.1:9", "key").status()
