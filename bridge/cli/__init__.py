"""The command line: one module a command, imported when it is called; they print, never compute."""

import os
import sys
from importlib import import_module
from typing import NoReturn

import click

from bridge import __version__
from bridge.errors import TransomError, UsageError

COMMANDS = {
    "serve": "Serve the vault: search, related notes and the page over HTTP.",
    "index": "Bring the index up to date, embeddings included, and exit.",
    "search": "Find notes by their words and their meaning.",
    "related": "Show the notes that belong to a note, and why.",
    "status": "Show counts, coverage, queues and sources; for one note its state and why.",
    "rebuild": "Throw the derived index away and build it again.",
    "model": "List, get and choose embedding models.",
    "token": "Show, create, list and revoke keys.",
    "config": "Show each setting, its value and where it came from.",
    "doctor": "Check this installation and name each fault with its mend.",
    "service": "Run the bridge for good with systemd.",
}


class _Lazy(click.Group):
    """A group that knows its commands' names and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"bridge.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- click's
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, name="transom", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="Transom", message="%(prog)s %(version)s")
def transom() -> None:
    """Turn a folder of Markdown notes into search and related notes."""


def main() -> NoReturn:
    """Run a command; say an error in one sentence and choose the exit code.

    0 done, 1 the work failed, 2 wrong usage or settings. `TRANSOM_DEBUG` shows the traceback.
    """
    try:
        code = transom.main(prog_name="transom", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        code = 1
    except Exception as error:
        if os.environ.get("TRANSOM_DEBUG"):
            raise
        code = 2 if isinstance(error, UsageError) else 1
        click.echo(f"Error: {_sentence(error)}", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def _sentence(error: Exception) -> str:
    if isinstance(error, TransomError):
        return error.message
    return (
        f"This should not happen ({type(error).__name__}: {error}); your notes are untouched. "
        "Run it again with TRANSOM_DEBUG=1 for a report that helps to mend it."
    )
