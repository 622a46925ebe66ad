"""Finds and reads the owner's files: the one place where a note path becomes a path on disk."""

import asyncio
import hashlib
import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from bridge.errors import NotFound, Refused, Unavailable
from bridge.model import NotePath, Revision
from bridge.paths import is_hidden


@dataclass(frozen=True, slots=True)
class FileOnDisk:
    content: bytes
    revision: Revision
    modified_ns: int


def revision_of(content: bytes) -> Revision:
    """SHA-256 of a file's bytes, in hex."""
    return Revision(hashlib.sha256(content).hexdigest())


class VaultReader:
    """Reads files of one vault; never one that lies outside it."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def read(self, path: NotePath) -> FileOnDisk:
        """Read a file. Raises `NotFound` when it is not there, hidden, or outside the vault."""
        return await asyncio.to_thread(self._read, path)

    def _read(self, path: NotePath) -> FileOnDisk:
        absent = NotFound(f"There is no {path} in the vault.", path=path)
        try:
            real = locate(self._root, path)
            if not stat.S_ISREG(os.stat(real).st_mode):
                raise absent
            return read_file(real)
        except PermissionError as error:
            raise Unavailable(
                f"{path} is there but may not be read ({error.strerror}). Let this user read it.", path=path
            ) from error
        except (Refused, OSError, ValueError):
            raise absent from None


def read_file(real: str) -> FileOnDisk:
    """Read a file by its path on disk; raises `OSError`."""
    with open(real, "rb") as file:
        modified_ns = os.fstat(
            file.fileno()
        ).st_mtime_ns  # before the bytes: what changes them later is newer
        content = file.read()
        return FileOnDisk(content, revision_of(content), modified_ns)


def locate(root: Path, path: NotePath) -> str:
    """Find where a path lies, or would lie, on disk.

    Names on disk keep their bytes: a segment that is not there in NFC is looked for among
    its neighbours. Raises `Refused` for hidden paths and for links that leave the vault.
    """
    if is_hidden(path):
        raise Refused(
            "Dot folders and node_modules are not notes; nothing there is read or written.", path=path
        )
    top = os.path.realpath(root)
    real = top
    for segment in path.split("/"):
        real = os.path.join(real, _name_on_disk(real, segment))
    if os.path.commonpath([top, os.path.realpath(real)]) != top:
        raise Refused(f"{path} leads out of the vault through a link and was left alone.", path=path)
    return real


def _name_on_disk(folder: str, segment: str) -> str:
    if segment.isascii() or os.path.lexists(os.path.join(folder, segment)):
        return segment
    try:
        names = os.listdir(folder)
    except OSError:
        return segment
    twins = [name for name in names if unicodedata.normalize("NFC", name) == segment]
    return min(twins, default=segment)
