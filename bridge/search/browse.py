"""Looking at notes without searching: one note, lists of them, a map, what changed lately."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from bridge.answers import Backlink, NoteMap, NoteStatus, NoteSummary, NoteView, RecentChange, ResolvedLink
from bridge.errors import InvalidRequest, NotFound
from bridge.model import Block, Filter, Heading, NotePath, Scope
from bridge.parse import parse
from bridge.paths import note_id
from bridge.search.visible import Visible, scope_matcher
from bridge.stores import changelog
from bridge.stores.database import Database
from bridge.times import rfc3339
from bridge.vault.reader import FileOnDisk

_SUMMARY = "SELECT path, title, kind, modified_ns, size, revision FROM notes"


def summary(row: Sequence[Any]) -> NoteSummary:
    """Make a summary of `(path, title, kind, modified_ns, size, revision)`."""
    path, title, kind, modified_ns, size, revision = row
    return NoteSummary(path, title, kind, rfc3339(modified_ns), size, revision)


def missing(path: str) -> NotFound:
    """Build the answer for a note that is absent or denied, the same for both."""
    return NotFound("There is no such note.", path=path)


async def view(db: Database, path: NotePath, file: FileOnDisk, sees: Callable[[str], bool]) -> NoteView:
    """Show a note as its bytes say it, with the index's word on where links lead."""
    note = await asyncio.to_thread(parse, path, file.content)
    resolved: dict[str, str | None] = dict(
        await db.rows(
            "SELECT target, resolved FROM links WHERE note_id = ? AND target != ''", (note_id(path),)
        )
    )
    backlinks = await db.rows(
        "SELECT n.path, n.title, l.line FROM links l JOIN notes n ON n.id = l.note_id "
        "WHERE l.resolved_id = ?1 AND l.note_id != ?1 ORDER BY n.path, l.line",
        (note_id(path),),
    )

    def target(text: str) -> str | None:
        found = resolved.get(text) if text else path
        return found if found and sees(found) else None

    return NoteView(
        path=path,
        title=note.title,
        kind=note.kind,
        content=file.content.decode("utf-8", "replace"),
        frontmatter=note.frontmatter,
        tags=note.tags,
        aliases=note.aliases,
        headings=note.headings,
        links=tuple(
            ResolvedLink(
                target=link.target,
                path=target(link.target),
                heading=link.heading,
                block=link.block,
                alias=link.alias,
                embed=link.kind == "embed",
                line=link.line,
            )
            for link in note.links
        ),
        backlinks=tuple(Backlink(*row) for row in backlinks if sees(row[0])),
        revision=file.revision,
        modified=rfc3339(file.modified_ns),
        size=len(file.content),
    )


class Browse:
    """Reads lists and maps from the index, within a scope."""

    def __init__(self, db: Database, state: Database, visible: Visible) -> None:
        self._db = db
        self._state = state
        self._visible = visible

    async def notes(
        self,
        *,
        folder: str | None,
        tag: str | None,
        modified_after_ns: int | None,
        limit: int,
        cursor: str | None,
        scope: Scope,
    ) -> tuple[tuple[NoteSummary, ...], str | None]:
        """List notes in path order, one page; the cursor of the last page is None."""
        only = Filter(tags=(tag,) if tag else (), modified_after_ns=modified_after_ns)
        allowed = await self._visible.notes(scope, only)
        prefix = folder.strip("/") + "/" if folder and folder.strip("/") else ""
        rows = await self._db.rows(
            f"{_SUMMARY} WHERE path > ? AND substr(path, 1, ?) = ? "
            "AND (? IS NULL OR id IN (SELECT value FROM json_each(?))) ORDER BY path LIMIT ?",
            (cursor or "", len(prefix), prefix, *[_ids(allowed)] * 2, limit + 1),
        )
        page = tuple(summary(row) for row in rows[:limit])
        return page, page[-1].path if len(rows) > limit else None

    async def map(self, path: NotePath, scope: Scope) -> NoteMap:
        """Say what a note is made of; raises `NotFound`."""
        rows = await self._db.rows(
            "SELECT path, title, headings, blocks, frontmatter, size, lines, revision FROM notes WHERE id = ?",
            (note_id(path),),
        )
        if not rows or not scope_matcher(scope)(path):
            raise missing(path)
        path_, title, headings, blocks, frontmatter, size, lines, revision = rows[0]
        return NoteMap(
            path=path_,
            title=title,
            headings=msgspec.json.decode(headings, type=tuple[Heading, ...]),
            blocks=msgspec.json.decode(blocks, type=tuple[Block, ...]),
            frontmatter_keys=tuple(json.loads(frontmatter)),
            size=size,
            lines=lines,
            revision=revision,
        )

    async def indexed(self, path: NotePath) -> NoteStatus | None:
        """Say what the index has of a note; None when it has nothing."""
        rows = await self._db.rows(
            "SELECT revision, issues, (SELECT count(*) FROM chunks WHERE note_id = ?1), "
            "(SELECT count(*) FROM chunks WHERE note_id = ?1 AND embed_hash IS NOT NULL), "
            "(SELECT count(*) FROM pending WHERE note_id = ?1) FROM notes WHERE id = ?1",
            (note_id(path),),
        )
        if not rows:
            return None
        revision, issues, chunks, wanted, pending = rows[0]
        return NoteStatus(
            path, "indexed", None, chunks, wanted - pending, revision, tuple(json.loads(issues)), pending
        )

    async def recent(
        self, *, since_ns: int | None, until_ns: int | None, limit: int, scope: Scope
    ) -> tuple[RecentChange, ...]:
        """List changes, newest first: the change log, and files' own times for what it does not know."""
        since, until = since_ns or 0, until_ns if until_ns is not None else 2**63 - 1
        if since > until:
            raise InvalidRequest("`since` lies after `until`.", since=rfc3339(since), until=rfc3339(until))
        sees = scope_matcher(scope)
        logged = await changelog.between(self._state, since, until)
        changes = [
            (
                entry.at_ns,
                RecentChange(
                    path=entry.path,
                    title=entry.title,
                    kind=entry.kind,
                    change=entry.change,
                    at=rfc3339(entry.at_ns),
                    origin=entry.origin,
                    old_path=entry.old_path if entry.old_path and sees(entry.old_path) else None,
                ),
            )
            for entry in logged
            if sees(entry.path)
        ]
        known = {entry.path for entry in logged}
        rows = await self._db.rows(
            f"{_SUMMARY} WHERE modified_ns >= ? AND modified_ns < ? ORDER BY modified_ns DESC LIMIT ?",
            (since, until, limit + len(known) if scope.sees_all else -1),
        )
        for path, title, kind, modified_ns, _, _ in rows:
            if path not in known and sees(path):
                change = RecentChange(path, title, kind, "modified", rfc3339(modified_ns), "files")
                changes.append((modified_ns, change))
        changes.sort(key=lambda change: -change[0])
        return tuple(change for _, change in changes[:limit])


def _ids(allowed: frozenset[Any] | None) -> str | None:
    return None if allowed is None else json.dumps([*allowed])
