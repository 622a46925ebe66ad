"""The folder as a source: walks it, watches it, and yields what is new to the index.

Stamps (time and size) are compared first, bytes by SHA-256 second. The events of the system
only say where to look; what is true is what is on disk then, so an editor that saves by
rename, a moved folder or a burst of a thousand files need no rules of their own.
"""

import asyncio
import os
import time
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import structlog

from bridge.answers import FilesStatus
from bridge.globs import glob_matcher
from bridge.model import Deleted, Failed, NoteChange, NotePath, Revision, Stamp, Touched, Upserted
from bridge.sources.agenda import HELD_RETRY_S, RESCAN_S, WHOLE, Agenda
from bridge.sources.survey import UNREAD, Candidate, Survey, holds_files, is_passing, targets_of
from bridge.sources.watch import Watcher, cannot_watch, explain
from bridge.vault.reader import revision_of

log = structlog.get_logger(__name__)

Known: TypeAlias = Callable[[Collection[NotePath] | None], Awaitable[dict[NotePath, Stamp]]]
"""Gives the stamps of these paths and of all that lies under them; of everything for None.

Attachments and failures are among them, with an empty revision. The dictionary is ours to change.
"""
OriginOf: TypeAlias = Callable[[NotePath, Revision | None], str]
"""Tells who wrote a revision, or deleted a path (None): the bridge's own writer, or `files`."""

BATCH_CHANGES = 256
BATCH_BYTES = 8_000_000
POLL_S = 3.0
POLL_SHARE = 20
"""Polling takes at most one part in this many of the time."""
TRUST_NS = 2_000_000_000
"""Age from which a stamp is believed."""


