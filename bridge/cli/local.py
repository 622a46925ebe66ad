"""The verbs of a bridge opened for one command, when none runs on the data folder."""

import asyncio
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from bridge.api.rest.search import SearchFilter
from bridge.cli.verbs import Answer, Report
from bridge.model import Mode
from bridge.paths import note_path
from bridge.runtime import Bridge
from bridge.settings import Settings

T = TypeVar("T")

REPORT_S = 0.5


class Local:
    """A bridge of this process, on an event loop that turns only while a verb works."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._runner = asyncio.Runner()
        self._opened = Bridge.open(settings)

    def __enter__(self) -> Self:
        self._runner.__enter__()
        self._bridge = self._run(self._opened.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._run(self._opened.__aexit__(None, None, None))
        finally:
            self._runner.close()

    def search(self, query: str, *, limit: int, mode: Mode, filter: Mapping[str, Any]) -> Answer:
        asked = msgspec.convert(filter, SearchFilter).read()
        return self._answer(self._current(self._bridge.search(query, limit=limit, mode=mode, filter=asked)))

    def related(self, path: str, *, limit: int) -> Answer:
        return self._answer(self._current(self._bridge.related(path=note_path(path), limit=limit)))

    def status(self, path: str | None = None) -> Answer:
        return self._answer(
            self._bridge.status() if path is None else self._bridge.note_status(note_path(path))
        )

    def index(self, report: Report) -> None:
        self._run(self._reporting(self._bridge.index(), report))

    def rebuild(self, *, embeddings: bool, report: Report) -> None:
        self._run(self._reporting(self._rebuild(embeddings), report))

    def keys(self) -> Answer:
        return {"keys": self._answer(self._bridge.keys.list())}

    def create_key(self, key: Mapping[str, Any]) -> Answer:
        return {"name": key["name"], "token": self._run(self._bridge.keys.create(**key))}

    def revoke_key(self, name: str) -> Answer:
        self._run(self._bridge.keys.revoke(name))
        return {"name": name}

    async def _current(self, verb: Coroutine[Any, Any, T]) -> T:
        """Look at the vault first: nobody watched it since the last command."""
        await self._bridge.refresh()
        return await verb

    async def _rebuild(self, embeddings: bool) -> None:
        await self._bridge.rebuild(embeddings=embeddings)
        await self._bridge.index()

    async def _reporting(self, work: Coroutine[Any, Any, None], report: Report) -> None:
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait([task], timeout=REPORT_S))[0]:
                report(msgspec.to_builtins(await self._bridge.status()))
        finally:
            task.cancel()
        await task
        report(msgspec.to_builtins(await self._bridge.status()))

    def _answer(self, verb: Coroutine[Any, Any, Any]) -> Any:
        return msgspec.to_builtins(self._run(verb))

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)
