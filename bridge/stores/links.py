"""Links as rows of `index.sqlite`, resolved to notes and attachments as Obsidian does.

Writing happens inside a writer's transaction: `replace_links` stores what the texts say,
then one `resolve_links` at the end of the batch finds what they point to.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import aiosqlite

from bridge.model import Link, NoteId
from bridge.paths import fold, name_key
from bridge.stores.rows import insert

MOST_ALTERNATIVES = 20


class Candidate(NamedTuple):
    """A file that carries a name: a note, or an attachment, whose `note_id` is None."""

    path: str
    note_id: int | None


class Names(NamedTuple):
    """Who carries the names looked for: files by `name_key`, notes by folded alias."""

    files: Mapping[str, Sequence[Candidate]]
    aliases: Mapping[str, Sequence[Candidate]]


class Resolution(NamedTuple):
    """What a link points to; all None and empty when nothing carries that name."""

    path: str | None = None
    note_id: int | None = None
    alternatives: tuple[str, ...] = ()
    """Other files that the target could mean, the likeliest first."""


UNRESOLVED = Resolution()


def link_keys(path: str, aliases: Iterable[str] = ()) -> set[str]:
    """Name the keys under which links may point to this file."""
    return {name_key(path), *map(name_key, aliases)}


def alias_key(target: str) -> str:
    """Fold a target as an alias, whole."""
    return fold(target.removesuffix(".md"))


def resolve(target: str, source: str, names: Names) -> Resolution:
    """Find what `target`, written in the note `source`, points to.

    The order is Obsidian's: the full path (from the source's folder with `./` or `../`, else
    from the root), else any path that ends so: in the source's folder or below it, then the
    shortest. What starts with `/` is a full path or nothing. A name that no file has may be
    an alias.
    """
    files, aliased = names.files.get(name_key(target), ()), names.aliases.get(alias_key(target), ())
    if not files and not aliased:
        return UNRESOLVED
    folder = _segments(source)[:-1]
    written = _segments(target)
    wanted = _joined([], written)
    relative = wanted != written
    full = _joined(folder, written) if relative else wanted
    named = [(_segments(file.path), file) for file in files]
    found = [(parts, file) for parts, file in named if parts[-len(wanted) :] == wanted]
    if target.startswith("/"):
        found = [(parts, file) for parts, file in found if parts == full]
    elif not found:
        found = [(_segments(file.path), file) for file in aliased]
    if not found:
        return UNRESOLVED

    def distance(entry: tuple[list[str], Candidate]) -> tuple[bool, bool, int, str]:
        parts, (path, _) = entry
        return parts != full, parts[: len(folder)] != folder, len(path), path

    found.sort(key=distance)
    best = found[0][1]
    clear = (relative or len(wanted) > 1) and found[0][0] == full
    others = () if clear else tuple(file.path for _, file in found[1 : MOST_ALTERNATIVES + 1])
    return Resolution(best.path, best.note_id, others)


async def replace_links(tx: aiosqlite.Connection, links: Mapping[NoteId, Sequence[Link]]) -> None:
    """Store the links of these notes instead of their former ones, not yet resolved."""
    ids = json.dumps([*links])
    await tx.execute("DELETE FROM links WHERE note_id IN (SELECT value FROM json_each(?))", (ids,))
    rows = (
        (
            id_,
            n,
            link.target,
            name_key(link.target),
            link.kind,
            link.line,
            link.heading,
            link.block,
            link.alias,
        )
        for id_, of_note in links.items()
        for n, link in enumerate(of_note)
    )
    columns = "(note_id, ordinal, target, target_key, kind, line, heading, block, alias)"
    await insert(tx, f"INSERT INTO links {columns}", 9, rows)


async def resolve_links(
    tx: aiosqlite.Connection, *, notes: Collection[NoteId] = (), keys: Collection[str] = ()
) -> int:
    """Resolve the links of `notes`, and all links to `keys`, the folded names that came or went.

    Answers how many links changed their end.
    """
    links = await tx.execute_fetchall(
        f"""
        {_LINK} WHERE links.note_id IN (SELECT value FROM json_each(?1))
        UNION
        {_LINK} WHERE links.target_key IN (SELECT value FROM json_each(?2))
        """,
        (json.dumps([*notes]), json.dumps([*map(name_key, keys)], ensure_ascii=False)),
    )
    wanted = {
        name
        for _, _, _, target, key, *_ in links
        for name in (key, key.removesuffix(".canvas"), alias_key(target))
    }
    carriers = await tx.execute_fetchall(
        """
        SELECT names.kind, folded, path, note_id FROM names JOIN notes ON notes.id = note_id
        WHERE folded IN (SELECT value FROM json_each(?1))
        UNION ALL
        SELECT 'file', key, path, NULL FROM files WHERE key IN (SELECT value FROM json_each(?1))
        """,
        (json.dumps([*wanted], ensure_ascii=False),),
    )
    changed = await asyncio.to_thread(_changes, [*links], [*carriers])
    await tx.executemany(
        "UPDATE links SET resolved = ?, resolved_id = ?, ambiguous = ? WHERE note_id = ? AND ordinal = ?",
        changed,
    )
    return len(changed)


_LINK = """
    SELECT links.note_id, ordinal, notes.path, target, target_key, resolved, resolved_id, ambiguous
    FROM links JOIN notes ON notes.id = links.note_id
"""


def _changes(links: Iterable[Any], carriers: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Resolve rows of `_LINK`; answer the new values of those that change."""
    files: dict[str, list[Candidate]] = defaultdict(list)
    aliases: dict[str, list[Candidate]] = defaultdict(list)
    for kind, folded, path, note_id in carriers:
        if kind == "alias":
            aliases[folded].append(Candidate(path, note_id))
        else:
            files[name_key(path)].append(Candidate(path, note_id))
    names = Names(files, aliases)
    known: dict[tuple[str, str], Resolution] = {}
    changed = []
    for note_id, ordinal, source, target, _, *before in links:
        if not target:
            found = Resolution(source, note_id)
        else:
            place = source.rpartition("/")[0], target
            if place not in known:
                known[place] = resolve(target, source, names)
            found = known[place]
        after = [found.path, found.note_id, json.dumps(found.alternatives, ensure_ascii=False)]
        if after != before:
            changed.append((*after, note_id, ordinal))
    return changed


def _segments(path: str) -> list[str]:
    """Fold a path for comparison, segment by segment, without a trailing `.md`."""
    *folders, _ = path.strip("/").split("/")
    return [*map(fold, folders), name_key(path)]


def _joined(folder: list[str], written: list[str]) -> list[str]:
    """Walk from a folder along the segments of a relative path."""
    path = [*folder]
    for part in written:
        if part == "..":
            del path[-1:]
        elif part != ".":
            path.append(part)
    return path