class FilesSource:
    """Changes of one folder; ask for the next batch only when the last one was stored."""

    def __init__(
        self,
        root: Path,
        known: Known,
        *,
        include: Sequence[str] = ("**",),
        exclude: Sequence[str] = (),
        origin_of: OriginOf = lambda _path, _revision: "files",
    ) -> None:
        self._folder = root
        self._known = known
        self._origin_of = origin_of
        self._everything = "**" in include and not exclude
        self._include, self._exclude = tuple(include), tuple(exclude)
        self._included = glob_matcher(include)
        self._excluded = glob_matcher(exclude)
        self._status = FilesStatus("scanning")

    def status(self) -> FilesStatus:
        return self._status

    def begin_anew(self) -> None:
        """Say that all is to be looked at again, before the next `watch` comes to it."""
        self._status = FilesStatus("scanning")

    def covers(self, path: str) -> bool:
        """Whether the settings let a note into the index."""
        return self._included(path) and not self._excluded(path)

    def rule(self, path: str) -> str:
        """Name the setting that leaves a note out."""
        for pattern in self._exclude:
            if glob_matcher((pattern,))(path):
                return f"Left out by {pattern!r} in the setting vault.exclude."
        return f"None of the setting vault.include covers it: {', '.join(self._include)}."

    async def scan(self) -> AsyncIterator[list[NoteChange]]:
        """Look through the folder once; when it is gone or empty, yield nothing and be held."""
        self._status = FilesStatus("scanning")
        root = await asyncio.to_thread(os.path.realpath, self._folder)
        async for batch in self._look(root, WHOLE):
            yield batch

    async def watch(self) -> AsyncIterator[list[NoteChange]]:
        """Look through the folder, then yield what changes, for as long as it is asked to."""
        self._status = FilesStatus("scanning")
        while True:
            root = await asyncio.to_thread(os.path.realpath, self._folder)
            try:
                reason = await asyncio.to_thread(cannot_watch, root)
                watcher = None if reason else await Watcher.open(root)
            except FileNotFoundError as error:
                self._hold(_missing(root, error))
                await asyncio.sleep(HELD_RETRY_S)
                continue
            except OSError as error:
                reason, watcher = explain(error), None
            if watcher:
                async with watcher:
                    async for batch in self._follow(root, watcher):
                        yield batch
                reason = watcher.fault
            if reason:
                log.warning("files.polling", reason=reason)
                async for batch in self._poll(root, FilesStatus("polling", reason)):
                    yield batch

    async def _poll(self, root: str, polling: FilesStatus) -> AsyncIterator[list[NoteChange]]:
        """Look through the folder again and again, until it is time to try to watch it."""
        began = time.monotonic()
        while time.monotonic() - began < RESCAN_S:
            looked = time.monotonic()
            async for batch in self._look(root, WHOLE, then=polling):
                yield batch
            await asyncio.sleep(max(POLL_S, POLL_SHARE * (time.monotonic() - looked)))

    async def _follow(self, root: str, watcher: Watcher) -> AsyncIterator[list[NoteChange]]:
        """Follow the events until the folder is another one than is watched, or events were lost."""
        agenda = Agenda()
        due: Collection[str] = WHOLE
        while True:
            if due:
                folders: set[str] = set()
                async for batch in self._look(root, due, folders, then=FilesStatus("watching")):
                    yield batch
                if folders and not await watcher.has_room_for(folders):
                    return
                agenda.looked(folders)
            try:
                touched = await watcher.touched()
            except RuntimeError as error:
                log.warning("files.events_lost", error=str(error))
                await asyncio.sleep(HELD_RETRY_S)
                return
            if not touched and not await watcher.is_current():
                return
            heard = {name: there for name, there in touched.items() if not is_passing(name)}
            due = agenda.next(heard, held=self._status.state == "held") if heard or not touched else ()

    async def _look(
        self,
        root: str,
        touched: Collection[str],
        folders: set[str] | None = None,
        *,
        then: FilesStatus | None = None,
    ) -> AsyncIterator[list[NoteChange]]:
        """Compare touched names with the disk; collect in `folders` those that are folders."""
        try:
            targets = await asyncio.to_thread(targets_of, root, touched)
            paths = [NotePath(unicodedata.normalize("NFC", target)) for target in targets]
            known = await self._known(None if targets == [""] else paths)
            survey = Survey(root, known, None if self._everything else self.covers, time.time_ns() - TRUST_NS)
            await asyncio.to_thread(survey.look, targets)
            gone = survey.gone()
            if gone and not await asyncio.to_thread(holds_files, root):
                await asyncio.to_thread(os.stat, root)  # raises where it is not even there
                self._hold(f"The vault folder {root} is empty, while the index knows {len(gone)} files of it")
                return
        except OSError as error:
            self._hold(_missing(root, error))
            return
        changes = self._changes(root, survey, gone)
        while batch := await asyncio.to_thread(_next_batch, changes):
            yield batch
        if folders is not None:
            folders |= survey.folders
        if then:
            self._status = then

    def _changes(
        self, root: str, survey: Survey, gone: dict[NotePath, Stamp]
    ) -> Iterator[Sequence[NoteChange]]:
        """Read what must be read, newest first; both halves of a rename come as one item."""
        yield from ([change] for change in survey.changes)
        vanished: dict[Revision, list[NotePath]] = {}
        for path, stamp in gone.items():
            vanished.setdefault(stamp.revision, []).append(path)
        for candidate in survey.candidates:
            change, revision = self._read(root, candidate)
            if change is None:
                continue
            old = vanished.get(revision) if candidate.known is None else None
            yield [self._deleted(old.pop()), change] if old else [change]
        yield from ([self._deleted(path)] for paths in vanished.values() for path in paths)

    def _deleted(self, path: NotePath) -> Deleted:
        return Deleted(path, self._origin_of(path, None))

    def _read(self, root: str, candidate: Candidate) -> tuple[NoteChange | None, Revision]:
        path, known = candidate.path, candidate.known
        stamp = (candidate.modified_ns, candidate.size)
        try:
            with open(os.path.join(root, candidate.real), "rb") as file:
                content = file.read()
        except FileNotFoundError:
            return None, UNREAD
        except OSError:
            return None if known == Stamp(0, 0, UNREAD) else Failed(path, "unreadable"), UNREAD
        revision = revision_of(content)
        if known is None or known.revision != revision:
            return Upserted(path, content, candidate.modified_ns, self._origin_of(path, revision)), revision
        if stamp != (known.modified_ns, known.size):
            return Touched(path, *stamp), revision
        return None, revision

    def _hold(self, fault: str) -> None:
        reason = (
            f"{fault}; the index was left as it is. Mount or restore the folder and the work goes on by itself, "
            "or run `transom rebuild` if this is what you meant."
        )
        if self._status.state != "held":
            log.warning("files.held", reason=reason)
        self._status = FilesStatus("held", reason)


def _next_batch(changes: Iterator[Sequence[NoteChange]]) -> list[NoteChange]:
    batch: list[NoteChange] = []
    size = 0
    for item in changes:
        batch += item
        size += sum(len(change.content) for change in item if isinstance(change, Upserted))
        if len(batch) >= BATCH_CHANGES or size >= BATCH_BYTES:
            break
    return batch


def _missing(root: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"The vault folder {root} is not there"
    return f"The vault folder {root} cannot be read ({error.strerror})"
