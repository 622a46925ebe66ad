"""Note paths: vault-relative, `/` between segments, NFC; and their stable ids."""

import hashlib
import unicodedata
from pathlib import PurePosixPath

from bridge.errors import InvalidPath
from bridge.model import NoteId, NotePath

NOTE_SUFFIXES = frozenset({".md", ".canvas"})


def note_path(text: str) -> NotePath:
    """Check and normalise a path that came from outside.

    Raises `InvalidPath` for absolute paths, `..` or `.` segments, empty segments, NUL,
    backslash-rooted or drive paths.
    """
    if not text or "\0" in text or text.startswith(("/", "\\")) or text[1:3] in (":\\", ":/"):
        raise InvalidPath("That is not a path inside the vault.", path=text)
    if any(part in ("", ".", "..") for part in text.split("/")):
        raise InvalidPath("That is not a path inside the vault.", path=text)
    return NotePath(unicodedata.normalize("NFC", text))


def note_id(path: NotePath) -> NoteId:
    """Hash a path to its 63-bit id (BLAKE2b)."""
    digest = hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return NoteId(int.from_bytes(digest, "big") >> 1)


def title_of(path: str) -> str:
    """The file's name without its ending, as Obsidian shows it."""
    name = path.rsplit("/", 1)[-1]
    stem, dot, suffix = name.rpartition(".")
    return stem if dot and stem and "." + suffix.lower() in NOTE_SUFFIXES else name


def is_note(path: str) -> bool:
    """Whether the index takes this file's text."""
    return PurePosixPath(path).suffix.lower() in NOTE_SUFFIXES


def fold(text: str) -> str:
    """Fold a name for comparison as Obsidian does: NFC, case-folded, blanks joined."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def name_key(path: str) -> str:
    """The folded last segment of a path or link target, without a trailing `.md`."""
    name = path.rsplit("/", 1)[-1]
    return fold(name[:-3] if name[-3:].lower() == ".md" else name)


def is_transcript(path: str) -> bool:
    """Whether a path names a conversation (`openclaw:<agent>/<session>`) and no file of the vault."""
    return path.startswith("openclaw:")


def is_hidden(path: str) -> bool:
    """Whether a path lies where no note ever does: in or under a dot name or `node_modules`."""
    return any(part.startswith(".") or part == "node_modules" for part in path.split("/"))
