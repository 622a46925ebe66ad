"""Text to search terms in its language, and back to highlights; pure.

One analysis serves the index, the queries and the highlights, so that they agree:

- a word is folded (case, accents, Arabic and Hebrew points, full width) after it was cut to
  its Snowball stem in the text's language, or in the commonest language of its script;
- scripts without blanks between words are cut into overlapping n-grams: single characters
  and pairs for Chinese, Japanese and Korean, pairs and threes for Thai, Lao, Khmer, Burmese
  (decision record 0004 has the measurements);
- Vietnamese, whose words are several syllables written apart, adds pairs of syllables, since
  folding its tones makes single ones too alike;
- odd tokens (`ERR_1042`, `v0.14.12`, `C++`, paths, dates) add one term as typed to those of
  their words.
"""

import itertools
import operator
import re
import threading
import unicodedata
from collections.abc import Collection, Iterable
from typing import Final

import Stemmer

from bridge.language import script_of

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
_PLAIN: Final = f"{_LETTER}+(?:[{_MARKS}]+{_LETTER}*)*"
_SIGNS: Final = r"[._\-/+#@:\\]"
_WORD: Final = re.compile(f"[{_NO_BLANKS}]+|{_PLAIN}")
_ODD: Final = r"{plain}(?:" + _SIGNS + r"{{1,3}}{plain})*(?:\+\+|[+#](?![\w+#]))?"
_TOKEN: Final = re.compile(f"{_ODD.format(plain=_PLAIN)}|[{_NO_BLANKS}]+")
"""A word, an odd token (words joined by signs, `C++`, `C#`) or a run without blanks."""
_ASCII_TOKEN: Final = re.compile(_ODD.format(plain="[A-Za-z0-9]+"))
_RUN: Final = re.compile(f"[{_NO_BLANKS}]")
_HALF_WIDTH: Final = re.compile("[\uff66-\uff9f]")
_SIGN: Final = re.compile(_SIGNS)
_VERSION: Final = re.compile(r"v\d+\.")
_PARTED: Final = re.compile(r"[/@:\\]+")
_LONGEST: Final = 64
"""Words beyond are encoded data, tokens beyond are addresses: neither is searched for whole."""

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


class _Cache(dict[str, str]):
    """What each token met becomes, so that it is analysed once; emptied when it grows too large.

    Of itself it gives words as they stand, folded, and the characters of runs.
    """

    _MOST = 20_000
    _LONGEST_RUN = 6

    def __missing__(self, token: str) -> str:
        if _RUN.match(token):
            made, kept = self.run(_folded_run(token)), len(token) <= self._LONGEST_RUN
        else:
            made, kept = " ".join(self.words(token)), len(token) <= _LONGEST
        if kept:
            if len(self) >= self._MOST:
                self.clear()
            self[token] = made
        return made

    def words(self, token: str) -> list[str]:
        return [self.word(word) for word in _WORD.findall(token) if len(word) <= _LONGEST]

    def word(self, word: str) -> str:
        return fold(word)

    def run(self, run: str) -> str:
        return " ".join(run)


class _Terms(_Cache):
    """Search terms: the folded stem of a word in one language, odd tokens as typed, n-grams of a run."""

    def __init__(self, language: str) -> None:
        latin = None if language in _UNSTEMMED else _LATIN_STEMMERS.get(language, "english")
        names = _OTHER_STEMMERS | ({"Latin": latin} if latin else {})
        self._stemmers = {script: Stemmer.Stemmer(name, 0) for script, name in names.items()}
        self._one_at_a_time = threading.Lock()  # a Snowball stemmer keeps its word in itself

    def words(self, token: str) -> list[str]:
        return super().words(token) + _exact(token)

    def word(self, word: str) -> str:
        stemmer = self._stemmers.get(script_of(word[0]))
        if stemmer is None:
            return fold(word)
        with self._one_at_a_time:
            stem = stemmer.stemWord(unicodedata.normalize("NFC", word.casefold()))
        return fold(stem)

    def run(self, run: str) -> str:
        return " ".join([" ".join(_grams(run, size)) for size in _gram_sizes(run)])


class _PerLanguage(dict[str, _Terms]):
    def __missing__(self, language: str) -> _Terms:
        self[language] = made = _Terms(language)
        return made


_LITERAL: Final = _Cache()
_TERMS: Final = _PerLanguage()


def _tokens(text: str) -> list[str]:
    return (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)


def terms(text: str, language: str) -> str:
    """Make the blank-separated search terms of a text in its language."""
    return terms_and_literal(text, language)[0]


