"""What the bridge answers: the same values for REST, the page and the command line.

Times are RFC 3339 in UTC; `lines` are 1-based and inclusive; `highlights` are `[start, end)`
in code points of the passage.

Values are dataclasses; the few whose wire form drops unused fields or needs another name are
`msgspec.Struct`s, so that one definition serves Python, JSON and the schema.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from bridge.model import Block, Heading, Kind, LinkKind

Signal: TypeAlias = Literal["keyword", "semantic", "graph"]
FeedType: TypeAlias = Literal["indexed", "removed", "progress", "livesync", "conflict"]
MissingReason: TypeAlias = Literal["deadline", "no_model", "indexing", "endpoint_down"]


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
    lines: tuple[int, int]
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
