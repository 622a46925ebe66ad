"""Background work by name: begun, begun anew after an error, and ended with its owner."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

import structlog

from bridge.errors import TransomError

log = structlog.get_logger(__name__)

AGAIN_S = 10.0

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Background:
    """The tasks of one owner, who closes it."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def run(self, name: str, work: Work) -> None:
        """Begin work; what runs under the same name is cancelled, and over before this begins."""
        before = self._tasks.get(name)
        if before:
            before.cancel()
        self._tasks[name] = asyncio.create_task(_kept_up(name, work, before), name=name)

    def runs(self, name: str) -> bool:
        """Whether such work was begun."""
        return name in self._tasks

    async def close(self) -> None:
        """Cancel everything and wait for its end."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


async def _kept_up(name: str, work: Work, before: asyncio.Task[None] | None) -> None:
    """Do the work; after an error (a full disk, say) it begins again a little later."""
    if before:
        await asyncio.wait([before])
    while True:
        try:
            await work()
            return
        except TransomError as error:
            log.warning("background.paused", work=name, reason=error.message, key=error.error_key)
        except Exception:
            log.exception("background.failed", work=name)
        await asyncio.sleep(AGAIN_S)
