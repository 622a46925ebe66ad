"""Which notes a query may see: the key's scope and the query's filter, turned into note ids."""

import json
from collections.abc import Callable
from typing import Any

from bridge.globs import glob_matcher
from bridge.model import Filter, NoteId, Scope
from bridge.paths import fold, is_transcript
from bridge.stores.database import Database

NoteSet = frozenset[NoteId] | None
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

    async def notes(self, scope: Scope, only: Filter | None = None) -> NoteSet:
        """Return the ids of the notes that `scope` may see and `only` lets through."""
        in_scope = await self._in_scope(scope)
        if only is None or only == Filter():
            return in_scope
        filtered = await self._filtered(only)
        return filtered if in_scope is None else filtered & in_scope

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

    async def _filtered(self, only: Filter) -> frozenset[NoteId]:
        sql = ["SELECT id, path FROM notes n WHERE 1"]
        params: list[Any] = []
        if only.kinds:
            sql.append("AND kind IN (SELECT value FROM json_each(?))")
            params.append(json.dumps(only.kinds))
        if only.modified_after_ns is not None:
            sql.append("AND modified_ns >= ?")
            params.append(only.modified_after_ns)
        if only.modified_before_ns is not None:
            sql.append("AND modified_ns < ?")
            params.append(only.modified_before_ns)
        for tag in only.tags:
            folded = fold(tag.lstrip("#"))
            sql.append(
                "AND EXISTS (SELECT 1 FROM tags t WHERE t.note_id = n.id "
                "AND (t.folded = ? OR t.folded >= ? AND t.folded < ?))"
            )
            params += [folded, folded + "/", folded + chr(ord("/") + 1)]
        rows = await self._db.rows(" ".join(sql), params)
        if only.path is None:
            return frozenset(NoteId(id_) for id_, _ in rows)
        matches = glob_matcher((only.path,))
        return frozenset(NoteId(id_) for id_, path in rows if matches(path))
