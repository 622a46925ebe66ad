"""How the bridge is, and what happened lately."""

from typing import Annotated, Any, Literal

import msgspec

from bridge.answers import FeedEntry, NoteStatus, RecentChange, Status
from bridge.api.verbs import Ask, Call, Moment, instant_ns, verb
from bridge.paths import note_path
from bridge.search.visible import scope_matcher

Count = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=120)]


class Health(msgspec.Struct, frozen=True):
    status: Literal["ok"]
    version: str


class StatusQuery(Ask, frozen=True):
    path: str | None = None


class RecentQuery(Ask, frozen=True):
    since: Moment | None = None
    until: Moment | None = None
    limit: Count = 50


class Recent(msgspec.Struct, frozen=True):
    changes: tuple[RecentChange, ...]


class ChangesQuery(Ask, frozen=True):
    since: int | None = None
    wait_s: Seconds = 0


class Changes(msgspec.Struct, frozen=True):
    """Each change has `seq` and `type` (`indexed`, `removed`, `progress`, `livesync`, `conflict`) beside its fields.

    `missed` says that changes before these are no longer known.
    """

    seq: int
    changes: tuple[dict[str, Any], ...]
    missed: bool = False


@verb("GET", "/v1/health", public=True)
async def health(call: Call) -> Health:
    """Say that the bridge is there."""
    return Health("ok", call.bridge.version)


@verb("GET", "/v1/status")
async def status(call: Call, ask: StatusQuery) -> Status | NoteStatus:
    """Show counts, coverage and sources; with `path` the state of one note, and why."""
    if ask.path is None:
        return await call.bridge.status(scope=call.scope)
    return await call.bridge.note_status(note_path(ask.path), scope=call.scope)


@verb("GET", "/v1/recent")
async def recent(call: Call, ask: RecentQuery) -> Recent:
    """List what changed lately, newest first."""
    changes = await call.bridge.recent(
        since_ns=instant_ns("since", ask.since),
        until_ns=instant_ns("until", ask.until),
        limit=ask.limit,
        scope=call.scope,
    )
    return Recent(changes)


@verb("GET", "/v1/changes")
async def changes(call: Call, ask: ChangesQuery) -> Changes:
    """Wait for the next changes after `since`; without it give the current `seq` at once."""
    feed = call.bridge.feed
    if ask.since is None:
        return Changes(feed.seq, ())
    matches = scope_matcher(call.scope)

    def sees(entry: FeedEntry) -> bool:
        return call.scope.sees_all or "path" not in entry.data or matches(entry.data["path"])

    news = await feed.wait(ask.since, ask.wait_s, sees)
    return Changes(news.seq, tuple(_wire(entry, call) for entry in news.entries), news.missed)


def _wire(entry: FeedEntry, call: Call) -> dict[str, Any]:
    """Counts over the whole vault are told to those alone who see all of it."""
    told = entry.data if call.scope.sees_all or "path" in entry.data else {}
    return {"seq": entry.seq, "type": entry.type, **told}
