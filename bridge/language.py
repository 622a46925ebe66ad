"""The language of a text: by its script, and among Latin scripts by its function words.

A guess good enough to choose a stemmer or to doubt a model; cheap enough to make for every
chunk and every query.
"""

import re
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

_SAMPLE: Final = 800
_LETTERS: Final = re.compile(r"[^\W\d_]+")

_BLOCKS: Final = (
    (0x0000, "Latin"),
    (0x0370, "Greek"),
    (0x0400, "Cyrillic"),
    (0x0530, "Armenian"),
    (0x0590, "Hebrew"),
    (0x0600, "Arabic"),
    (0x0780, ""),
    (0x0900, "Devanagari"),
    (0x0980, "Bengali"),
    (0x0A00, ""),
    (0x0B80, "Tamil"),
    (0x0C00, ""),
    (0x0E00, "Thai"),
    (0x0E80, "Lao"),
    (0x0F00, ""),
    (0x1000, "Myanmar"),
    (0x10A0, "Georgian"),
    (0x1100, "Hangul"),
    (0x1200, ""),
    (0x1780, "Khmer"),
    (0x1800, ""),
    (0x1E00, "Latin"),
    (0x1F00, "Greek"),
    (0x2000, ""),
    (0x2C60, "Latin"),
    (0x2C80, ""),
    (0x3005, "Han"),
    (0x3008, ""),
    (0x3041, "Kana"),
    (0x3100, ""),
    (0x3130, "Hangul"),
    (0x3190, ""),
    (0x31F0, "Kana"),
    (0x3200, ""),
    (0x3400, "Han"),
    (0xA000, ""),
    (0xAC00, "Hangul"),
    (0xD7B0, ""),
    (0xF900, "Han"),
    (0xFB00, "Latin"),
    (0xFB13, ""),
    (0xFB50, "Arabic"),
    (0xFE00, ""),
    (0xFE70, "Arabic"),
    (0xFF00, "Latin"),
    (0xFF66, "Kana"),
    (0xFFA0, ""),
    (0x20000, "Han"),
    (0x40000, ""),
)
"""Where each Unicode block of interest begins, and the script that it holds."""
_STARTS: Final = tuple(start for start, _ in _BLOCKS)

_LANGUAGE_OF_SCRIPT: Final = {
    "Greek": "el",
    "Cyrillic": "ru",
    "Armenian": "hy",
    "Hebrew": "he",
    "Arabic": "ar",
    "Devanagari": "hi",
    "Bengali": "bn",
    "Tamil": "ta",
    "Thai": "th",
    "Lao": "lo",
    "Myanmar": "my",
    "Georgian": "ka",
    "Hangul": "ko",
    "Khmer": "km",
    "Kana": "ja",
    "Han": "zh",
}
_OWN_LETTERS: Final = {
    "Cyrillic": (("uk", "іїєґ"), ("be", "ў"), ("sr", "ђћљњџј"), ("ru", "ыэё")),
    "Arabic": (("ur", "ٹڈڑےں"), ("fa", "پچژگی")),
}
"""Letters that one language of a script has and its commonest one lacks, first found wins."""

