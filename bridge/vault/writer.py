"""The one writer of the owner's files: expected, journaled, atomic.

Each change is in the journal with the bytes of both sides before it touches the disk, so a
crash at any point leaves the old file or the new one, and both can be had from the journal.
"""

import asyncio
import errno
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import structlog

from bridge.errors import Clash, InvalidPath, NotFound, Refused, RevisionMismatch, Unavailable
from bridge.model import NotePath, Revision
from bridge.stores.state import JournalEntry, StateStore
from bridge.vault import atomic
from bridge.vault.reader import FileOnDisk, locate, read_file, revision_of

log = structlog.get_logger(__name__)

T = TypeVar("T")


class Expect(Enum):
    """What may be there instead of a certain revision."""

    ABSENT = "absent"
    ANY = "any"


ABSENT: Final = Expect.ABSENT
ANY: Final = Expect.ANY
Expected: TypeAlias = Revision | Expect

MAX_NAME_BYTES = 255
_OWN_WRITES = 1000
_OWN_WRITE_S = 60.0
_TRIES = 5
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True)
class Written:
    """A change that was made; `journal_id` is None when the file had these bytes already."""

    revision: Revision | None
    previous: Revision | None
    journal_id: int | None


class VaultWriter:
    """Writes, deletes and moves files of one vault, one after another."""

    def __init__(self, root: Path, state: StateStore, held: Callable[[], str | None] = lambda: None) -> None:
        self._root = root
        self._state = state
        self._held = held
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._own: OrderedDict[tuple[NotePath, Revision | None], tuple[str, float]] = OrderedDict()

    async def write(
        self, path: NotePath, data: bytes, expected: Expected, origin: str, *, keep_conflict: bool = True
    ) -> Written:
        """Give a file these bytes, if what is there is what is expected.

        Otherwise nothing is overwritten: raises `Clash` once the bytes are kept as a conflict,
        or `RevisionMismatch` without `keep_conflict`; the fields name the current revision.
        """
        return await self._in_turn(self._write(path, data, expected, origin, keep_conflict=keep_conflict))

    async def delete(self, path: NotePath, expected: Expected, origin: str) -> Written:
        """Remove a file; its bytes stay in the journal. Raises `RevisionMismatch` or `NotFound`."""
        return await self._in_turn(self._delete(path, expected, origin))

    async def move(self, path: NotePath, to: NotePath, expected: Expected, origin: str) -> Written:
        """Rename a file; raises `Clash` when there is one under the new name."""
        return await self._in_turn(self._move(path, to, expected, origin))

    async def recover(self) -> None:
        """Settle the one change that a crash may have cut short; call it before the first write."""
        if await asyncio.to_thread(_is_filled, self._root):
            for entry in await self._state.journal(limit=1):
                await self._in_turn(self._settle(entry))

    def origin_of(self, path: NotePath, revision: Revision | None) -> str:
        """Tell who wrote a revision or deleted a path (None) just now; `files` when it was not us."""
        origin, until = self._own.get((path, revision), ("files", 0.0))
        return origin if time.monotonic() < until else "files"

    async def close(self) -> None:
        """Wait for the changes that have begun."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _in_turn(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it alone and to the end, even when the one who asked goes away."""

        async def alone() -> T:
            async with self._turn:
                return await work

        task = asyncio.create_task(alone())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _write(
        self, path: NotePath, data: bytes, expected: Expected, origin: str, *, keep_conflict: bool
    ) -> Written:
        after = await asyncio.to_thread(revision_of, data)
        for _ in range(_TRIES):
            real, found = await self._find(path)
            before = found.revision if found else None
            meets = _meets(before, expected)
            if before == after and (meets or keep_conflict):
                return Written(after, before, None)
            if not meets:
                raise await self._refused(
                    path, data, after, expected, found, origin, keep_conflict=keep_conflict
                )
            contents = {after: data} | ({found.revision: found.content} if found else {})
            entry = await self._state.record("write", path, before, after, origin, contents)
            put = atomic.replace if found else _add
            if await self._perform(entry, put, _temporary(entry, real), real, data):
                return Written(after, before, entry.id)
        raise _busy(path)

    async def _delete(self, path: NotePath, expected: Expected, origin: str) -> Written:
        for _ in range(_TRIES):
            real, found = await self._find_present(path, expected)
            before = found.revision
            entry = await self._state.record("delete", path, before, None, origin, {before: found.content})
            if await self._perform(entry, atomic.move, real, _temporary(entry, real)):
                return Written(None, before, entry.id)
        raise _busy(path)

    async def _move(self, path: NotePath, to: NotePath, expected: Expected, origin: str) -> Written:
        for _ in range(_TRIES):
            real, found = await self._find_present(path, expected)
            target, occupant = await self._find(to)
            respelled = path.casefold() == to.casefold()
            if occupant and not (respelled and await asyncio.to_thread(os.path.samefile, real, target)):
                raise Clash(f"There is a {to} already; nothing was moved.", key="name_clash", path=to)
            before = found.revision
            entry = await self._state.record(
                "move", path, before, before, origin, {before: found.content}, to
            )
            if await self._perform(entry, _move, real, target):
                return Written(before, before, entry.id)
        raise _busy(path)

    async def _perform(self, entry: JournalEntry, work: Callable[..., None], *args: Any) -> bool:
        """Do a recorded change; false when another program was there first and it must be judged anew."""
        until = time.monotonic() + _OWN_WRITE_S
        self._own[entry.to_path or entry.path, entry.after] = (entry.origin, until)
        if entry.to_path:
            self._own[entry.path, None] = (entry.origin, until)
        while len(self._own) > _OWN_WRITES:
            self._own.popitem(last=False)
        try:
            await asyncio.to_thread(work, *args)
        except (FileExistsError, FileNotFoundError):
            await self._settle(entry, happened=False)
            return False
        except OSError as error:
            await self._settle(entry)
            raise _explain(entry.path, error) from error
        await self._settle(entry, happened=True)
        log.info("vault.changed", verb=entry.verb, path=entry.path, to=entry.to_path, origin=entry.origin)
        return True

    async def _settle(self, entry: JournalEntry, *, happened: bool | None = None) -> None:
        """Clear up behind a change; strike its entry if it did not happen (None: look at the disk).

        What it displaced is the file of the entry's `before`, or one that another program put
        there in between: that one is kept as a conflict.
        """
        try:
            real = await asyncio.to_thread(locate, self._root, entry.path)
        except Refused:
            return
        if happened is None:
            here = await asyncio.to_thread(_read_if_there, real)
            happened = (here.revision if here else None) != entry.before
        temporary = _temporary(entry, real)
        for name in atomic.leftovers(temporary) if happened else ():
            left = await asyncio.to_thread(_read_if_there, name)
            if left and left.revision not in {entry.before, entry.after}:
                await self._state.keep_conflict(
                    "displaced",
                    entry.path,
                    "files",
                    base=entry.before,
                    ours=entry.after,
                    theirs=left.revision,
                    contents={left.revision: left.content},
                )
        await asyncio.to_thread(atomic.discard, temporary)
        if not happened:
            await self._state.strike(entry)

    async def _find(self, path: NotePath) -> tuple[str, FileOnDisk | None]:
        """Say where a path lies on disk, and what is there."""
        if reason := self._held():
            raise Clash(f"{reason} Nothing was written.", key="held", path=path)
        try:
            return await asyncio.to_thread(_place, self._root, path)
        except OSError as error:
            raise _explain(path, error) from error

    async def _find_present(self, path: NotePath, expected: Expected) -> tuple[str, FileOnDisk]:
        real, found = await self._find(path)
        if found and _meets(found.revision, expected):
            return real, found
        if found or expected is not ANY:
            raise _mismatch(path, found)
        raise NotFound(f"There is no {path} in the vault.", path=path)

    async def _refused(
        self,
        path: NotePath,
        data: bytes,
        revision: Revision,
        expected: Expected,
        found: FileOnDisk | None,
        origin: str,
        *,
        keep_conflict: bool,
    ) -> RevisionMismatch | Clash:
        if not keep_conflict:
            return _mismatch(path, found)
        conflict = await self._state.keep_conflict(
            "refused",
            path,
            origin,
            base=expected if isinstance(expected, str) else None,
            ours=found.revision if found else None,
            theirs=revision,
            contents={revision: data} | ({found.revision: found.content} if found else {}),
        )
        return Clash(
            f"{path} is not what was expected, so it was left as it is; "
            f"what came is kept as the conflict {conflict.id}.",
            path=path,
            revision=conflict.ours,
            conflict=conflict.id,
        )


