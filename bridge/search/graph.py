"""Reading the web of links: a note's own, its neighbours, what leads nowhere, what stands alone.

`notes` are the notes that the asker may see, None for all: a link to any other looks as if
nothing had that name, and no way leads through one.
"""

import json
import math
from collections.abc import Callable, Collection

from bridge.answers import GraphEdge, GraphLink, GraphLinks, GraphNode, Neighbors, NoteSummary, Unresolved
from bridge.model import NoteId, NotePath
from bridge.paths import note_id, title_of
from bridge.search.browse import missing, summary
from bridge.search.likeness import Direction, Tie
from bridge.search.visible import NoteSet
from bridge.stores.database import Database

_MOST_STEPS = 5000
_MOST_NODES = 500
_MOST_SOURCES = 20


class Graph:
    """Answers from the links that are stored."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def links(self, path: NotePath, sees: Callable[[str], bool]) -> GraphLinks:
        """List a note's links, backlinks and unresolved links in their order; raises `NotFound`.

        `sees` tells for a path whether the asker may see it.
        """
        id_ = note_id(path)
        await self._must_exist(path, seen=sees(path))
        rows = await self._db.rows(
            "SELECT target, resolved, title, l.kind, line, ambiguous FROM links l "
            "LEFT JOIN notes n ON n.id = resolved_id "
            "WHERE note_id = ? AND resolved_id IS NOT note_id ORDER BY ordinal",
            (id_,),
        )
        out, unresolved = [], []
        for target, resolved, title, kind, line, ambiguous in rows:
            if resolved is None or not sees(resolved):
                unresolved.append(GraphLink(target, None, None, kind, line))
            else:
                others = tuple(other for other in json.loads(ambiguous) if sees(other))
                out.append(GraphLink(target, resolved, title or title_of(resolved), kind, line, others))
        rows = await self._db.rows(
            "SELECT target, path, title, l.kind, line FROM links l JOIN notes n ON n.id = note_id "
            "WHERE resolved_id = ?1 AND note_id != ?1 ORDER BY path, ordinal",
            (id_,),
        )
        into = tuple(GraphLink(*row) for row in rows if sees(row[1]))
        return GraphLinks(path, tuple(out), into, tuple(unresolved))

    async def neighbors(self, path: NotePath, depth: int, notes: NoteSet) -> Neighbors:
        """Walk up to `depth` links away, both ways; the note itself is 0 hops away. Raises `NotFound`."""
        id_ = note_id(path)
        await self._must_exist(path, seen=notes is None or id_ in notes)
        reached = await self._reach([id_], depth, notes, _MOST_NODES)
        nodes = await self._db.rows(
            "SELECT id, path, title FROM notes WHERE id IN (SELECT value FROM json_each(?))",
            (_json(reached),),
        )
        path_of = {node[0]: node[1] for node in nodes}
        edges = await self._db.rows(
            "SELECT DISTINCT note_id, resolved_id, kind FROM links WHERE note_id != resolved_id "
            "AND note_id IN (SELECT value FROM json_each(?1)) "
            "AND resolved_id IN (SELECT value FROM json_each(?1))",
            (_json(path_of),),
        )
        found = (GraphNode(path_, title, reached[one]) for one, path_, title in nodes)
        return Neighbors(
            tuple(sorted(found, key=lambda node: (node.hops, node.path))),
            tuple(GraphEdge(path_of[source], path_of[to], kind) for source, to, kind in edges),
        )

    async def expand(self, seeds: Collection[NoteId], *, hops: int, notes: NoteSet) -> dict[NoteId, int]:
        """Give the notes around the seeds with their hops from the nearest one, nearest first."""
        reached = await self._reach(seeds, hops, notes, _MOST_NODES)
        return {id_: away for id_, away in reached.items() if away}

    async def ties(self, id_: NoteId, notes: NoteSet) -> dict[NoteId, Tie]:
        """Give the notes that are linked with this one or with a neighbour of it.

        A shared neighbour weighs 1 / log2(2 + its other neighbours), after Adamic and Adar 2003.
        """
        around = await self._linked([id_], notes)
        out = {to for source, to in around if source == id_}
        into = {source for source, to in around if to == id_}
        beyond: dict[NoteId, set[NoteId]] = {neighbor: set() for neighbor in out | into}
        for ends in await self._linked(beyond, notes):
            for neighbor, other in (ends, ends[::-1]):
                if neighbor in beyond and other != id_:
                    beyond[neighbor].add(other)
        through: dict[NoteId, dict[NoteId, float]] = {other: {} for other in beyond}
        for neighbor, others in beyond.items():
            for other in others:
                through.setdefault(other, {})[neighbor] = 1 / math.log2(2 + len(others))
        return {other: Tie(_direction(other, out, into), shared) for other, shared in through.items()}

    async def unresolved(self, limit: int, notes: NoteSet) -> tuple[Unresolved, ...]:
        """List targets that nothing has the name of, the most wanted first."""
        rows = await self._db.rows(
            f"""
            SELECT min(target), count(*) AS wanted, json_group_array(DISTINCT path)
            FROM links JOIN notes ON notes.id = note_id
            WHERE target != '' AND {_seen("note_id")}
                AND (resolved IS NULL OR resolved_id IS NOT NULL AND NOT {_seen("resolved_id")})
            GROUP BY target_key, lower(target) ORDER BY wanted DESC, target_key LIMIT :limit
            """,
            {"allowed": _json(notes), "limit": limit},
        )
        return tuple(
            Unresolved(target, count, tuple(sorted(json.loads(sources))[:_MOST_SOURCES]))
            for target, count, sources in rows
        )

    async def orphans(self, limit: int, notes: NoteSet) -> tuple[NoteSummary, ...]:
        """List notes that no other links to and that link to no other."""
        rows = await self._db.rows(
            f"""
            SELECT path, title, kind, modified_ns, size, revision FROM notes n WHERE {_seen("id")}
                AND NOT EXISTS (SELECT 1 FROM links WHERE note_id = n.id
                    AND resolved_id != n.id AND {_seen("resolved_id")})
                AND NOT EXISTS (SELECT 1 FROM links WHERE resolved_id = n.id
                    AND note_id != n.id AND {_seen("note_id")})
            ORDER BY path LIMIT :limit
            """,
            {"allowed": _json(notes), "limit": limit},
        )
        return tuple(summary(row) for row in rows)

    async def _reach(
        self, seeds: Collection[NoteId], hops: int, notes: NoteSet, limit: int
    ) -> dict[NoteId, int]:
        """Walk links both ways, nearest notes first, each once, at most `limit` of them."""
        rows = await self._db.rows(
            f"""
            WITH RECURSIVE reached (id, hops) AS (
                SELECT value, 0 FROM json_each(:seeds)
                UNION
                SELECT resolved_id, hops + 1 FROM reached JOIN links ON note_id = id
                WHERE hops < :hops AND resolved_id IS NOT NULL AND {_seen("resolved_id")}
                UNION
                SELECT note_id, hops + 1 FROM reached JOIN links ON resolved_id = id
                WHERE hops < :hops AND {_seen("note_id")}
                ORDER BY 2 LIMIT :steps
            )
            SELECT id, min(hops) AS nearest FROM reached GROUP BY id ORDER BY nearest, id LIMIT :limit
            """,
            {
                "seeds": _json(seeds),
                "hops": hops,
                "allowed": _json(notes),
                "steps": _MOST_STEPS,
                "limit": limit,
            },
        )
        return {NoteId(id_): away for id_, away in rows}

    async def _linked(self, ids: Collection[NoteId], notes: NoteSet) -> set[tuple[NoteId, NoteId]]:
        """List the links from and to these notes."""
        rows = await self._db.rows(
            """
            SELECT note_id, resolved_id FROM links WHERE note_id IN (SELECT value FROM json_each(:ids))
                AND resolved_id IS NOT NULL AND resolved_id != note_id
            UNION
            SELECT note_id, resolved_id FROM links WHERE resolved_id IN (SELECT value FROM json_each(:ids))
                AND resolved_id != note_id
            LIMIT :most
            """,
            {"ids": _json(ids), "most": _MOST_STEPS},
        )
        return {(source, to) for source, to in rows if notes is None or (source in notes and to in notes)}

    async def _must_exist(self, path: NotePath, *, seen: bool) -> None:
        if not seen or not await self._db.rows("SELECT 1 FROM notes WHERE id = ?", (note_id(path),)):
            raise missing(path)


def _direction(note: NoteId, out: Collection[NoteId], into: Collection[NoteId]) -> Direction | None:
    if note in out:
        return "both" if note in into else "out"
    return "in" if note in into else None


def _seen(column: str) -> str:
    """Write the condition that a note is among the `:allowed`."""
    return f"(:allowed IS NULL OR {column} IN (SELECT value FROM json_each(:allowed)))"


def _json(ids: Collection[int] | None) -> str | None:
    return None if ids is None else json.dumps([*ids])
