"""The values that travel along the path of a note: source, parse, chunk, stores, search, answer.

Everything here is immutable and knows no disk, clock or network. Times in answers are
RFC 3339 in UTC; `lines` are 1-based and inclusive; `highlights` are `[start, end)` in code
points of the passage.

Values are dataclasses; the few whose wire form drops unused fields or needs another name are
`msgspec.Struct`s, so that one definition serves Python, JSON and the schema.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, NewType, TypeAlias

from msgspec import Struct

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
Signal: TypeAlias = Literal["keyword", "semantic", "graph"]
FeedType: TypeAlias = Literal["indexed", "removed", "progress", "livesync", "conflict"]
MissingReason: TypeAlias = Literal["deadline", "no_model", "indexing", "endpoint_down"]


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


class SignalScore(Struct, frozen=True, omit_defaults=True):
    """A note's place in one ranking: rank from 1; `score` in 0..1, or hops for the graph."""

    rank: int
    score: float | None = None
    hops: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    path: str
    title: str
    kind: Kind
    heading_path: tuple[str, ...]
    passage: str
    highlights: tuple[tuple[int, int], ...]
    lines: tuple[int, int]
    score: float
    signals: dict[Signal, SignalScore]
    modified: str
    revision: str
    open_url: str


@dataclass(frozen=True, slots=True)
class MissingSignal:
    signal: Signal
    reason: MissingReason


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    hits: tuple[Hit, ...]
    signals_used: tuple[Signal, ...]
    signals_missing: tuple[MissingSignal, ...]
    coverage: float | None
    took_ms: float


class Why(Struct, frozen=True, omit_defaults=True):
    """One reason why two notes belong together.

    `meaning` carries `cosine`; `words` the shared distinctive `words`; `mention` the
    `text` mentioned and its `direction`; `links` the `direction` or the shared neighbours
    `through`; `tags` the shared `tags`. Unused fields are absent on the wire.
    """

    kind: Literal["meaning", "words", "mention", "links", "tags"]
    cosine: float | None = None
    words: tuple[str, ...] | None = None
    text: str | None = None
    direction: Literal["out", "in", "both"] | None = None
    through: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class RelatedHit:
    path: str
    title: str
    kind: Kind
    score: float
    cosine: float | None
    linked: Literal["out", "in", "both"] | None
    pinned: bool
    passage: str
    heading_path: tuple[str, ...]
    lines: tuple[int, int] | None
    why: tuple[Why, ...]
    open_url: str


@dataclass(frozen=True, slots=True)
class RelatedAnswer:
    path: str | None
    hits: tuple[RelatedHit, ...]
    coverage: float | None


# --- notes and graph ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    target: str
    path: str | None
    heading: str | None
    block: str | None
    alias: str | None
    embed: bool
    line: int


@dataclass(frozen=True, slots=True)
class Backlink:
    path: str
    title: str
    line: int


@dataclass(frozen=True, slots=True)
class NoteSummary:
    path: str
    title: str
    kind: Kind
    modified: str
    size: int
    revision: str


@dataclass(frozen=True, slots=True)
class NoteView:
    path: str
    title: str
    kind: Kind
    content: str
    frontmatter: dict[str, Any]
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    headings: tuple[Heading, ...]
    links: tuple[ResolvedLink, ...]
    backlinks: tuple[Backlink, ...]
    revision: str
    modified: str
    size: int


@dataclass(frozen=True, slots=True)
class NoteMap:
    path: str
    title: str
    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    frontmatter_keys: tuple[str, ...]
    size: int
    lines: int
    revision: str


@dataclass(frozen=True, slots=True)
class GraphLink:
    """One end of a link: `path` when it resolves (then `title` is set), else `target` alone."""

    target: str
    path: str | None
    title: str | None
    kind: LinkKind
    line: int
    ambiguous: tuple[str, ...] = ()
    """Other notes that the same target could mean; empty when it is clear."""


class GraphLinks(Struct, frozen=True, rename={"in_": "in"}):
    path: str
    out: tuple[GraphLink, ...]
    in_: tuple[GraphLink, ...]
    unresolved: tuple[GraphLink, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphNode:
    path: str
    title: str
    hops: int


class GraphEdge(Struct, frozen=True, rename={"from_": "from"}):
    from_: str
    to: str
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class Neighbors:
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


@dataclass(frozen=True, slots=True)
class Unresolved:
    target: str
    count: int
    sources: tuple[str, ...]


# --- status and changes ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VaultCounts:
    notes: int
    canvases: int
    transcripts: int
    chunks: int
    links: int


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    model: str
    dimensions: int | None
    embedded: int
    pending: int
    state: Literal["off", "loading", "ready", "embedding", "failed", "endpoint_down"] = "off"
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FilesStatus:
    state: Literal["scanning", "watching", "polling", "held"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class LiveSyncStatus:
    state: Literal["off", "connecting", "catching_up", "live", "held", "stopped"] = "off"
    reason: str | None = None
    done: int = 0
    total: int = 0
    pending: int = 0
    failed: int = 0
    checkpoint: str | None = None
    last_contact: str | None = None
    conflicts: int = 0


@dataclass(frozen=True, slots=True)
class Device:
    name: str
    last_seen: str
    livesync: bool


@dataclass(frozen=True, slots=True)
class PluginStatus:
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True)
class Sources:
    files: FilesStatus
    livesync: LiveSyncStatus = field(default_factory=LiveSyncStatus)
    plugin: PluginStatus = field(default_factory=PluginStatus)


@dataclass(frozen=True, slots=True)
class Status:
    vault: VaultCounts
    embedding: EmbeddingStatus
    coverage: float | None
    settled: bool
    sources: Sources


@dataclass(frozen=True, slots=True)
class NoteStatus:
    path: str
    state: Literal["indexed", "waiting", "excluded", "failed", "absent"]
    reason: str | None = None
    chunks: int = 0
    embedded: int = 0
    revision: str | None = None
    issues: tuple[str, ...] = ()
    pending: int = 0


@dataclass(frozen=True, slots=True)
class RecentChange:
    path: str
    title: str
    kind: Kind
    change: Literal["created", "modified", "deleted", "renamed"]
    at: str
    origin: str
    old_path: str | None = None


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One entry of the change feed; `data` holds the fields of its type."""

    seq: int
    type: FeedType
    data: dict[str, Any]
