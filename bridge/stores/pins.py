"""What the person said of related notes: pinned to the top of a note's list, or hidden there."""

from typing import Literal, TypeAlias

from bridge.model import NotePath
from bridge.stores.database import Database

Pin: TypeAlias = Literal["pinned", "hidden"]


class Pins:
    """The pins of `state.sqlite`; each holds for one note's list, and follows both notes' names."""

    def __init__(self, state: Database) -> None:
        self._state = state

    async def of(self, path: NotePath) -> dict[NotePath, Pin]:
        """Give what was said of other notes in this one's list."""
        rows = await self._state.rows("SELECT other, state FROM pins WHERE path = ? ORDER BY other", (path,))
        return {NotePath(other): state for other, state in rows}

    async def set(self, path: NotePath, other: NotePath, state: Pin | None) -> None:
        """Pin or hide `other` in the list of `path`; None takes either back."""
        async with self._state.write() as tx:
            if state is None:
                await tx.execute("DELETE FROM pins WHERE path = ? AND other = ?", (path, other))
            else:
                await tx.execute("INSERT OR REPLACE INTO pins VALUES (?, ?, ?)", (path, other, state))

    async def moved(self, old: NotePath, new: NotePath) -> None:
        """Follow a rename, on both sides."""
        async with self._state.write() as tx:
            await tx.execute("UPDATE OR REPLACE pins SET path = ? WHERE path = ?", (new, old))
            await tx.execute("UPDATE OR REPLACE pins SET other = ? WHERE other = ?", (new, old))
