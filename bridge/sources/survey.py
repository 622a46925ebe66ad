"""One look at a vault folder, compared with what the index knows of it.

Works on plain strings and `os.scandir` entries: a start over 20,000 unchanged notes costs
little more than walking and stat-ing them. Runs in a worker thread.
"""

import os
import stat
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bridge.model import Attachment, Failed, NoteChange, NotePath, Revision, Stamp
from bridge.paths import NOTE_SUFFIXES, is_hidden

MAX_NOTE_BYTES = 20_000_000
"""Larger ones are listed as failed: reading one would take ten times its size of memory."""

_SUFFIXES = tuple(NOTE_SUFFIXES)
_PASSING = ("~", ".tmp", ".swp", ".swx", ".part", ".crdownload")
"""Endings of files that editors and downloads leave for a moment."""
UNREAD = Revision("")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A note whose bytes must be read to know whether they changed."""

    path: NotePath
    real: str
    """Its name on disk, relative to the vault; differs from `path` where that is not NFC."""
    modified_ns: int
    size: int
    known: Stamp | None


class Survey:
    """What a look at some files and folders found.

    `known` holds the stamps of all that was asked about; what is met is taken out of it, so
    that the rest is gone. Stamps younger than `trusted_before_ns` are not believed: a file
    may be written twice within one tick of the file system's clock.
    """

    def __init__(
        self,
        root: str,
        known: dict[NotePath, Stamp],
        wanted: Callable[[str], bool] | None,
        trusted_before_ns: int,
    ) -> None:
        self.candidates: list[Candidate] = []
        self.changes: list[NoteChange] = []
        """What needs no reading: attachments and failures."""
        self.folders: set[str] = set()
        """Which of the targets were folders."""
        self.found = 0
        self._root = root
        self._known = known
        self._wanted = wanted
        self._trusted_before_ns = trusted_before_ns
        self._odd: list[tuple[str, os.stat_result]] = []
        self._unlisted: list[str] = []

    def look(self, targets: Iterable[str]) -> None:
        """Look at the files and folders that `targets_of` gave.

        Raises `OSError` when the vault itself cannot be listed.
        """
        for target in targets:
            if not target:
                self._walk("")
            elif not is_hidden(target) and self._is_inside(target):
                self._look_at(target)
        self._settle_odd_names()
        self.candidates.sort(key=lambda candidate: -candidate.modified_ns)

    def gone(self) -> dict[NotePath, Stamp]:
        """What was known and is not there; nothing that lies in a folder that would not list."""
        if not self._unlisted:
            return self._known
        unseen = tuple(unicodedata.normalize("NFC", folder) for folder in self._unlisted)
        return {path: stamp for path, stamp in self._known.items() if not path.startswith(unseen)}

    def _is_inside(self, target: str) -> bool:
        """Whether no folder on the way is a link."""
        parent = os.path.dirname(os.path.join(self._root, target))
        return os.path.realpath(parent) == parent

    def _look_at(self, target: str) -> None:
        try:
            status = os.lstat(os.path.join(self._root, target))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            self._unlisted.append(target)
            return
        if stat.S_ISDIR(status.st_mode):
            self.folders.add(target)
            self._walk(target + "/")
        elif stat.S_ISLNK(status.st_mode):
            self._follow(target)
        elif stat.S_ISREG(status.st_mode) and not is_passing(target):
            self._take(target, status, trusted=False)

    def _walk(self, folder: str) -> None:
        pending = [folder]
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(os.path.join(self._root, folder)) as entries:
                    for entry in entries:
                        name = entry.name
                        if name[0] == ".":
                            continue
                        if entry.is_dir(follow_symlinks=False):
                            if name != "node_modules":
                                pending.append(f"{folder}{name}/")
                        elif name.endswith(_PASSING):
                            continue
                        elif entry.is_symlink():
                            self._follow(folder + name)
                        elif entry.is_file(follow_symlinks=False):
                            try:
                                status = entry.stat(follow_symlinks=False)
                            except FileNotFoundError:
                                continue
                            self._take(folder + name, status)
            except OSError as error:
                if not folder:
                    raise
                if not isinstance(error, FileNotFoundError | NotADirectoryError):
                    self._unlisted.append(folder)
                    self._fail(folder.rstrip("/"), "unreadable")

    def _follow(self, real: str) -> None:
        """Take a link to a file of this vault; one that leaves it, or names a folder, is not followed.

        Obsidian too leaves out links to a folder within the vault: what it holds is there already.
        """
        target = os.path.realpath(os.path.join(self._root, real))
        inside = os.path.relpath(target, self._root)
        if target.startswith(self._root + os.sep) and not is_hidden(inside):
            try:
                status = os.stat(target)
            except OSError:
                return
            if stat.S_ISREG(status.st_mode):
                self._take(real, status)

    def _take(self, real: str, status: os.stat_result, *, trusted: bool = True) -> None:
        if real.isascii() or (unicodedata.is_normalized("NFC", real) and _is_utf8(real)):
            self._compare(NotePath(real), real, status, trusted=trusted)
        else:
            self._odd.append((real, status))

    def _compare(self, path: NotePath, real: str, status: os.stat_result, *, trusted: bool = True) -> None:
        self.found += 1
        is_note = real.endswith(_SUFFIXES) or real.lower().endswith(_SUFFIXES)
        if is_note and self._wanted is not None and not self._wanted(path):
            return
        stamp = self._known.pop(path, None)
        modified_ns, size = status.st_mtime_ns, status.st_size
        same = stamp is not None and stamp.modified_ns == modified_ns and stamp.size == size
        if same and (not is_note or (trusted and modified_ns < self._trusted_before_ns)):
            return
        if not is_note:
            self.changes.append(Attachment(path, modified_ns, size))
        elif size <= MAX_NOTE_BYTES:
            self.candidates.append(Candidate(path, real, modified_ns, size, stamp))
        elif not same:
            self.changes.append(Failed(path, "too_large", modified_ns, size))

    def _settle_odd_names(self) -> None:
        """Take names that are not NFC, in an order that does not depend on the disk's.

        Of two names that fall together the second, which is never the NFC one, has failed.
        """
        taken: set[str] = set()
        for real, status in sorted(self._odd, key=lambda odd: odd[0]):
            path = NotePath(unicodedata.normalize("NFC", real))
            fault = None
            if not _is_utf8(real):
                fault = "name_not_utf8"
            elif path in taken or self._is_another_file(path, real):
                fault = "name_clash"
            if fault is None:
                taken.add(path)
                self._compare(path, real, status)
            elif real.lower().endswith(_SUFFIXES):
                self._fail(real, fault)

    def _is_another_file(self, path: str, real: str) -> bool:
        """Whether the NFC name is itself on disk, and not just a name of the same file (as on macOS)."""
        try:
            other = os.lstat(os.path.join(self._root, path))
            return not os.path.samestat(other, os.lstat(os.path.join(self._root, real)))
        except OSError:
            return False

    def _fail(self, real: str, reason: str) -> None:
        """Report a failure once; its stamp matches no file, so that it is judged anew each time."""
        self.found += 1
        path = NotePath(real.encode(errors="surrogateescape").decode(errors="backslashreplace"))
        if self._known.pop(path, None) != Stamp(0, 0, UNREAD):
            self.changes.append(Failed(path, reason))


def is_passing(name: str) -> bool:
    """Whether nothing that happens to a name matters: it is hidden, or there for a moment only."""
    return is_hidden(name) or name.endswith(_PASSING)


def holds_files(root: str) -> bool:
    """Whether the vault has any file outside hidden folders; false when it cannot be listed."""
    for _, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not is_hidden(name)]
        if not all(map(is_passing, files)):
            return True
    return False


def targets_of(root: str, touched: Iterable[str]) -> list[str]:
    """Choose what to look at when these names were touched, each relative to the vault.

    A name that other names could fall together with is judged beside its neighbours, so its
    folder is looked at; what lies under another target is left out.
    """
    chosen = set()
    for name in touched:
        while name and not _stands_alone(root, name):
            name = os.path.dirname(name)  # noqa: PLW2901 -- walks up
        chosen.add(name)
    targets: list[str] = []
    for name in sorted(chosen, key=lambda name: name and name + "/"):
        if not targets or (targets[-1] and not name.startswith(targets[-1] + "/")):
            targets.append(name)
    return targets


def _stands_alone(root: str, name: str) -> bool:
    if name.isascii():
        return True
    is_nfc = unicodedata.is_normalized("NFC", name)
    return is_nfc and (unicodedata.is_normalized("NFD", name) or os.path.lexists(os.path.join(root, name)))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
