"""`transom related`: the notes that belong to a note."""

import click

from bridge.cli import show
from bridge.cli.call import Call, common
from bridge.cli.verbs import verbs


@click.command()
@click.argument("path")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 200),
    metavar="N",
    default=10,
    show_default=True,
    help="Most notes.",
)
@common()
def command(call: Call, path: str, limit: int) -> None:
    """Show the notes that belong to a note, and why.

    PATH is that of the note in the vault, or of the file.
    """
    with verbs(call) as bridge:
        call.show(bridge.related(call.in_vault(path), limit=limit), show.related)
