"""Replacing, adding, taking away and moving a file so that nobody ever sees half of it.

What is displaced is never lost: it lies under the temporary name, for the caller to look at
before it discards it. Everything here blocks; the writer calls it in a worker thread.
"""

import ctypes
import errno
import os
import shutil
import stat
from contextlib import suppress

_AT_FDCWD = -100
_NOREPLACE = 1
_EXCHANGE = 2
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}

# renameat2(2): in glibc since 2.28, in musl since 1.2.6; no other system has it.
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def replace(temporary: str, target: str, data: bytes) -> None:
    """Give `target`, which exists, new bytes; the old file is left under `temporary`.

    Keeps its permissions. Raises `FileNotFoundError` when it is gone by then.
    """
    status = os.lstat(target)
    _write(temporary, data, status)
    try:
        if not _rename(temporary, target, _EXCHANGE):
            exchange_by_link(temporary, target)
    except FileNotFoundError:
        discard(temporary)
        raise
    sync_folder(target)


def add(temporary: str, target: str, data: bytes) -> None:
    """Make `target` with these bytes; raises `FileExistsError` when it is there by then."""
    _write(temporary, data, None)
    try:
        move(temporary, target)
    except OSError:
        discard(temporary)
        raise


def move(source: str, target: str) -> None:
    """Rename a file; raises `FileExistsError` when there is another one under the new name."""
    if os.path.lexists(target) and os.path.samefile(source, target):
        os.rename(source, target)  # only the spelling differs, on a disk that does not mind case
    elif not _rename(source, target, _NOREPLACE):
        move_by_link(source, target)
    sync_folder(source)
    sync_folder(target)


def discard(temporary: str) -> None:
    """Remove what lies under a temporary name, if anything does and the disk allows it."""
    for name in leftovers(temporary):
        with suppress(OSError):
            os.unlink(name)


def leftovers(temporary: str) -> tuple[str, str]:
    """The names under which a change may have left bytes."""
    return temporary, _spare(temporary)


def exchange_by_link(temporary: str, target: str) -> None:
    """Do as renameat2's exchange does, on systems without it; on disks without links by a copy."""
    spare = _spare(temporary)
    try:
        os.link(target, spare)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(target, spare)
    os.replace(temporary, target)
    os.rename(spare, temporary)


def move_by_link(source: str, target: str) -> None:
    """Do as renameat2's rename without replacing does, on systems without it."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        os.rename(source, target)
    else:
        os.unlink(source)


def make_folders(folder: str) -> None:
    """Make a folder and those above it, so that they outlive a power cut."""
    if not os.path.isdir(folder):
        make_folders(os.path.dirname(folder))
        with suppress(FileExistsError):
            os.mkdir(folder)
        sync_folder(folder)


def sync_folder(name: str) -> None:
    """Write the folder that holds `name` to disk."""
    descriptor = os.open(os.path.dirname(name), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(temporary: str, data: bytes, like: os.stat_result | None) -> None:
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            if like:
                with suppress(PermissionError):
                    os.fchown(descriptor, like.st_uid, like.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            file.write(data)
            file.flush()
            os.fsync(descriptor)
    except OSError:
        discard(temporary)
        raise


def _rename(source: str, target: str, flag: int) -> bool:
    """Call renameat2; false where the system or the disk does not know the flag."""
    if _renameat2 is None:
        return False
    if _renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), target)


def _spare(temporary: str) -> str:
    return temporary + "~"