_FUNCTION_WORDS: Final = {
    "en": "the of and to in is that it for was with as on are this be by from at not which have has an "
    "or you what how when who where why does did can will would should his their were been its "
    "than over under between during after into our we they no so do",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an "
    "werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum "
    "war haben nur oder aber vor zur bis mehr durch man wurde was wer wo warum welche welcher ich "
    "kein wann wieviel viel welches wurden",
    "fr": "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce il sont "
    "avec son aux ou cette être sa été dont où comme mais ces ses nous quel quelle comment "
    "pourquoi je combien quand quels quelles ai peut tout si",
    "es": "de la que el en los se del las un por con no una su para es al lo como más pero sus le ha me "
    "si sin sobre este ya entre cuando todo esta ser son fue qué cuál cómo quién dónde era también "
    "muy cuánto cuántos cuántas cuáles cuándo",
    "it": "di il la che in per un del non della una con le da si dei al sono come gli ha nel alla più "
    "anche lo dal delle ma nella su questo essere dalla cosa chi quale dove perché degli stato era "
    "quanto quanti quante quali quando io",
    "pt": "de que do da em um para com não uma os no se na por mais as dos como mas foi ao ele das tem "
    "seu sua ou ser quando muito há nos já está eu também só pelo pela até isso qual quem onde são "
    "quanto quantos quantas quais",
    "nl": "de van een en het in is dat op te zijn met voor niet die er aan om ook als dan maar bij nog "
    "uit of door naar over hij wordt werd worden heeft deze tot hebben wat wie waar hoe waarom "
    "welke ik geen hoeveel wanneer",
    "sv": "och att det som en på är av för med den till ett om har de inte var vid från eller så kan men "
    "ska sig också när hur vad vilken varför efter blev jag nu vilka många",
    "no": "og det som en på er av for med til at et om har de ikke var fra eller så kan men seg også når "
    "hvordan hva hvem hvilken ble etter jeg nå ved",
    "da": "og det som en på er af for med til at et om har de ikke var fra eller så kan men sig også når "
    "hvordan hvad hvem hvilken blev efter jeg nu ved",
    "fi": "ja on ei se että oli joka hän mutta ovat kun myös tai niin kuin ole jossa sekä mukaan mitä "
    "mikä kuka missä miksi miten minä tämä sen",
    "hu": "az és hogy nem is egy van volt csak meg de ez azt már még vagy mint ki mi kell aki mely amely "
    "szerint milyen hogyan miért hol melyik után",
    "ro": "de și în la cu pe din un că nu se mai este pentru sunt ce au fost prin dar sau după să lui "
    "între unde cine cum al ale fi câte câți când care",
    "tr": "ve bir bu da de için ile olarak çok daha gibi olan ne kadar sonra en var mi ya hangi nasıl "
    "neden kim nerede değil ise göre her olduğu tarafından kaç hangisi nedir",
    "pl": "na się do nie to że jest jak po co od za przez dla czy są był była oraz które który która "
    "przed kto gdzie dlaczego jaki tym ich kiedy ile jakie",
    "cs": "se na je že do to ve pro jako za by jsou který která které od po byl ale nebo tak co kdo kde "
    "proč jak při není také kdy kolik jaký",
    "ca": "de la el que en les per un una els és amb del no al com són ha va més dels aquest aquesta "
    "però seva seu quin quina qui on",
    "id": "yang dan di untuk dari dengan pada ini itu dalam tidak akan adalah oleh ke sebagai juga atau "
    "karena apa siapa bagaimana mengapa bisa ada saya",
    "vi": "và của là không có được cho một các trong với người những đã này khi từ đến để nào gì như về "
    "tại sao ai năm bị",
    "lt": "ir kad yra iš su tai kaip bet nuo apie buvo ar jo po už per dėl taip kurie kas kur",
    "et": "ja on ei et oli ka kui mis aga või oma nii tema siis kes kus selle olid mida",
}
_LETTER_VOTES: Final = {
    "de": "ß",
    "es": "ñ¿¡",
    "pt": "ãõ",
    "ro": "ășțţ",
    "tr": "ğı",
    "hu": "őű",
    "pl": "łżźąęśń",
    "cs": "řěů",
    "da": "æø",
    "no": "æø",
    "sv": "å",
    "vi": "ơưđạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
}
"""Letters that speak for a Latin-script language even in a short query."""


def script_of(letter: str) -> str:
    """Name the script of a letter; empty for one that we treat in no special way."""
    return _BLOCKS[bisect(_STARTS, ord(letter)) - 1][1]


def language_of(text: str) -> str:
    """Guess the ISO 639-1 code of a text's language; empty when unsure."""
    sample = text[:_SAMPLE].casefold()
    if not sample.isascii():
        script = _main_script(sample)
        if script != "Latin":
            return _language_in(script, sample)
    return _latin_language(sample)


def function_words(language: str) -> str:
    """Give the words of a language that are in every text, blank-separated; none where none are known."""
    return _FUNCTION_WORDS.get(language, "")


def _main_script(sample: str) -> str:
    letters: Counter[str] = Counter()
    for letter, count in Counter(sample).items():
        if letter.isalpha():
            letters[script_of(letter)] += count
    letters["Han"] += letters["Kana"]
    # An ideograph says about as much as half a word, so it outweighs two Latin letters.
    heavy = {"Han": 3, "Hangul": 2, "Latin": 1}
    script = max(letters, key=lambda name: letters[name] * heavy.get(name, 1), default="")
    if script == "Han" and 20 * letters["Kana"] > letters["Han"]:
        return "Kana"
    return script


def _language_in(script: str, sample: str) -> str:
    for language, letters in _OWN_LETTERS.get(script, ()):
        if any(letter in sample for letter in letters):
            return language
    return _LANGUAGE_OF_SCRIPT.get(script, "")


def _latin_language(sample: str) -> str:
    words = _LETTERS.findall(sample)
    votes: defaultdict[str, float] = defaultdict(float)
    for word in words:
        for language, vote in _VOTES.get(word, ()):
            votes[language] += vote
    if not sample.isascii():
        for letter in set(sample):
            for language, vote in _VOTES.get(letter, ()) if letter > "\x7f" else ():
                votes[language] += vote
    if not votes:
        return ""
    first, *rest = sorted(votes, key=lambda language: -votes[language])
    lead = votes[first] - (votes[rest[0]] if rest else 0.0)
    return first if lead >= 0.5 and votes[first] >= 0.03 * len(words) else ""


def _shared_votes(claims: Iterable[tuple[str, str]]) -> dict[str, tuple[tuple[str, float], ...]]:
    claimed: defaultdict[str, list[str]] = defaultdict(list)
    for language, sign in claims:
        claimed[sign].append(language)
    return {
        sign: tuple((language, 1.0 / len(languages)) for language in languages)
        for sign, languages in claimed.items()
    }


_VOTES: Final = _shared_votes(
    [(language, word) for language, words in _FUNCTION_WORDS.items() for word in words.split()]
    + [(language, letter) for language, letters in _LETTER_VOTES.items() for letter in letters]
)
