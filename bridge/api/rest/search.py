"""Search, and notes that belong together."""

from typing import Annotated, Literal

import msgspec

from bridge.answers import RelatedAnswer, SearchAnswer
from bridge.api.verbs import Ask, Call, Limit, Moment, instant_ns, verb
from bridge.errors import InvalidRequest
from bridge.model import Filter, Kind, Mode
from bridge.paths import note_path

Deadline = Annotated[int, msgspec.Meta(ge=0, le=600_000)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class SearchFilter(Ask, frozen=True):
    """`path` a glob; `tags` all of them, a parent matches its children; after inclusive, before exclusive."""

    path: str | None = None
    tags: Annotated[tuple[str, ...], msgspec.Meta(max_length=100)] | None = None
    kind: Kind | tuple[Kind, ...] | None = None
    modified_after: Moment | None = None
    modified_before: Moment | None = None

    def read(self) -> Filter:
        kinds = (self.kind,) if isinstance(self.kind, str) else self.kind or ()
        return Filter(
            path=self.path,
            tags=self.tags or (),
            kinds=kinds,
            modified_after_ns=instant_ns("filter.modified_after", self.modified_after),
            modified_before_ns=instant_ns("filter.modified_before", self.modified_before),
        )


class SearchRequest(Ask, frozen=True):
    query: str
    limit: Limit = 10
    mode: Mode = "hybrid"
    filter: SearchFilter | None = None
    deadline_ms: Deadline | None = None


class SearchQuery(Ask, frozen=True):
    q: str = ""
    limit: Limit = 10
    mode: Mode = "hybrid"


class RelatedQuery(Ask, frozen=True):
    path: str
    limit: Limit = 10


class RelatedRequest(Ask, frozen=True):
    """Either `path` or `text`."""

    path: str | None = None
    text: str | None = None
    limit: Limit = 10
    min_score: Share | None = None
    exclude_linked: bool = False
    exclude_same_folder: bool = False


class Pin(Ask, frozen=True):
    """What the person said of a related note; `state` null takes it back."""

    path: str
    other: str
    state: Literal["pinned", "hidden"] | None


@verb("POST", "/v1/search")
async def search(call: Call, ask: SearchRequest) -> SearchAnswer:
    """Find notes by words, by meaning and by their links."""
    return await call.bridge.search(
        ask.query,
        limit=ask.limit,
        mode=ask.mode,
        filter=ask.filter.read() if ask.filter else Filter(),
        deadline_ms=ask.deadline_ms,
        scope=call.scope,
    )


@verb("GET", "/v1/search")
async def search_get(call: Call, ask: SearchQuery) -> SearchAnswer:
    """Find notes, asked by address alone."""
    return await call.bridge.search(ask.q, limit=ask.limit, mode=ask.mode, scope=call.scope)


@verb("GET", "/v1/related")
async def related_get(call: Call, ask: RelatedQuery) -> RelatedAnswer:
    """List the notes that belong to a note, and why."""
    return await call.bridge.related(path=note_path(ask.path), limit=ask.limit, scope=call.scope)


@verb("POST", "/v1/related")
async def related(call: Call, ask: RelatedRequest) -> RelatedAnswer:
    """List the notes that belong to a note or to a text, and why."""
    if (ask.path is None) == (ask.text is None):
        raise InvalidRequest("Give either `path` or `text`.", path=ask.path)
    return await call.bridge.related(
        path=None if ask.path is None else note_path(ask.path),
        text=ask.text,
        limit=ask.limit,
        min_score=ask.min_score,
        exclude_linked=ask.exclude_linked,
        exclude_same_folder=ask.exclude_same_folder,
        scope=call.scope,
    )


@verb("POST", "/v1/related/pins")
async def pin(call: Call, ask: Pin) -> Pin:
    """Pin a related note to the top of a note's list, hide it there, or take that back."""
    path, other = note_path(ask.path), note_path(ask.other)
    call.may_write(path, other)
    await call.bridge.pin(path, other, ask.state, scope=call.scope)
    return ask
