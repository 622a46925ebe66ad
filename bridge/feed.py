"""The change feed: what happened lately, kept in memory for those who poll for it."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from bridge.answers import FeedEntry, FeedType

KEPT = 4096


@dataclass(frozen=True, slots=True)
class News:
    """Entries after a `seq`, oldest first; `missed` says that older ones are no longer known."""

    seq: int
    entries: tuple[FeedEntry, ...]
    missed: bool = False


class Feed:
    """A ring of numbered entries.

    Numbers begin at the start's time in microseconds, so they grow over restarts too.
    """

    def __init__(self) -> None:
        self._first = self.seq = time.time_ns() // 1000
        self._entries: deque[FeedEntry] = deque(maxlen=KEPT)
        self._news = asyncio.Event()
        self._closed = False

    def publish(self, type: FeedType, /, **data: Any) -> None:
        """Add an entry and wake those who wait."""
        self.seq += 1
        self._entries.append(FeedEntry(self.seq, type, data))
        self._wake()

    async def wait(self, since: int, wait_s: float, sees: Callable[[FeedEntry], bool]) -> News:
        """Return the seen entries after `since`, waiting for the first one at most `wait_s`.

        A `since` that this feed does not know (too old, or of another start) gives all that is known.
        """
        oldest = self._entries[0].seq - 1 if self._entries else self._first
        missed = not oldest <= since <= self.seq
        read = oldest if missed else since
        loop = asyncio.get_running_loop()
        ends = loop.time() + wait_s
        while True:
            news = self._news
            entries = tuple(entry for entry in self._after(read) if sees(entry))
            read = self.seq
            if entries or missed or self._closed or loop.time() >= ends:
                return News(read, entries, missed)
            with suppress(TimeoutError):
                async with asyncio.timeout_at(ends):
                    await news.wait()

    def close(self) -> None:
        """Send everybody home; later calls answer at once."""
        self._closed = True
        self._wake()

    def _after(self, seq: int) -> list[FeedEntry]:
        fresh = list(islice(reversed(self._entries), self.seq - seq))
        return fresh[::-1]

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
