"""`transom status`: what is indexed, what waits, and how the sources are."""

import click

from bridge.cli import show
from bridge.cli.call import Call, common
from bridge.cli.verbs import verbs


@click.command()
@click.argument("path", required=False)
@common()
def command(call: Call, path: str | None) -> None:
    """Show counts, coverage, queues and sources; for one note its state and why."""
    with verbs(call) as bridge:
        if path is None:
            call.show(bridge.status(), lambda answer: show.status(answer, bridge.url))
        else:
            call.show(bridge.status(call.in_vault(path)), show.note_status)
