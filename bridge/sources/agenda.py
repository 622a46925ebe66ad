"""When to look where: turns bursts of touched names into the names due for a look."""

import time
from collections.abc import Collection, Mapping
from typing import Final

HELD_RETRY_S = 2.0
GONE_WAIT_S = 2.0
RESCAN_S = 600.0
"""The safety net under the system's events."""

WHOLE: Final = frozenset([""])
"""The whole vault."""


class Agenda:
    """What waits to be looked at while a folder is watched; it begins after a look at the whole."""

    def __init__(self) -> None:
        self._waiting: set[str] = set()
        self._waiting_since = 0.0
        self._folders: set[str] = set()
        self._second_looks: set[str] = set()
        self._looked_at_whole = time.monotonic()

    def next(self, touched: Mapping[str, bool], *, held: bool) -> Collection[str]:
        """Take a burst, empty after a quiet moment, and give what is due.

        `touched` says whether each name may still be there. Names that are gone wait for a
        quiet moment, in which a rename's other half comes or an emptied vault shows.
        """
        now = time.monotonic()
        since_whole = now - self._looked_at_whole
        if not touched and since_whole >= (HELD_RETRY_S if held else RESCAN_S):
            self._looked_at_whole = now
            return WHOLE
        if held:
            return ()
        if not touched:
            self._second_looks, self._folders = self._folders, set()
            return self._take(self._second_looks)
        if not self._waiting:
            self._waiting_since = now
        if any(touched.values()) or now - self._waiting_since >= GONE_WAIT_S:
            self._second_looks = set()
            return self._take(touched)
        self._waiting.update(touched)
        return ()

    def looked(self, folders: set[str]) -> None:
        """Note which names were folders: they get a second look once it is quiet.

        What came into a new folder before the system watched it was never told.
        """
        self._folders |= folders - self._second_looks

    def _take(self, names: Collection[str]) -> Collection[str]:
        due = self._waiting.union(names)
        self._waiting.clear()
        return due
