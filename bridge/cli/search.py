"""`transom search`: hits."""

from datetime import datetime
from typing import get_args
from zoneinfo import ZoneInfo

import click

from bridge.cli import show
from bridge.cli.call import Call, common
from bridge.cli.verbs import verbs
from bridge.errors import InvalidRequest
from bridge.model import Filter, Kind, Mode
from bridge.times import from_rfc3339

MODES: tuple[str, ...] = get_args(Mode)
KINDS: tuple[str, ...] = get_args(Kind)
DATE = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M"])


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--mode", type=click.Choice(MODES), default="hybrid", show_default=True, help="Which signals.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 200),
    metavar="N",
    default=10,
    show_default=True,
    help="Most hits.",
)
@click.option("--path", metavar="GLOB", help="Only notes whose path matches, as Projects/**.")
@click.option("--tag", multiple=True, metavar="TAG", help="Only notes with this tag; may be given again.")
@click.option("--kind", type=click.Choice(KINDS), multiple=True, help="Only this kind; may be given again.")
@click.option("--after", type=DATE, metavar="DATE", help="Modified at that time or later, as 2026-11-30.")
@click.option("--before", type=DATE, metavar="DATE", help="Modified before that time.")
@common()
def command(
    call: Call,
    query: tuple[str, ...],
    mode: Mode,
    limit: int,
    path: str | None,
    tag: tuple[str, ...],
    kind: tuple[Kind, ...],
    after: datetime | None,
    before: datetime | None,
) -> None:
    """Find notes by their words and their meaning.

    Quotes hold words together, a minus leaves out, tag: and path: narrow; all else is words.
    """
    narrowed = Filter(
        path=path,
        tags=tag,
        kinds=kind,
        modified_after_ns=_instant_ns(call, after),
        modified_before_ns=_instant_ns(call, before),
    )
    with verbs(call) as bridge:
        call.show(bridge.search(" ".join(query), limit=limit, mode=mode, filter=narrowed), show.hits)


def _instant_ns(call: Call, moment: datetime | None) -> int | None:
    """A moment of the person's time zone."""
    if moment is None:
        return None
    zone = call.settings.server.timezone
    try:
        there = moment.replace(tzinfo=ZoneInfo(zone)) if zone else moment.astimezone()
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(f"{moment:%Y-%m-%d} is beyond the calendar.") from error
    return from_rfc3339(there.isoformat())
