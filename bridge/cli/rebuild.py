"""`transom rebuild`: the derived index from nothing."""

from contextlib import closing

import click

from bridge.cli import show
from bridge.cli.call import Call, common
from bridge.cli.verbs import verbs


@click.command()
@click.option(
    "--embeddings", is_flag=True, help="Throw the cached embeddings away too: everything is embedded again."
)
@common()
def command(call: Call, embeddings: bool) -> None:
    """Throw the derived index away and build it again.

    Notes, keys, journal and conflicts are untouched.
    """
    with verbs(call) as bridge:
        with closing(show.Progress()) as progress:
            bridge.rebuild(embeddings=embeddings, report=progress)
        call.show(bridge.status(), lambda answer: show.status(answer, bridge.url))
