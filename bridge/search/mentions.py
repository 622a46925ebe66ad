"""Mentions without a link: names of notes that stand in another's text."""

import asyncio
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from bridge.model import NoteId
from bridge.search.likeness import Mention
from bridge.search.visible import NoteSet
from bridge.stores.database import Database
from bridge.stores.fulltext import Fulltext
from bridge.words import literal

_MOST_WORDS = 3000
_MOST_NAMES = 40
_MOST_NOTES = 200


class Mentions:
    """Finds mentions by the names that are stored and the words that stand in the full text."""

    def __init__(self, db: Database, fulltext: Fulltext) -> None:
        self._db = db
        self._fulltext = fulltext

    async def of_others(self, texts: Sequence[str], notes: NoteSet) -> dict[NoteId, Mention]:
        """Find the names of other notes in a text, the weightiest of each note."""
        words, heads = await asyncio.to_thread(_heads, texts)
        rows = await self._db.rows(
            "SELECT note_id, name FROM names WHERE head IN (SELECT value FROM json_each(?))", (heads,)
        )
        visible = [(note, name) for note, name in rows if notes is None or note in notes]
        return await asyncio.to_thread(self._weigh, f" {words} ", visible)

    async def of_names(self, names: Sequence[str], notes: NoteSet) -> dict[NoteId, Mention]:
        """Find the notes in whose texts one of the names stands."""
        found: dict[NoteId, Mention] = {}
        for name in names:
            if not _is_name(literal(name)):
                continue
            having = await asyncio.to_thread(self._fulltext.naming, name, _MOST_NOTES)
            mention = Mention(name, await asyncio.to_thread(self._weight, name))
            for note in having:
                if (notes is None or note in notes) and not _heavier(found.get(note), mention):
                    found[note] = mention
        return found

    def _weigh(self, text: str, rows: Sequence[tuple[NoteId, str]]) -> dict[NoteId, Mention]:
        named: dict[str, list[tuple[NoteId, str]]] = defaultdict(list)
        for note, name in rows:
            named[literal(name)].append((note, name))
        standing = [words for words in named if _is_name(words) and f" {words} " in text]
        standing.sort(key=len, reverse=True)
        found: dict[NoteId, Mention] = {}
        for words in standing[:_MOST_NAMES]:
            weight = self._weight(words)
            for note, name in named[words]:
                mention = Mention(name, weight)
                if not _heavier(found.get(note), mention):
                    found[note] = mention
        return found

    def _weight(self, name: str) -> float:
        """Weigh a name by how many chunks have it: its idf as a part of the highest there is."""
        chunks = self._fulltext.chunks + 1
        count = max(1, self._fulltext.count_of(name))
        return max(0.0, math.log(chunks / count) / math.log(chunks)) if chunks > 1 else 0.0


def _heads(texts: Sequence[str]) -> tuple[str, str]:
    """Give a text's words as they stand, and as JSON all that may begin a name among them."""
    words = literal("\n".join(texts)).split()[:_MOST_WORDS]
    heads = {*words, *(f"{first} {second}" for first, second in pairwise(words))}
    return " ".join(words), json.dumps([*heads], ensure_ascii=False)


def _is_name(words: str) -> bool:
    """Whether these words are more than what is left of `C++` or `#1`."""
    return len(words) > 1 or not words.isascii()


def _heavier(known: Mention | None, than: Mention) -> bool:
    return known is not None and known.weight >= than.weight
