"""The note that a running bridge leaves in its data folder, so that commands find it."""

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

FILE_NAME = "bridge.json"


@dataclass(frozen=True, slots=True)
class Running:
    url: str
    pid: int
    version: str


def announce(data: Path, running: Running) -> None:
    """Write the note whole or not at all."""
    descriptor, name = tempfile.mkstemp(dir=data, prefix=".bridge-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(running), file)
    os.replace(name, data / FILE_NAME)


def withdraw(data: Path) -> None:
    """Remove the note if it is this process's own."""
    running = find(data)
    if running is not None and running.pid == os.getpid():
        (data / FILE_NAME).unlink(missing_ok=True)


def find(data: Path) -> Running | None:
    """Read the note; None without one, or when its process is gone."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        note = json.loads((data / FILE_NAME).read_text("utf-8"))
        running = Running(str(note["url"]), int(note["pid"]), str(note["version"]))
        if _alive(running.pid):
            return running
    return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return pid > 0
