"""The values that travel along the path of a note: source, parse, chunk, stores, search.

Everything here is immutable and knows no disk, clock or network. What comes back out is in
`bridge.answers`.
"""

from dataclasses import dataclass
from typing import Any, Literal, NewType, TypeAlias

NotePath = NewType("NotePath", str)
"""A vault-relative path in NFC with `/` between segments; made by `bridge.paths.note_path`."""
Revision = NewType("Revision", str)
"""SHA-256 of a file's bytes, 64 lower-case hex digits."""
NoteId = NewType("NoteId", int)
"""63-bit hash of a path: the same after a restart and after a rebuild."""
ChunkId = NewType("ChunkId", int)
"""63-bit hash of path, heading path and text; the n-th of equal ones adds n."""

Kind: TypeAlias = Literal["note", "canvas", "transcript"]
LinkKind: TypeAlias = Literal["link", "embed", "frontmatter", "canvas"]
Mode: TypeAlias = Literal["hybrid", "keyword", "semantic"]


# --- sources: what every source delivers -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Upserted:
    """A note, canvas or transcript whose bytes are new to the index."""

    path: NotePath
    content: bytes
    modified_ns: int
    origin: str
    """Who brought it: `files`, `plugin:<device>`, `livesync`, `api:<key>`."""


@dataclass(frozen=True, slots=True)
class Touched:
    """A file whose stamp moved while its bytes did not: nothing to parse or embed."""

    path: NotePath
    modified_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class Deleted:
    """A path that is gone."""

    path: NotePath
    origin: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A path that is there but cannot be indexed; the reason is shown in its status."""

    path: NotePath
    reason: str
    modified_ns: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Attachment:
    """Any other file of the vault: a link target, never indexed."""

    path: NotePath
    modified_ns: int
    size: int


NoteChange: TypeAlias = Upserted | Touched | Deleted | Failed | Attachment


@dataclass(frozen=True, slots=True)
class Stamp:
    """What the index knows of a file without reading it."""

    modified_ns: int
    size: int
    revision: Revision


# --- parse -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link as the text says it, not yet resolved to a note.

    `target` is the path or name part alone; empty for a link into the same note.
    """

    target: str
    kind: LinkKind
    line: int
    heading: str | None = None
    block: str | None = None
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    id: str
    line: int


@dataclass(frozen=True, slots=True)
class Task:
    text: str
    done: bool
    line: int


@dataclass(frozen=True, slots=True)
class Section:
    """A run of lines under one heading path; what the chunker splits.

    `text` is the source text of the lines, as the owner wrote it, long base64 apart. `shape`
    has one letter a line: blank, `H` the section's own heading, `h` a lower one, `p` prose,
    `l` a list item's first line, `C` and `c` code or math (its first line, the others),
    `T` and `t` a table, `x` what is searched by words and never embedded.
    """

    heading_path: tuple[str, ...]
    first_line: int
    text: str
    shape: str


@dataclass(frozen=True, slots=True)
class Note:
    """All that a note's text says."""

    path: NotePath
    title: str
    kind: Kind
    frontmatter: dict[str, Any]
    aliases: tuple[str, ...]
    """From `aliases`, a frontmatter `title` and the first H1, without the title itself."""
    tags: tuple[str, ...]
    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    blocks: tuple[Block, ...]
    tasks: tuple[Task, ...]
    sections: tuple[Section, ...]
    issues: tuple[str, ...] = ()
    """What could not be understood, in words for the owner; the rest is indexed."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage small enough for the model's window.

    `text` is shown and searched by words; `embed_text` (heading path and cleaned text) is
    what the model sees, empty when there is nothing to embed.
    """

    id: ChunkId
    ordinal: int
    heading_path: tuple[str, ...]
    first_line: int
    last_line: int
    text: str
    embed_text: str


# --- search ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filter:
    """Which notes a query may see beside the key's scope."""

    path: str | None = None
    tags: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()
    modified_after_ns: int | None = None
    modified_before_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Notes that a query asks to see or to leave out: by tag, path, kind."""

    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    kinds: tuple[Kind, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tags or self.paths or self.kinds)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What a query asks for.

    `text` has its words in order, those of its phrases too: what ranks, and what the model
    sees. `phrases` must all stand in a note as they are, nothing of `without` may. A note
    must match all of `only` (all tags, any of the paths, any of the kinds) and nothing of `never`.
    """

    text: str
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    only: Narrowing = Narrowing()
    never: Narrowing = Narrowing()


@dataclass(frozen=True, slots=True)
class Scope:
    """What a key may see and do; globs over note paths, deny wins."""

    key: str
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    read_only: bool = False
    transcripts: bool = True

    @property
    def sees_all(self) -> bool:
        return not self.allow and not self.deny and self.transcripts


OWNER = Scope(key="owner")
