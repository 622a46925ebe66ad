"""Which notes a query may see: the key's scope and the query's filters, turned into note ids."""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from bridge.globs import glob_matcher
from bridge.model import Filter, Kind, NoteId, ParsedQuery, Scope
from bridge.paths import fold, is_transcript
from bridge.stores.database import Database

NoteSet: TypeAlias = frozenset[NoteId] | None
"""None means every note."""


def scope_matcher(scope: Scope) -> Callable[[str], bool]:
    """Tell for a path whether a key may see it: allowed by a glob (or none given) and denied by none."""
    allowed = glob_matcher(scope.allow or ("**",))
    denied = glob_matcher(scope.deny)

    def sees(path: str) -> bool:
        if is_transcript(path):
            return scope.transcripts
        return allowed(path) and not denied(path)

    return sees


class Visible:
    """Resolves scopes and filters; the sets of scopes are kept until the index changes."""

    def __init__(self, db: Database, generation: Callable[[], int]) -> None:
        self._db = db
        self._generation = generation
        self._scopes: dict[Scope, tuple[int, frozenset[NoteId]]] = {}

    async def notes(self, scope: Scope, only: Filter = Filter(), query: ParsedQuery | None = None) -> NoteSet:
        """Return the ids of the notes that `scope` sees and that filter and query let through."""
        allowed = await self._in_scope(scope)
        if only != Filter():
            paths = () if only.path is None else (only.path,)
            found = await self._matching(
                only.tags, paths, only.kinds, only.modified_after_ns, only.modified_before_ns
            )
            allowed = found if allowed is None else allowed & found
        if query and query.only:
            found = await self._matching(query.only.tags, query.only.paths, query.only.kinds)
            allowed = found if allowed is None else allowed & found
        if query and query.never:
            if allowed is None:
                allowed = await self._matching()
            for tag in query.never.tags:
                allowed -= await self._matching((tag,))
            if query.never.paths:
                allowed -= await self._matching(paths=query.never.paths)
            if query.never.kinds:
                allowed -= await self._matching(kinds=query.never.kinds)
        return allowed

    async def _in_scope(self, scope: Scope) -> NoteSet:
        if scope.sees_all:
            return None
        generation = self._generation()
        cached = self._scopes.get(scope)
        if cached and cached[0] == generation:
            return cached[1]
        sees = scope_matcher(scope)
        rows = await self._db.rows("SELECT id, path FROM notes")
        ids = frozenset(NoteId(id_) for id_, path in rows if sees(path))
        self._scopes[scope] = (generation, ids)
        return ids

    async def _matching(
        self,
        tags: Sequence[str] = (),
        paths: Sequence[str] = (),
        kinds: Sequence[Kind] = (),
        after_ns: int | None = None,
        before_ns: int | None = None,
    ) -> frozenset[NoteId]:
        """Find the notes with all tags (a parent matches its children), any path, any kind, in a time span."""
        sql = ["SELECT id, path FROM notes n WHERE 1"]
        params: list[Any] = []
        if kinds:
            sql.append("AND kind IN (SELECT value FROM json_each(?))")
            params.append(json.dumps(kinds))
        if after_ns is not None:
            sql.append("AND modified_ns >= ?")
            params.append(after_ns)
        if before_ns is not None:
            sql.append("AND modified_ns < ?")
            params.append(before_ns)
        for tag in tags:
            folded = fold(tag.lstrip("#"))
            sql.append("AND id IN (SELECT note_id FROM tags WHERE folded = ? OR folded >= ? AND folded < ?)")
            params += [folded, folded + "/", folded + chr(ord("/") + 1)]
        rows = await self._db.rows(" ".join(sql), params)
        if not paths:
            return frozenset(NoteId(id_) for id_, _ in rows)
        matches = glob_matcher(paths)
        return frozenset(NoteId(id_) for id_, path in rows if matches(path))
