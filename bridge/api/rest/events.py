"""What Obsidian's plugin posts."""

from typing import Annotated, Any

import msgspec

from bridge.api.verbs import Ask, Call, verb
from bridge.paths import note_path
from bridge.search.visible import scope_matcher
from bridge.sources.events import Event
from bridge.sources.reconcile import EventResult, Listed, ReconcileAnswer

BODY_LIMIT = 16 << 20
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Events(Ask, frozen=True, forbid_unknown_fields=False):
    """Of one device; `livesync` says that Self-hosted LiveSync brings its files."""

    device: Name
    events: tuple[Event, ...]
    livesync: bool = False


class EventResults(msgspec.Struct, frozen=True):
    results: tuple[EventResult, ...]


class Reconcile(Ask, frozen=True, forbid_unknown_fields=False):
    """One slice of the notes that a device has; `last` closes the session."""

    device: Name
    session: Name
    notes: tuple[Listed, ...]
    last: bool = False
    livesync: bool = False
    vault_settings: dict[str, Any] | None = None


@verb("POST", "/v1/events", body_limit=BODY_LIMIT)
async def events(call: Call, ask: Events) -> EventResults:
    """Bring what happened on a device into the folder or, with LiveSync, into the index."""
    paths = [path for event in ask.events for path in (event.path, event.old_path) if path is not None]
    call.may_write(*map(note_path, paths))
    return EventResults(await call.bridge.events.post(ask.device, ask.events, livesync=ask.livesync))


@verb("POST", "/v1/reconcile", body_limit=BODY_LIMIT)
async def reconcile(call: Call, ask: Reconcile) -> ReconcileAnswer:
    """Compare what a device has with what is here, slice by slice."""
    call.may_write(*(note_path(item.path) for item in ask.notes))
    return await call.bridge.events.reconcile(
        ask.device,
        ask.session,
        ask.notes,
        last=ask.last,
        livesync=ask.livesync,
        sees=scope_matcher(call.scope),
    )
