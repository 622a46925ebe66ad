"""`transom service install`: a unit that systemd understands."""

import configparser
from pathlib import Path

from tests.cli.conftest import Transom


def test_the_unit_starts_this_vault_with_these_settings(transom: Transom, tmp_path: Path) -> None:
    """Paths are absolute, special signs are those of systemd.service(5), limits are set."""
    vault = tmp_path / 'My $otes 100% "mine"'
    vault.mkdir()
    file = tmp_path / "t.toml"
    file.write_text("")
    done = transom("service", "install", "--vault", vault, "--config", file, "--print")
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(done.out)
    service = unit["Service"]

    assert (
        f'-m bridge serve --vault "{tmp_path}/My $$otes 100%% \\"mine\\"" --config {file}'
        in service["ExecStart"]
    )
    assert service["ExecStart"].startswith("/")
    assert ("on-failure", "2", "yes") == (
        service["Restart"],
        service["RestartPreventExitStatus"],
        service["NoNewPrivileges"],
    )
    assert "MemoryMax" in service


def test_installing_writes_one_file_and_says_what_to_run(transom: Transom, tmp_path: Path) -> None:
    """The person is told the next commands, and which settings the service would not see."""
    done = transom("service", "install", "--vault", tmp_path, "--name", "notes")
    written = tmp_path / "home" / ".config" / "systemd" / "user" / "notes.service"

    assert written.is_file()
    for words in (str(written), "enable --now notes", "enable-linger", "TRANSOM_EMBEDDING_MODEL"):
        assert words in done.out
