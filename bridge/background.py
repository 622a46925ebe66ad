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
        self._troubles: dict[str, str] = {}

    def run(self, name: str, work: Work) -> None:
        """Begin work; what runs under the same name is cancelled, and over before this begins."""
        before = self._tasks.get(name)
        if before:
            before.cancel()
        self._tasks[name] = asyncio.create_task(self._kept_up(name, work, before), name=name)

    def runs(self, name: str) -> bool:
        """Whether such work was begun."""
        return name in self._tasks

    def trouble(self, name: str) -> str | None:
        """Say why this work stands still until it is begun anew; None while it goes on."""
        return self._troubles.get(name)

    async def close(self) -> None:
        """Cancel everything and wait for its end."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _kept_up(self, name: str, work: Work, before: asyncio.Task[None] | None) -> None:
        """Do the work; after an error (a full disk, say) it begins again a little later."""
        if before:
            await asyncio.wait([before])
        while True:
            self._troubles.pop(name, None)
            try:
                await work()
                return
            except TransomError as error:
                self._troubles[name] = error.message
                log.warning("background.paused", work=name, reason=error.message, key=error.error_key)
            except Exception as error:
                self._troubles[name] = f"It stopped ({type(error).__name__}); the log tells more."
                log.exception("background.failed", work=name)
            await asyncio.sleep(AGAIN_S)
