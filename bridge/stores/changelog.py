"""What happened to the notes, and when: the durable change log behind `recent`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bridge.model import Kind, NotePath, Revision
from bridge.stores.database import Database

ChangeKind: TypeAlias = Literal["created", "modified", "deleted", "renamed"]


@dataclass(frozen=True, slots=True)
class LoggedChange:
    at_ns: int
    path: NotePath
    title: str
    kind: Kind
    change: ChangeKind
    origin: str
    revision: Revision | None = None
    old_path: NotePath | None = None


async def append(state: Database, changes: Iterable[LoggedChange]) -> None:
    """Add changes in their order."""
    rows = [
        (
            entry.at_ns,
            entry.path,
            entry.title,
            entry.kind,
            entry.change,
            entry.old_path,
            entry.origin,
            entry.revision,
        )
        for entry in changes
    ]
    if rows:
        async with state.write() as tx:
            await tx.executemany(
                "INSERT INTO change_log (at_ns, path, title, kind, change, old_path, origin, revision) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )


async def between(state: Database, since_ns: int, until_ns: int) -> list[LoggedChange]:
    """List the changes of a time span, newest first; `until_ns` is exclusive."""
    rows = await state.rows(
        "SELECT at_ns, path, title, kind, change, origin, revision, old_path FROM change_log "
        "WHERE at_ns >= ? AND at_ns < ? ORDER BY id DESC",
        (since_ns, until_ns),
    )
    return [LoggedChange(*row) for row in rows]