def _meets(here: Revision | None, expected: Expected) -> bool:
    return expected is ANY or here == (None if expected is ABSENT else expected)


def _mismatch(path: NotePath, found: FileOnDisk | None) -> RevisionMismatch:
    state = "has another revision" if found else "is not there"
    return RevisionMismatch(
        f"{path} {state}; nothing was changed. Read it again and repeat the change on what is there.",
        path=path,
        revision=found.revision if found else None,
    )


def _busy(path: NotePath) -> Unavailable:
    return Unavailable(f"Another program keeps changing {path}; nothing was changed. Try again.", path=path)


def _explain(path: NotePath, error: OSError) -> Unavailable:
    if error.errno in _FULL:
        return Unavailable(
            f"The vault's disk is full; {path} was left as it was. Free some space and try again.",
            key="disk_full",
            retry_after_s=30,
            path=path,
        )
    return Unavailable(
        f"{path} cannot be written ({error.strerror}) and was left as it was. "
        "Make the vault writable for this user and try again.",
        key="vault_not_writable",
        retry_after_s=30,
        path=path,
    )


def _place(root: Path, path: NotePath) -> tuple[str, FileOnDisk | None]:
    if not root.is_dir():
        raise Clash(
            "The vault folder is not there; nothing was written. Restore it and try again.", key="held"
        )
    try:
        too_long = any(len(name.encode()) > MAX_NAME_BYTES for name in path.split("/"))
    except UnicodeEncodeError:
        raise InvalidPath("This path has characters that no file name can hold.") from None
    if too_long:
        raise InvalidPath("A name in this path is longer than the 255 bytes that a disk can hold.", path=path)
    real = locate(root, path)
    try:
        kind = stat.S_IFMT(os.lstat(real).st_mode)
    except FileNotFoundError:
        return real, None
    except NotADirectoryError:
        raise Clash(
            f"{path} would lie in a folder whose name a file has; nothing was written. Take another name.",
            key="name_clash",
            path=path,
        ) from None
    if kind == stat.S_IFLNK:
        raise Refused(f"{path} is a link; nothing was written. Write to what it leads to.", path=path)
    if kind != stat.S_IFREG:
        raise Clash(
            f"{path} is the name of a folder; nothing was written. Take another name.",
            key="name_clash",
            path=path,
        )
    return real, _read_if_there(real)


def _is_filled(root: Path) -> bool:
    """Whether the vault is there: of one that is not mounted, nothing can be judged."""
    try:
        return bool(os.listdir(root))
    except OSError:
        return False


def _read_if_there(real: str) -> FileOnDisk | None:
    try:
        return read_file(real)
    except FileNotFoundError:
        return None


def _temporary(entry: JournalEntry, real: str) -> str:
    """Name the temporary file of a change: beside the file, hidden from every walk of the vault."""
    return os.path.join(os.path.dirname(real), f".transom-{entry.id}.tmp")


def _add(temporary: str, target: str, data: bytes) -> None:
    atomic.make_folders(os.path.dirname(target))
    atomic.add(temporary, target, data)


def _move(source: str, target: str) -> None:
    atomic.make_folders(os.path.dirname(target))
    atomic.move(source, target)
