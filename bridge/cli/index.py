"""`transom index`: bring the index up to date and exit."""

from contextlib import closing

import click

from bridge.cli import show
from bridge.cli.call import Call, common
from bridge.cli.verbs import verbs


@click.command()
@common()
def command(call: Call) -> None:
    """Bring the index up to date, embeddings included, and exit."""
    with verbs(call) as bridge:
        with closing(show.Progress()) as progress:
            bridge.index(progress)
        call.show(bridge.status(), lambda answer: show.status(answer, bridge.url))
