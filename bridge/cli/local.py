"""The verbs of a bridge opened for one command, when none runs on the data folder."""

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from bridge import log
from bridge.cli.verbs import Answer, Report, raise_trouble
from bridge.data import DataFolder
from bridge.model import Filter, Mode
from bridge.paths import note_path
from bridge.runtime import Bridge
from bridge.settings import Settings, data_dir

T = TypeVar("T")

REPORT_S = 0.5


class Local:
    """A bridge of this process, on an event loop that turns only while a verb works."""

    url = None

    def __init__(self, settings: Settings) -> None:
        log.configure(level=logging.ERROR)
        self._settings = settings
        self._runner = asyncio.Runner()
        self._opened: AbstractAsyncContextManager[Bridge] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._opened is not None:
                self._run(self._opened.__aexit__(None, None, None))
        finally:
            self._runner.close()

    @cached_property
    def _bridge(self) -> Bridge:
        opened = Bridge.open(self._settings)
        bridge = self._run(opened.__aenter__())
        self._opened = opened
        return bridge

    def search(self, query: str, *, limit: int, mode: Mode, filter: Filter) -> Answer:
        self._look()
        return self._answer(self._bridge.search(query, limit=limit, mode=mode, filter=filter))

    def related(self, path: str, *, limit: int) -> Answer:
        asked = note_path(path)
        self._look()
        return self._answer(self._bridge.related(path=asked, limit=limit))

    def status(self, path: str | None = None) -> Answer:
        return self._answer(
            self._bridge.status() if path is None else self._bridge.note_status(note_path(path))
        )

    def index(self, report: Report) -> None:
        self._run(self._reporting(self._bridge.index(), report))
        raise_trouble(self.status())

    def rebuild(self, *, embeddings: bool, report: Report) -> None:
        folder = DataFolder.hold(data_dir(self._settings))
        folder.remove_derived(embeddings=embeddings)
        folder.release()
        self.index(report)

    def keys(self) -> Answer:
        return {"keys": self._answer(self._bridge.keys.list())}

    def create_key(self, key: Mapping[str, Any]) -> Answer:
        return {"name": key["name"], "token": self._run(self._bridge.keys.create(**key))}

    def revoke_key(self, name: str) -> Answer:
        self._run(self._bridge.keys.revoke(name))
        return {"name": name}

    def _look(self) -> None:
        """Look at the vault first: nobody watched it since the last command."""
        self._run(self._bridge.refresh())

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
