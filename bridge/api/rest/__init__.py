"""Every verb of the API, in the order in which the reference lists them."""

from bridge.api.rest import events, keys, notes, rebuild, search, status
from bridge.api.verbs import Verb

VERBS: tuple[Verb, ...] = (
    status.health,
    status.status,
    search.search,
    search.search_get,
    search.related_get,
    search.related,
    search.pin,
    notes.notes,
    notes.note,
    notes.map_,
    notes.read,
    notes.links,
    notes.neighbors,
    notes.unresolved,
    notes.orphans,
    status.recent,
    status.changes,
    events.events,
    events.reconcile,
    keys.keys,
    keys.create_key,
    keys.revoke_key,
    rebuild.rebuild,
)
