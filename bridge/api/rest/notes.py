"""Notes: one, several, listed, or as a map; and their links."""

from typing import Annotated

import msgspec
from aiohttp import web
from aiohttp.hdrs import ACCEPT, CACHE_CONTROL, ETAG, IF_NONE_MATCH, VARY

from bridge.answers import GraphLinks, Neighbors, NoteMap, NoteSummary, NoteView, Unresolved
from bridge.api.envelope import answer
from bridge.api.verbs import Ask, Call, Moment, instant_ns, verb
from bridge.errors import NotFound, TooLarge
from bridge.paths import note_path

READ_LIMIT = 32 << 20
"""Bytes of notes in one answer of `read`."""

PageSize = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Depth = Annotated[int, msgspec.Meta(ge=1, le=5)]
Paths = Annotated[tuple[str, ...], msgspec.Meta(max_length=100)]


class NotesQuery(Ask, frozen=True):
    folder: str | None = None
    tag: str | None = None
    modified_after: Moment | None = None
    limit: PageSize = 100
    cursor: str | None = None


class PathQuery(Ask, frozen=True):
    path: str


class NeighborsQuery(Ask, frozen=True):
    path: str
    depth: Depth = 2


class ListQuery(Ask, frozen=True):
    limit: PageSize = 100


class ReadRequest(Ask, frozen=True):
    paths: Paths


class NoteList(msgspec.Struct, frozen=True):
    """In order of paths; `cursor` leads to the next page, null on the last."""

    notes: tuple[NoteSummary, ...]
    cursor: str | None


class ReadAnswer(msgspec.Struct, frozen=True):
    notes: tuple[NoteView, ...]
    missing: tuple[str, ...]


class UnresolvedList(msgspec.Struct, frozen=True):
    unresolved: tuple[Unresolved, ...]


class Orphans(msgspec.Struct, frozen=True):
    orphans: tuple[NoteSummary, ...]


@verb("GET", "/v1/notes")
async def notes(call: Call, ask: NotesQuery) -> NoteList:
    """List notes of a folder or tag, page by page."""
    page, cursor = await call.bridge.notes(
        folder=ask.folder,
        tag=ask.tag,
        modified_after_ns=instant_ns("modified_after", ask.modified_after),
        limit=ask.limit,
        cursor=ask.cursor,
        scope=call.scope,
    )
    return NoteList(page, cursor)


@verb("GET", "/v1/notes/{path}", answers=NoteView)
async def note(call: Call) -> web.Response:
    """Read a note; with `Accept: text/markdown` as the bytes of its file."""
    if "text/markdown" in call.request.headers.get(ACCEPT, ""):
        return await _bytes(call)
    view = await call.bridge.note(call.path, scope=call.scope)
    return answer(view, headers={ETAG: f'"{view.revision}"', VARY: ACCEPT})


@verb("POST", "/v1/read")
async def read(call: Call, ask: ReadRequest) -> ReadAnswer:
    """Read several notes at once; what is absent or denied is listed as missing."""
    found: list[NoteView] = []
    missing: list[str] = []
    for path in [note_path(path) for path in ask.paths]:
        try:
            found.append(await call.bridge.note(path, scope=call.scope))
        except NotFound:
            missing.append(path)
        if sum(view.size for view in found) > READ_LIMIT:
            raise TooLarge(
                "Together these notes are too large for one answer; ask for fewer.", limit_bytes=READ_LIMIT
            )
    return ReadAnswer(tuple(found), tuple(missing))


@verb("GET", "/v1/map")
async def map_(call: Call, ask: PathQuery) -> NoteMap:
    """Show what a note is made of: headings, block ids, frontmatter keys, sizes."""
    return await call.bridge.note_map(note_path(ask.path), scope=call.scope)


@verb("GET", "/v1/graph/links")
async def links(call: Call, ask: PathQuery) -> GraphLinks:
    """List a note's links, backlinks and unresolved links."""
    return await call.bridge.graph_links(note_path(ask.path), scope=call.scope)


@verb("GET", "/v1/graph/neighbors")
async def neighbors(call: Call, ask: NeighborsQuery) -> Neighbors:
    """Walk a note's links both ways."""
    return await call.bridge.neighbors(note_path(ask.path), ask.depth, scope=call.scope)


@verb("GET", "/v1/graph/unresolved")
async def unresolved(call: Call, ask: ListQuery) -> UnresolvedList:
    """List link targets that no note answers to, the most wanted first."""
    return UnresolvedList(await call.bridge.unresolved(ask.limit, scope=call.scope))


@verb("GET", "/v1/graph/orphans")
async def orphans(call: Call, ask: ListQuery) -> Orphans:
    """List notes that no link leads to or from."""
    return Orphans(await call.bridge.orphans(ask.limit, scope=call.scope))


async def _bytes(call: Call) -> web.Response:
    file = await call.bridge.file(call.path, scope=call.scope)
    headers = {ETAG: f'"{file.revision}"', VARY: ACCEPT, CACHE_CONTROL: "no-cache"}
    if file.revision in call.request.headers.get(IF_NONE_MATCH, ""):
        return web.Response(status=304, headers=headers)
    return web.Response(body=file.content, headers=headers, content_type="text/markdown", charset="utf-8")
