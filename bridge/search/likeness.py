"""What speaks for a note as a relative of another, and its one score; pure.

The score is 1 - exp(-sum of the weighted signals), so that it grows with each, stays below 1
and means the same from note to note. The weights come from measurement (decision record 0006),
but for those of links, which the labelled sets hide.
"""

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from bridge.answers import Why
from bridge.model import ChunkId, NoteId

Direction: TypeAlias = Literal["out", "in", "both"]

_WORDS: Final = 2.0
_NAMES: Final = 0.4
_IS_NAMED: Final = 0.2
_TAGS: Final = 0.1
_LINKED: Final[dict[Direction | None, float]] = {None: 0.0, "out": 0.4, "in": 0.4, "both": 0.6}
_THROUGH: Final = 0.25
_MOST_THROUGH: Final = 0.5

_TELLING_MEANING: Final = 0.15
_TELLING_WORDS: Final = 0.02
_TELLING_MENTION: Final = 0.25
_TELLING_TAGS: Final = 0.1
_TELLING_THROUGH: Final = 0.3
_MOST_THROUGH_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that stands in a text; `weight` in 0..1 is the higher the fewer texts have it."""

    name: str
    weight: float


@dataclass(frozen=True, slots=True)
class Tie:
    """How links bind two notes: straight, and by others that are linked with both."""

    direction: Direction | None
    through: dict[NoteId, float]
    """The shared neighbours, each the weightier the fewer neighbours it has itself."""

    @property
    def indirect(self) -> float:
        return sum(self.through.values())


@dataclass(frozen=True, slots=True)
class SharedTags:
    tags: tuple[str, ...]
    weight: float
    """In 0..1, the higher the fewer notes have them."""


@dataclass(slots=True)
class Likeness:
    """What speaks for one note; every figure in 0..1, `meaning` below 0 where notes point apart."""

    meaning: float = 0.0
    words: float = 0.0
    chunk_id: ChunkId | None = None
    """The passage with the shared words."""
    names: Mention | None = None
    """What of this note's names stands in the source."""
    is_named: Mention | None = None
    """What of the source's names stands in this note."""
    tie: Tie = field(default_factory=lambda: Tie(None, {}))
    shared: SharedTags = SharedTags((), 0.0)

    @property
    def score(self) -> float:
        """Sum the signals; a link is a mention already."""
        named, is_named = (mention.weight if mention else 0.0 for mention in self.mentions)
        total = (
            max(0.0, self.meaning)
            + _WORDS * self.words
            + _NAMES * named
            + _IS_NAMED * is_named
            + _LINKED[self.tie.direction]
            + min(_MOST_THROUGH, _THROUGH * self.tie.indirect)
            + _TAGS * self.shared.weight
        )
        return 1 - math.exp(-total)

    @property
    def mentions(self) -> tuple[Mention | None, Mention | None]:
        """What is mentioned in the source and in this note, where no link says so."""
        return (
            None if self.tie.direction in ("out", "both") else self.names,
            None if self.tie.direction in ("in", "both") else self.is_named,
        )

    @property
    def by_words(self) -> bool:
        """Whether words are worth showing, and speak louder than meaning."""
        quiet = self.meaning < max(_TELLING_MEANING, _WORDS * self.words)
        return self.words >= _TELLING_WORDS and quiet

    @property
    def tells(self) -> bool:
        """Whether any of it is worth saying."""
        return bool(self.why(None, ("",), {}))

    def why(
        self, cosine: float | None, words: tuple[str, ...], path_of: Mapping[NoteId, str]
    ) -> tuple[Why, ...]:
        """Say what speaks for the note; `words` are the shared ones, as they stand."""
        reasons = []
        if self.tie.direction:
            reasons.append(Why("links", direction=self.tie.direction))
        directions: tuple[Direction, ...] = ("out", "in")
        for direction, mention in zip(directions, self.mentions, strict=True):
            if mention and mention.weight >= _TELLING_MENTION:
                reasons.append(Why("mention", text=mention.name, direction=direction))
        if self.words >= _TELLING_WORDS and words:
            reasons.append(Why("words", words=words))
        if self.meaning >= _TELLING_MEANING:
            reasons.append(Why("meaning", cosine=cosine))
        if self.tie.indirect >= _TELLING_THROUGH:
            nearest = heapq.nsmallest(
                _MOST_THROUGH_SHOWN, self.tie.through, key=lambda id_: -self.tie.through[id_]
            )
            reasons.append(Why("links", through=tuple(path_of[id_] for id_ in nearest if id_ in path_of)))
        if self.shared.weight >= _TELLING_TAGS:
            reasons.append(Why("tags", tags=self.shared.tags))
        return tuple(reasons)
