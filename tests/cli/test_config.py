"""`transom config show`: each setting, its value and where it came from."""

from pathlib import Path

from bridge.settings import SETTINGS
from tests.cli.conftest import Transom


def test_each_setting_is_shown_with_its_origin(transom: Transom, tmp_path: Path) -> None:
    """File, environment, flag and default can be told apart, for people and for programs."""
    file = tmp_path / "t.toml"
    file.write_text('[server]\nport = 9\n[livesync]\nurl = "http://couch"\n')
    rows = transom("config", "show", "--config", file, "--vault", "Notes", "--json").json
    found = {row["setting"]: (row["value"], row["origin"]) for row in rows}

    assert {setting.name for setting in SETTINGS} == found.keys()
    assert (9, str(file)) == found["server.port"]
    assert ("none", "TRANSOM_EMBEDDING_MODEL") == found["embedding.model"]
    assert (str(tmp_path / "here" / "Notes"), "command line") == found["vault.path"]
    assert ("pull", "default") == found["livesync.mode"]
    assert found["data.path"][0].startswith(
        str(tmp_path / "home" / ".local" / "share" / "transom" / "Notes-")
    )
    assert "server.port" in transom("config", "show", "--config", file).out


def test_secrets_are_masked(transom: Transom, tmp_path: Path) -> None:
    """A secret is shown as set or not set, never as itself."""
    secret = tmp_path / "pw"
    secret.write_text("hunter2\n")
    for flags in ((), ("--json",)):
        done = transom(
            "config",
            "show",
            *flags,
            TRANSOM_LIVESYNC_PASSWORD_FILE=str(secret),
            TRANSOM_LIVESYNC_PASSPHRASE="hunter2",
        )
        assert "hunter2" not in done.out + done.err
        assert 3 == done.out.count("********")