def literal(text: str) -> str:
    """Make the words of a text as they stand, folded only: what a quoted phrase is matched with."""
    return " ".join(map(_LITERAL.__getitem__, _tokens(text)))


def terms_and_literal(text: str, language: str) -> tuple[str, str]:
    """Make both of a text in one pass."""
    tokens = _tokens(text)
    made = " ".join(map(_TERMS[language].__getitem__, tokens))
    as_it_stands = " ".join(map(_LITERAL.__getitem__, tokens))
    if language == "vi":
        made = " ".join([made, *_pairs(as_it_stands)])
    return made, as_it_stands


def head(name: str) -> str:
    """Give the first two words of a name as they stand, to find names in a text by."""
    return " ".join(literal(name).split()[:2])


def exact_terms(text: str) -> str:
    """Make the terms of a text's odd tokens alone, as typed but for case, with their odd parts.

    >>> exact_terms("see src/main.rs of v0.14.12")
    'src/main.rs main.rs v0.14.12 0.14.12'
    """
    return " ".join(part for token in _tokens(text) for part in _exact(token))


def query_terms(text: str, languages: Collection[str]) -> tuple[tuple[str, ...], ...]:
    """Make the terms that each word of a query may stand for in any of the languages.

    The first variant of a word is that of the first language; odd tokens come as words of
    their own, and a run without blanks as its longest n-grams.
    """
    caches = [_TERMS[language] for language in languages]
    words: dict[tuple[str, ...], None] = {}
    for word in _WORD.findall(text):
        if _RUN.match(word):
            run = _folded_run(word)
            words.update(((gram,), None) for gram in _grams(run, _gram_sizes(run)[-1]))
        elif variants := tuple(filter(None, dict.fromkeys(cache[word] for cache in caches))):
            words[variants] = None
    further = [*exact_terms(text).split(), *(_pairs(literal(text)) if "vi" in languages else ())]
    words.update(((term,), None) for term in further)
    return tuple(words)


def highlights(passage: str, query_terms: frozenset[str], language: str) -> tuple[tuple[int, int], ...]:
    """Find where a passage has a query's terms: `[start, end)` in code points, in order, apart."""
    cache = _TERMS[language]
    spans: list[tuple[int, int]] = []
    for match in _WORD.finditer(passage):
        if _RUN.match(match.group()):
            spans.extend(_spans_in_run(match.group(), match.start(), query_terms))
        elif cache[match.group()] in query_terms:
            spans.append(match.span())
    if any(_SIGN.search(term) for term in query_terms):
        spans.extend(
            match.span()
            for match in _TOKEN.finditer(passage)
            if not query_terms.isdisjoint(_exact(match.group()))
        )
    return tuple(_joined(sorted(spans)))


def _spans_in_run(run: str, start: int, query_terms: frozenset[str]) -> Iterable[tuple[int, int]]:
    folded = _folded_run(run)
    for size in _gram_sizes(folded):
        for at, gram in enumerate(_grams(folded, size)):
            if gram in query_terms:
                # Half-width kana and split Hangul change places when folded: mark all of them.
                whole = len(folded) != len(run)
                yield (start, start + len(run)) if whole else (start + at, start + at + size)


def _folded_run(run: str) -> str:
    """Compose a run's characters; half-width kana become full ones, while Thai vowels stay whole."""
    return unicodedata.normalize("NFKC" if _HALF_WIDTH.search(run) else "NFC", run)


def _gram_sizes(run: str) -> tuple[int, ...]:
    """Threes carry Thai and its neighbours, whose letters say less than an ideograph."""
    syllabic = run[0] < "\u1100" or "\u1780" <= run[0] < "\u1800"
    if len(run) == 1:
        return (1,)
    if syllabic:
        return (2, 3) if len(run) > 2 else (2,)
    return (1, 2)


def _grams(run: str, size: int) -> Iterable[str]:
    match size:
        case 1:
            return run
        case 2:
            return map(operator.add, run, run[1:])
        case _:
            return [run[at : at + size] for at in range(len(run) - size + 1)]


def _pairs(literal_words: str) -> Iterable[str]:
    return map("_".join, itertools.pairwise(literal_words.split()))


def _exact(token: str) -> list[str]:
    """Give an odd token as typed, its parts that are odd too, and a version without its `v`."""
    if token.isalnum() or not _SIGN.search(token):
        return []
    folded = token.casefold()
    parts = [folded] if len(folded) <= _LONGEST else []
    if _VERSION.match(folded):
        parts.append(folded[1:])
    if _PARTED.search(folded):
        parts.extend(part for part in _PARTED.split(folded) if _SIGN.search(part) and len(part) <= _LONGEST)
    return parts


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
