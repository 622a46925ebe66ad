"""Text to search terms in its language, and back to highlights; pure.

One analysis serves the index, the queries and the highlights, so that they agree:

- a word is folded (case, accents, Arabic and Hebrew points, full width) after it was cut to
  its Snowball stem in the text's language, or in the commonest language of its script;
- scripts without blanks between words are cut into overlapping n-grams: single characters
  and pairs for Chinese, Japanese and Korean, pairs and threes for Thai, Lao, Khmer, Burmese
  (decision record 0004 has the measurements);
- Vietnamese, whose words are several syllables written apart, adds pairs of syllables, since
  folding its tones makes single ones too alike;
- odd tokens (`ERR_1042`, `v0.14.12`, `C++`, paths, dates) also become one term as typed.
"""

import itertools
import re
import threading
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import Stemmer

from bridge.language import language_of, script_of

__all__ = ["exact_terms", "highlights", "language_of", "literal", "query_terms", "terms"]

_NO_BLANKS: Final = (
    "\u0e01-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17e0-\u17e9"
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\u1100-\u11ff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Scripts cut into n-grams: Thai, Lao, Burmese, Khmer, Han, Kana, Hangul."""
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff\u00ad\u200c\u200d"
)
"""What belongs to a word though it is no letter: combining marks, vowel signs, joiners."""
_LETTER: Final = rf"[^\W_{_NO_BLANKS}]"
_WORD: Final = re.compile(f"[{_NO_BLANKS}]+|{_LETTER}+(?:[{_MARKS}]+{_LETTER}*)*")
_RUN: Final = re.compile(f"[{_NO_BLANKS}]")
_SYLLABIC: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_ODD: Final = re.compile(rf"{_LETTER}+(?:[._\-/+#@:\\]{{1,3}}{_LETTER}+)*(?:\+\+|[+#](?!\w))?")
_ODD_SIGN: Final = re.compile(r"[._\-/+#@:\\]")
_LONGEST: Final = 64

_FALLING_AWAY: Final = re.compile(
    "(?<!и)\u0306|[\u0300-\u0305\u0307-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06ed\u00ad\u200c\u200d]"
)
"""Marks that folding drops: accents (but not й), Hebrew points, Arabic signs, joiners."""
_ALIKE: Final = str.maketrans(
    {
        "ı": "i", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe",
        "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه",
    }
)  # fmt: skip

_LATIN_STEMMERS: Final = {
    "ca": "catalan", "da": "danish", "de": "german", "en": "english", "es": "spanish", "et": "estonian",
    "fi": "finnish", "fr": "french", "hu": "hungarian", "id": "indonesian", "it": "italian",
    "lt": "lithuanian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
_UNSTEMMED: Final = frozenset({"cs", "pl", "vi"})
_OTHER_STEMMERS: Final = {
    "Arabic": "arabic",
    "Armenian": "armenian",
    "Cyrillic": "russian",
    "Devanagari": "hindi",
    "Greek": "greek",
    "Tamil": "tamil",
}


def fold(word: str) -> str:
    """Fold a word so that case, accents, points and widths make no difference."""
    if word.isascii():
        return word.lower()
    bare = _FALLING_AWAY.sub("", unicodedata.normalize("NFKD", word.casefold()))
    return unicodedata.normalize("NFC", bare).translate(_ALIKE)


class _WordCache(dict[str, str]):
    """What each word met becomes, so that it is analysed once; emptied when it grows too large."""

    _MOST = 40_000

    def __missing__(self, word: str) -> str:
        if _RUN.match(word):
            return self.run(word)
        if len(word) > _LONGEST:
            return ""
        if len(self) >= self._MOST:
            self.clear()
        self[word] = term = self.word(word)
        return term

    def word(self, word: str) -> str:
        return fold(word)

    def run(self, run: str) -> str:
        return " ".join(_width_folded(run))


class _Terms(_WordCache):
    """Search terms: the folded stem of a word in one language, the n-grams of a run."""

    def __init__(self, language: str) -> None:
        latin = None if language in _UNSTEMMED else _LATIN_STEMMERS.get(language, "english")
        names = _OTHER_STEMMERS | ({"Latin": latin} if latin else {})
        self._stemmers = {script: Stemmer.Stemmer(name, 0) for script, name in names.items()}
        self._one_at_a_time = threading.Lock()  # a Snowball stemmer keeps its word in itself

    def word(self, word: str) -> str:
        stemmer = self._stemmers.get(script_of(word[0]))
        if stemmer is None:
            return fold(word)
        with self._one_at_a_time:
            stem = stemmer.stemWord(unicodedata.normalize("NFC", word.casefold()))
        return fold(stem)

    def run(self, run: str) -> str:
        return " ".join(gram for size in _gram_sizes(run) for gram in _grams(run, size))


class _PerLanguage(dict[str, _Terms]):
    def __missing__(self, language: str) -> _Terms:
        self[language] = made = _Terms(language)
        return made


_LITERALS: Final = _WordCache()
_TERMS: Final = _PerLanguage()


def terms(text: str, language: str) -> str:
    """Make the blank-separated search terms of a text in its language."""
    made = " ".join(map(_TERMS[language].__getitem__, _WORD.findall(text)))
    return f"{made} {' '.join(_pairs(text))}" if language == "vi" else made


def literal(text: str) -> str:
    """Make the words of a text as they stand, folded only: what a quoted phrase is matched with."""
    return " ".join(map(_LITERALS.__getitem__, _WORD.findall(text)))


def exact_terms(text: str) -> str:
    """Make the terms of a text's odd tokens, as typed but for case, with their odd parts.

    `src/main.rs` gives `src/main.rs main.rs`; `v0.14.12` gives `v0.14.12 0.14.12`.
    """
    candidates = " ".join(token for token in text.split() if not token.isalnum())
    return " ".join(
        part for token in _ODD.findall(candidates) if not token.isalnum() for part in _parts(token)
    )


def query_terms(text: str, languages: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Make the terms that each word of a query may stand for in any of the languages.

    The first variant of a word is that of the first language; odd tokens come as words of
    their own, and a run without blanks as its longest n-grams.
    """
    caches = [_TERMS[language] for language in languages] or [_TERMS[""]]
    words: dict[tuple[str, ...], None] = {}
    for word in _WORD.findall(text):
        if _RUN.match(word):
            words.update(((gram,), None) for gram in _grams(word, max(_gram_sizes(word))))
        elif variants := tuple(filter(None, dict.fromkeys(cache[word] for cache in caches))):
            words[variants] = None
    extra = exact_terms(text).split() + (_pairs(text) if "vi" in languages else [])
    words.update(((term,), None) for term in extra)
    return tuple(words)


def highlights(passage: str, query_terms: frozenset[str], language: str) -> tuple[tuple[int, int], ...]:
    """Find where a passage has a query's terms: `[start, end)` in code points, in order, apart."""
    cache = _TERMS[language]
    spans: list[tuple[int, int]] = []
    for match in _WORD.finditer(passage):
        word, start = match.group(), match.start()
        if _RUN.match(word):
            spans.extend(
                (start + at, start + at + size)
                for size in _gram_sizes(word)
                for at, gram in enumerate(_grams(word, size))
                if gram in query_terms
            )
        elif cache[word] in query_terms:
            spans.append(match.span())
    if any(_ODD_SIGN.search(term) for term in query_terms):
        spans.extend(
            match.span() for match in _ODD.finditer(passage) if match.group().casefold() in query_terms
        )
    return tuple(_joined(sorted(spans)))


def _gram_sizes(run: str) -> Sequence[int]:
    sizes = (2, 3) if _SYLLABIC.match(run) else (1, 2)
    return [size for size in sizes if size <= len(run)] or [len(run)]


def _grams(run: str, size: int) -> list[str]:
    run = _width_folded(run)
    return [run[at : at + size] for at in range(len(run) - size + 1)]


def _width_folded(run: str) -> str:
    """Fold half-width letters where that keeps every character's place."""
    folded = unicodedata.normalize("NFKC", run)
    return folded if len(folded) == len(run) else run


def _pairs(text: str) -> list[str]:
    words = literal(text).split()
    return [f"{first}_{second}" for first, second in itertools.pairwise(words)]


def _parts(token: str) -> Iterable[str]:
    folded = token.casefold()
    if len(folded) <= _LONGEST:
        yield folded
    if re.match(r"v\d+\.", folded):
        yield folded[1:]
    pieces = re.split(r"[/@:\\]+", folded)
    if len(pieces) > 1:
        for piece in pieces:
            if piece and not piece.isalnum() and len(piece) <= _LONGEST:
                yield piece


def _joined(spans: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """Join spans that overlap or touch."""
    current: tuple[int, int] | None = None
    for start, end in spans:
        if current and start <= current[1]:
            current = (current[0], max(current[1], end))
            continue
        if current:
            yield current
        current = (start, end)
    if current:
        yield current
