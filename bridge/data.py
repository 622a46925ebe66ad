"""The data folder: who holds it, what its files are called, and which of them are derived."""

import fcntl
import json
import os
import shutil
from pathlib import Path
from typing import Any, Self

from bridge import __version__
from bridge.errors import InstallationError

INDEX = "index.sqlite"
STATE = "state.sqlite"
EMBEDDINGS = "embeddings.sqlite"
FULLTEXT = "fulltext"
VECTORS = "vectors"
FIRST_KEY = "token"
RUNNING = "bridge.json"
LOCK = "lock"


class DataFolder:
    """A data folder held by this process alone, from `hold` to `release`."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def hold(cls, path: Path) -> Self:
        """Make the folder if it is absent and lock it; raises `InstallationError`."""
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InstallationError(
                f"The data folder {path} cannot be written ({error.strerror}); nothing was changed. "
                "Make it writable for this user, or give another one with --data.",
                key="data_not_writable",
                path=str(path),
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            running = running_bridge(path)
            who = f" (a bridge at {running['url']}, process {running['pid']})" if running else ""
            raise InstallationError(
                f"Another Transom works on the data folder {path}{who}; nothing was changed. "
                "Stop it first, or give another folder with --data.",
                key="data_in_use",
                path=str(path),
            ) from None
        return cls(path, lock)

    def release(self) -> None:
        """Let others have the folder."""
        os.close(self._lock)

    def remove_derived(self, *, embeddings: bool = False) -> None:
        """Delete what can be built again; the embedding cache only when told."""
        for name in (INDEX, *((EMBEDDINGS,) if embeddings else ())):
            remove_database(self.path / name)
        for name in (FULLTEXT, VECTORS):
            shutil.rmtree(self.path / name, ignore_errors=True)


def remove_database(file: Path) -> None:
    """Delete an SQLite file with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def write_private(file: Path, text: str) -> None:
    """Replace a file whole; from its first moment it can be read by its owner alone."""
    fresh = file.with_name(f".{file.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)


def announce(path: Path, url: str) -> None:
    """Write `bridge.json`, by which commands find the bridge of this process."""
    running = {"url": url, "pid": os.getpid(), "version": __version__}
    write_private(path / RUNNING, json.dumps(running))


def withdraw(path: Path) -> None:
    """Delete `bridge.json`: the bridge goes."""
    (path / RUNNING).unlink(missing_ok=True)


def running_bridge(path: Path) -> dict[str, Any] | None:
    """Read `bridge.json` of a bridge whose process is alive."""
    try:
        found: dict[str, Any] = json.loads((path / RUNNING).read_text("utf-8"))
        os.kill(int(found["pid"]), 0)
    except PermissionError:
        return found
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found
