"""What the bridge has of a note: the file in the folder, and what the index shows of it."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeAlias

from bridge.errors import Clash, NotFound
from bridge.model import Deleted, NoteChange, NotePath, Revision, Upserted
from bridge.paths import note_id
from bridge.sources.files import FilesSource
from bridge.stores import notes
from bridge.stores.database import Database
from bridge.vault.reader import FileOnDisk, VaultReader

Apply: TypeAlias = Callable[[Sequence[NoteChange]], Awaitable[None]]
"""Brings changes into the index now."""


class Here:
    """Folder and index, seen note by note."""

    def __init__(self, index: Database, reader: VaultReader, files: FilesSource, apply: Apply) -> None:
        self._index = index
        self._reader = reader
        self._files = files
        self._apply = apply

    def check(self) -> None:
        """Raise `Clash` while the folder is not there to be compared with."""
        status = self._files.status()
        if status.state == "held":
            raise Clash(f"{status.reason} Nothing was changed.", key="held")

    async def file(self, path: NotePath) -> FileOnDisk | None:
        """Read the file, if there is one."""
        try:
            return await self._reader.read(path)
        except NotFound:
            return None

    async def indexed(self, paths: Collection[NotePath]) -> dict[NotePath, Revision]:
        """Return the revisions that the index shows."""
        async with self._index.read() as conn:
            known = await notes.known(conn, [note_id(path) for path in paths])
        return {path: known[note_id(path)].revision for path in paths if note_id(path) in known}

    async def show(self, path: NotePath, file: FileOnDisk, origin: str) -> None:
        """Index these bytes now, unless they are, or the settings leave the note out."""
        if self._files.covers(path) and (await self.indexed([path])).get(path) != file.revision:
            await self._apply([Upserted(path, file.content, file.modified_ns, origin)])

    async def move(self, old: NotePath, new: NotePath, file: FileOnDisk, origin: str) -> None:
        """Show these bytes under their new name now, and no longer under the old one."""
        coming = [Upserted(new, file.content, file.modified_ns, origin)] if self._files.covers(new) else []
        await self._apply([Deleted(old, origin), *coming])

    async def forget(self, path: NotePath, origin: str) -> None:
        """Take the note out of the index now."""
        await self._apply([Deleted(path, origin)])
