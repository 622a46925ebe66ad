"""`transom doctor`: each fault of an installation has a name and a mend."""

import socket
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done, Serve, Transom


def finding(done: Done, check: str) -> dict[str, Any]:
    """The worst finding of a check."""
    found: list[dict[str, Any]] = [one for one in done.json if one["check"] == check]
    return max(found, key=lambda one: ["ok", "advice", "fault"].index(one["state"]))


@pytest.fixture
def flags(flags: tuple[str, ...]) -> tuple[str, ...]:
    return (*flags, "--json")


def test_a_sound_installation_has_no_fault(transom: Transom, flags: tuple[str, ...], tmp_path: Path) -> None:
    """Everything is looked at, nothing is changed, the exit code is 0."""
    done = transom("doctor", *flags, TRANSOM_SERVER_PORT="0")

    assert 0 == done.code
    assert {"ok"} == {one["state"] for one in done.json}
    assert {"python", "sqlite", "settings", "model", "memory", "vault", "disk", "data", "port"} <= {
        one["check"] for one in done.json
    }
    assert not (tmp_path / "data").exists()
    assert "ok     python" in transom("doctor", *flags[:-1]).out


def test_wrong_settings_are_a_finding(transom: Transom, tmp_path: Path) -> None:
    """A doctor that cannot read the settings says so like any other fault."""
    broken = tmp_path / "t.toml"
    broken.write_text("[server]\nprot = 1\n")
    done = transom("doctor", "--config", broken, "--json")

    assert 1 == done.code
    assert "Did you mean server.port?" in finding(done, "settings")["message"]


def test_a_vault_that_is_not_there(transom: Transom, tmp_path: Path) -> None:
    """The mend is to mount or to name it."""
    done = transom("doctor", "--vault", tmp_path / "gone", "--data", tmp_path / "data", "--json")

    assert 1 == done.code
    assert "fault" == finding(done, "vault")["state"]
    assert finding(done, "vault")["mend"]


def test_data_inside_the_vault(transom: Transom, vault: Path) -> None:
    """What is derived must not be synced with the notes."""
    done = transom("doctor", "--vault", vault, "--data", vault / ".transom", "--json")

    assert "inside the vault" in finding(done, "vault")["message"]


def test_a_missing_and_a_cut_model(transom: Transom, flags: tuple[str, ...], tmp_path: Path) -> None:
    """The mend is the command that gets it."""
    models = tmp_path / "models"
    models.mkdir()
    chosen = {"TRANSOM_EMBEDDING_MODEL": "all-MiniLM-L6-v2", "TRANSOM_MODELS_DIR": str(models)}
    missing = transom("doctor", *flags, **chosen)
    (models / "all-MiniLM-L6-v2.gguf").write_bytes(b"GGUF and no more")
    cut = transom("doctor", *flags, **chosen)

    for done in (missing, cut):
        assert 1 == done.code
        assert "transom model get all-MiniLM-L6-v2" in finding(done, "model")["message"]


def test_a_port_in_use(transom: Transom, flags: tuple[str, ...]) -> None:
    """It is told from a free one."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = transom("doctor", *flags, TRANSOM_SERVER_PORT=str(taken.getsockname()[1]))

    assert "fault" == finding(done, "port")["state"]


def test_a_running_bridge_is_no_fault(transom: Transom, serve: Serve, flags: tuple[str, ...]) -> None:
    """Its port and its hold on the data folder are as they should be."""
    serving = serve()
    done = transom("doctor", *flags)

    assert 0 == done.code
    assert serving.url in finding(done, "data")["message"]


def test_newer_and_damaged_databases(transom: Transom, flags: tuple[str, ...], tmp_path: Path) -> None:
    """A newer file asks for an update, a damaged derived one for a rebuild."""
    assert 0 == transom("index", *flags).code
    state = sqlite3.connect(tmp_path / "data" / "state.sqlite")
    state.execute("PRAGMA user_version = 999")
    state.close()
    for suffix in ("-wal", "-shm"):
        (tmp_path / "data" / f"index.sqlite{suffix}").unlink(missing_ok=True)
    (tmp_path / "data" / "index.sqlite").write_bytes(b"no database at all" * 1000)
    done = transom("doctor", *flags)
    messages = [one["message"] for one in done.json if one["state"] == "fault"]

    assert 1 == done.code
    assert any("newer version" in message for message in messages)
    assert any("index.sqlite is damaged" in message for message in messages)


def test_a_key_that_others_can_read(transom: Transom, flags: tuple[str, ...], tmp_path: Path) -> None:
    """The first key is the owner's alone."""
    assert 0 == transom("token", "show", *flags).code
    (tmp_path / "data" / "token").chmod(0o644)
    done = transom("doctor", *flags)

    assert f"chmod 600 {tmp_path / 'data' / 'token'}" == finding(done, "key")["mend"]


def test_livesync_is_noticed(transom: Transom, flags: tuple[str, ...], vault: Path) -> None:
    """A vault that LiveSync brings gets the advice to follow it directly."""
    (vault / ".obsidian" / "plugins" / "obsidian-livesync").mkdir(parents=True)
    done = transom("doctor", *flags, TRANSOM_SERVER_PORT="0")

    assert 0 == done.code
    assert "advice" == finding(done, "livesync")["state"]
