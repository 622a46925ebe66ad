"""What the system says about a folder's changes: names touched, or why it cannot say."""

import asyncio
import errno
import os
import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from watchfiles import Change
from watchfiles._rust_notify import RustNotify

STEP_MS = 20
"""How long a burst must pause to be handed on; the first event waits no longer than this."""
BURST_MS = 200
QUIET_MS = 250

_REMOTE = ("9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.rclone", "fuse.sshfs", "nfs", "smb", "vboxsf")


class Watcher:
    """Watches all folders under one; made by `open`, since setting up the watches takes a while.

    `watchfiles.awatch` would do that on the event loop, and say nothing once it is done.
    """

    def __init__(self, root: str, notify: RustNotify, thread: ThreadPoolExecutor) -> None:
        self._root = root
        self._notify = notify
        self._thread = thread
        self._stopped = threading.Event()
        self._identity = _identity(root)
        self.fault: str | None = None
        """Why this folder cannot be watched after all."""

    @classmethod
    async def open(cls, root: str) -> Self:
        """Start watching. Raises `OSError` when the folder is absent or the system's limits are reached."""
        thread = ThreadPoolExecutor(1, "watch")
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, cls._start, root, thread)
        except BaseException:
            thread.shutdown(wait=False)
            raise

    @classmethod
    def _start(cls, root: str, thread: ThreadPoolExecutor) -> Self:
        return cls(root, _notify([root]), thread)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        await asyncio.shield(asyncio.to_thread(self._close))

    def _close(self) -> None:
        self._thread.shutdown(wait=True)
        self._notify.close()

    async def touched(self) -> dict[str, bool]:
        """Wait for the next burst: names relative to the folder, and whether each may still be there.

        Returns an empty one after a quiet moment. Raises `RuntimeError` when events were lost.
        """
        loop = asyncio.get_running_loop()
        try:
            events = await loop.run_in_executor(
                self._thread, self._notify.watch, BURST_MS, STEP_MS, QUIET_MS, self._stopped
            )
        except RuntimeError as error:
            if "decode" in str(error):  # looking at such a folder is an event of it: there is no end to them
                self.fault = (
                    "A folder's name in the vault is not UTF-8, which the watcher cannot take, so the vault is "
                    "looked through every few seconds instead. Rename it to have changes found at once."
                )
            raise
        names: dict[str, bool] = {}
        if not isinstance(events, str):
            for kind, path in events:
                name = path[len(self._root) + 1 :]
                names[name] = names.get(name, False) or kind != Change.deleted
        return names

    async def has_room_for(self, folders: Collection[str]) -> bool:
        """Whether new folders can be watched: notify takes them up by itself, and is silent when it cannot."""

        def probe() -> bool:
            try:
                _notify([os.path.join(self._root, name) for name in folders]).close()
            except FileNotFoundError:
                return True
            except OSError:
                return False
            return True

        return await asyncio.to_thread(probe)

    async def is_current(self) -> bool:
        """Whether the folder is still the one that is watched: not unmounted, moved or made anew."""
        return self._identity == await asyncio.to_thread(_identity, self._root)


def _notify(folders: list[str]) -> RustNotify:
    try:
        return RustNotify(folders, False, False, 0, True, False)
    except PermissionError:
        # Told to leave unreadable folders out, it is silent about the limit of watches too.
        return RustNotify(folders, False, False, 0, True, True)
    except RuntimeError as error:
        raise OSError(errno.EMFILE, str(error)) from error


def _identity(root: str) -> tuple[int, int] | None:
    try:
        status = os.stat(root)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def cannot_watch(root: str) -> str | None:
    """Say why changes under a folder are not reported by the system: it lies on another machine."""
    kind = _file_system(root)
    if kind and kind.startswith(_REMOTE):
        return (
            f"The vault lies on a network file system ({kind}), which does not report what other machines "
            "change; it is looked through every few seconds instead."
        )
    return None


def explain(error: OSError) -> str:
    """Say in words why watching could not begin."""
    if error.errno == errno.EMFILE or "limit reached" in str(error):
        return (
            "The system's limit of watched folders is reached, so the vault is looked through every few seconds "
            "instead. Raise fs.inotify.max_user_watches and fs.inotify.max_user_instances to watch it again."
        )
    return f"The system cannot watch the vault ({error}), so it is looked through every few seconds instead."


def _file_system(root: str) -> str:
    """Read the type of the file system from Linux's mount table (proc(5)); empty elsewhere."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return ""
    device = os.stat(root).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for mount in reversed(mounts):
        fields, _, kind = mount.partition(" - ")
        if fields.split(" ")[2] == number:
            return kind.split(" ", 1)[0]
    return ""
