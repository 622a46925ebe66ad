"""What a device's plugin posts: events as they happen, and reconciliation after a pause.

The folder is the truth. An event says what its device did; it is written only onto the revision
that the device started from, and an event that comes twice finds its work done.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from bridge.errors import Clash, InvalidRequest, Refused, RevisionMismatch, UsageError
from bridge.feed import Feed
from bridge.model import NotePath, Revision
from bridge.paths import is_hidden, is_note, note_path
from bridge.sources.files import FilesSource
from bridge.sources.here import Apply, Here
from bridge.sources.reconcile import (
    EventResult,
    EventState,
    Listed,
    Modified,
    ReconcileAnswer,
    Reconciler,
    modified_ns,
)
from bridge.stores.database import Database
from bridge.stores.devices import Devices
from bridge.vault.reader import FileOnDisk, VaultReader, revision_of
from bridge.vault.writer import ABSENT, VaultWriter


class Event(msgspec.Struct, frozen=True):
    """One thing that happened on a device.

    `revision` is that of the new bytes, `base` the last one that device and bridge both knew.
    """

    type: Literal["upsert", "delete", "rename"]
    path: str
    old_path: str | None = None
    revision: str | None = None
    base: str | None = None
    content: str | None = None
    modified: Modified | None = None


@dataclass(frozen=True, slots=True)
class _Change:
    """An event, read."""

    path: NotePath
    old_path: NotePath
    revision: Revision | None
    base: Revision | None
    content: bytes | None
    modified_ns: int | None
    origin: str
    livesync: bool

    def result(self, state: EventState, revision: Revision | None, reason: str | None = None) -> EventResult:
        return EventResult(self.path, state, revision, reason)


class EventsSource:
    """Applies what devices post, one post at a time.

    Posts with `livesync` reach the index alone: the mirror will bring the files.
    """

    def __init__(
        self,
        *,
        index: Database,
        state: Database,
        reader: VaultReader,
        writer: VaultWriter,
        files: FilesSource,
        apply: Apply,
        feed: Feed,
        pull_only: bool,
    ) -> None:
        self.devices = Devices(state)
        self._here = Here(index, reader, files, apply)
        self._writer = writer
        self._feed = feed
        self._pull_only = pull_only
        self._reconciler = Reconciler(self._here, self.devices, self._delete_unnamed)
        self._one_at_a_time = asyncio.Lock()

    async def post(self, device: str, events: Sequence[Event], *, livesync: bool) -> tuple[EventResult, ...]:
        """Apply events in their order."""
        changes = [_read(event, device, livesync=livesync) for event in events]
        self._here.check()
        async with self._one_at_a_time:
            turn = await self.devices.turn(device, livesync=livesync)
            results = [
                await self._one(event.type, change) for event, change in zip(events, changes, strict=True)
            ]
            common: dict[NotePath, Revision | None] = {}
            for change, result in zip(changes, results, strict=True):
                if result.done:
                    common |= {change.old_path: None, change.path: result.revision}
            await self.devices.acknowledge(device, turn, common)
        return tuple(results)

    async def reconcile(
        self,
        device: str,
        session: str,
        listed: Sequence[Listed],
        *,
        last: bool,
        livesync: bool,
        sees: Callable[[str], bool],
    ) -> ReconcileAnswer:
        """Compare a slice of a device's notes with the folder, within what the key `sees`."""
        self._here.check()
        async with self._one_at_a_time:
            turn = await self.devices.turn(device, livesync=livesync)
            return await self._reconciler.slice(
                device, session, listed, turn=turn, last=last, livesync=livesync, sees=sees
            )

    async def _one(self, type: str, change: _Change) -> EventResult:
        if not is_note(change.path) or is_hidden(change.path):
            return change.result("refused", None, "not_a_note")
        if change.content is not None and revision_of(change.content) != change.revision:
            return change.result("refused", None, "revision_mismatch")
        try:
            if type == "delete":
                return await self._delete(change)
            if type == "rename" and change.old_path != change.path:
                return await self._rename(change)
            return await self._upsert(change)
        except (Clash, RevisionMismatch, Refused, UsageError) as error:
            if error.error_key == "held":
                raise
            if kept := error.fields.get("conflict"):
                self._feed.publish("conflict", path=change.path, conflict=kept)
            differs = kept or isinstance(error, RevisionMismatch)
            file = await self._here.file(change.path)
            return change.result(
                "conflict" if differs else "refused", file.revision if file else None, error.error_key
            )

    async def _upsert(self, change: _Change) -> EventResult:
        file = await self._here.file(change.path)
        here = file.revision if file else None
        if file and here == change.revision:
            await self._here.show(change.path, file, change.origin)
            return change.result("unchanged", here)
        if change.livesync:
            return await self._index_only(change, file)
        if change.content is None:
            return change.result("send", here)
        if self._pull_only:
            return change.result("refused", here, "vault_is_pull_only")
        await self._writer.write(change.path, change.content, change.base or ABSENT, change.origin)
        written = await self._here.file(change.path)
        if written:
            await self._here.show(change.path, written, change.origin)
        return change.result("stored", change.revision)

    async def _index_only(self, change: _Change, file: FileOnDisk | None) -> EventResult:
        """Show bytes that the mirror has yet to bring, unless the folder went on since."""
        indexed = (await self._here.indexed([change.path])).get(change.path)
        if change.content is None or change.revision is None:
            same = indexed is not None and indexed == change.revision
            return change.result("unchanged" if same else "send", indexed)
        late = file is not None and change.modified_ns is not None and change.modified_ns <= file.modified_ns
        if file and late and change.base not in {None, file.revision, indexed}:
            return change.result("unchanged", file.revision, "newer_here")
        coming = FileOnDisk(change.content, change.revision, change.modified_ns or time.time_ns())
        await self._here.show(change.path, coming, change.origin)
        return change.result("indexed", change.revision)

    async def _delete(self, change: _Change) -> EventResult:
        file = await self._here.file(change.path)
        indexed = (await self._here.indexed([change.path])).get(change.path)
        if file is None:
            if indexed:
                await self._here.forget(change.path, change.origin)
            return change.result("unchanged", None)
        known = {file.revision, indexed} if change.livesync else {file.revision}
        if change.base is None or change.base not in known:
            return change.result("conflict", file.revision, "changed_here")
        if change.livesync:
            await self._here.forget(change.path, change.origin)
            return change.result("indexed", None)
        if self._pull_only:
            return change.result("refused", file.revision, "vault_is_pull_only")
        await self._writer.delete(change.path, file.revision, change.origin)
        await self._here.forget(change.path, change.origin)
        return change.result("stored", None)

    async def _delete_unnamed(
        self, path: NotePath, base: Revision, device: str, *, livesync: bool
    ) -> EventResult:
        return await self._one(
            "delete", _Change(path, path, None, base, None, None, _origin(device), livesync)
        )

    async def _rename(self, change: _Change) -> EventResult:
        """Move the file where both ends are as the device left them.

        Else bring the new name and delete the old one, each by its own rule.
        """
        old, new = await self._here.file(change.old_path), await self._here.file(change.path)
        if old and new is None and old.revision in {change.base, change.revision}:
            return await self._move(change, old)
        stands_free = old is not None and new is None
        result = await self._upsert(replace(change, base=None) if stands_free else change)
        if result.done:
            left = await self._delete(replace(change, path=change.old_path))
            if not left.done:
                return msgspec.structs.replace(result, reason=f"old_path_{left.reason}")
        return result

    async def _move(self, change: _Change, old: FileOnDisk) -> EventResult:
        if not change.livesync:
            if self._pull_only:
                return change.result("refused", None, "vault_is_pull_only")
            await self._writer.move(change.old_path, change.path, old.revision, change.origin)
        await self._here.move(change.old_path, change.path, old, change.origin)
        if change.revision in {None, old.revision}:
            return change.result("indexed" if change.livesync else "stored", old.revision)
        return await self._upsert(replace(change, base=old.revision))


def _origin(device: str) -> str:
    return f"plugin:{device}"


def _read(event: Event, device: str, *, livesync: bool) -> _Change:
    if event.type == "rename" and event.old_path is None:
        raise InvalidRequest("A rename needs its `old_path`.", old_path=None)
    path = note_path(event.path)
    content = None if event.content is None else event.content.encode()
    revision = event.revision or (None if content is None else revision_of(content))
    return _Change(
        path=path,
        old_path=path if event.old_path is None or event.type != "rename" else note_path(event.old_path),
        revision=None if revision is None else Revision(revision),
        base=None if event.base is None else Revision(event.base),
        content=content,
        modified_ns=None if event.modified is None else modified_ns(event.modified),
        origin=_origin(device),
        livesync=livesync,
    )
