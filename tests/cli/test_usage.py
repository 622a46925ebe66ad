"""What holds for every command: help, exit codes, one sentence for an error."""

import time
from pathlib import Path

import click
import pytest

from bridge import __version__
from bridge.cli import COMMANDS
from bridge.cli import transom as group
from tests.cli.conftest import Transom


def test_help_is_there_at_once(transom: Transom) -> None:
    """The list of commands comes without loading what they need."""
    began = time.perf_counter()
    done = transom("--help")
    took_s = time.perf_counter() - began

    assert 0 == done.code
    for name in COMMANDS:
        assert f"  {name} " in done.out
    assert took_s < 0.6


def test_the_version_is_told(transom: Transom) -> None:
    """One number says which Transom this is."""
    assert f"Transom {__version__}\n" == transom("--version").out


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_list_says_what_the_command_says(name: str) -> None:
    """The sentence in the list is the one that the command's own help begins with."""
    command = group.get_command(click.Context(group), name)

    assert command is not None
    assert command.help is not None
    assert COMMANDS[name] == " ".join(command.help.split("\n\n")[0].split())


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_takes_the_common_flags(name: str) -> None:
    """`--config`, `--vault` and `--data` are understood everywhere."""
    command = group.get_command(click.Context(group), name)
    leaves = list(command.commands.values()) if isinstance(command, click.Group) else [command]

    for leaf in leaves:
        assert leaf is not None
        options = {option for parameter in leaf.params for option in parameter.opts}
        assert {"--config", "--vault", "--data"} <= options


@pytest.mark.parametrize(
    "arguments",
    [
        ("serv",),
        ("search",),
        ("search", "x", "--mode", "magic", "--vault", "."),
        ("search", "x", "-n", "0", "--vault", "."),
        ("search", "x", "--after", "yesterday", "--vault", "."),
        ("status",),
        ("status", "--vault", ".", "--config", "absent.toml"),
        ("serve", "--vault", ".", "--port", "70000"),
        ("related", "../outside.md", "--vault", "."),
    ],
)
def test_wrong_usage_is_exit_code_2(transom: Transom, arguments: tuple[str, ...]) -> None:
    """A mistake in the call or the settings is told from work that failed, in a sentence."""
    done = transom(*arguments)

    assert 2 == done.code
    assert "Error: " in done.err
    assert "Traceback" not in done.err
    assert not done.out


def test_a_fault_of_ours_shows_its_trace_only_when_asked(transom: Transom, tmp_path: Path) -> None:
    """TRANSOM_DEBUG gives the report that helps to mend it."""
    broken = tmp_path / "broken.toml"
    broken.write_text("[server\n")

    assert "Traceback" not in transom("config", "show", "--config", broken).err
    assert "Traceback" in transom("config", "show", "--config", broken, TRANSOM_DEBUG="1").err
