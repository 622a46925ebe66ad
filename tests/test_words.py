"""Words: the same analysis for notes, queries and highlights."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.language import language_of
from bridge.words import exact_terms, highlights, literal, query_terms, terms


def found(query: str, text: str, language: str, languages: tuple[str, ...] = ()) -> bool:
    """Whether any word of a query, read in some languages, meets a text indexed in its own."""
    indexed = set(terms(text, language).split())
    return any(indexed & set(word) for word in query_terms(query, languages or (language,)))


@pytest.mark.parametrize(
    ("language", "query", "text"),
    [
        ("en", "running", "She runs every day"),
        ("de", "Häuser", "Ein Haus am See"),
        ("ru", "книга", "В этих книгах"),
        ("es", "canciones", "una canción"),
        ("fr", "chevaux", "le cheval noir, les chevaux"),
        ("ar", "الكتاب", "قرأت كتاب"),
        ("tr", "kitaplar", "bir kitap"),
        ("el", "δρόμους", "ο δρόμος"),
        ("fi", "talossa", "iso talo"),
        ("hi", "किताबें", "एक किताब"),
    ],
)
def test_a_word_is_found_by_its_stem(language: str, query: str, text: str) -> None:
    """An inflected word finds a note that has it in another form, in the note's language."""
    assert found(query, text, language)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("cafe naive", "Café"),
        ("CAFÉ", "cafe"),
        ("Cafe\u0301", "Café"),
        ("ｆｕｌｌ", "Full width"),
        ("strasse", "Straße"),
        ("zolw", "żółw"),
        ("ISTANBUL", "İstanbul"),
        ("ещё", "еще"),
        ("كَتَبَ", "كتب"),
        ("שָׁלוֹם", "שלום"),
        ("ｶﾀ", "カタカナ"),
    ],
)
def test_accents_case_points_and_widths_make_no_difference(query: str, text: str) -> None:
    """A word is found however its accents, case, points or widths were typed."""
    language = language_of(text)

    assert found(query, text, language)


def test_short_i_is_a_letter_of_its_own() -> None:
    """Folding keeps й apart from и: they make different words."""
    assert literal("мой") != literal("мои")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("検索", "日本語の全文検索エンジン"),
        ("搜索引擎", "这是一个搜索引擎的笔记"),
        ("书", "我的书架"),
        ("검색", "전문검색엔진입니다"),
        ("ประเทศไทย", "ผมอยู่ในประเทศไทยมานาน"),
        ("ยา", "กินยาแล้ว"),
    ],
)
def test_scripts_without_blanks_are_found_inside_a_sentence(query: str, text: str) -> None:
    """Chinese, Japanese, Korean and Thai words are found inside an unbroken run, whole."""
    indexed = set(terms(text, language_of(text)).split())

    assert all(indexed & set(word) for word in query_terms(query, [""]))


@pytest.mark.parametrize(
    ("query", "text"), [("ราม", "มารา นาม"), ("検索", "索引を検査する"), ("học sinh", "sinh viên học")]
)
def test_the_same_letters_in_another_order_are_another_word(query: str, text: str) -> None:
    """N-grams and pairs of Vietnamese syllables tell a word from its scattered letters."""
    language = language_of(query)
    indexed = set(terms(text, language).split())

    assert not all(indexed & set(word) for word in query_terms(query, [language]))


def test_a_query_is_read_in_every_language_of_the_index() -> None:
    """A German query finds a German note even when its language was not guessed."""
    assert found("Häuser", "Ein Haus", "de", languages=("en", "de"))
    assert not found("Häuser", "Ein Haus", "de", languages=("en",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("failed with ERR_1042.", {"err_1042"}),
        ("since v0.14.12, fixed", {"v0.14.12", "0.14.12"}),
        ("call `foo_bar()` now", {"foo_bar"}),
        ("C++, C# and F#", {"c++", "c#", "f#"}),
        ("on 2024-05-01", {"2024-05-01"}),
        ("see src/main.rs", {"src/main.rs", "main.rs"}),
        ("使用C++编程", {"c++"}),
        ("plain words. Only, words!", set()),
        ("see https://example.org/a/b_c", {"https://example.org/a/b_c", "example.org", "b_c"}),
    ],
)
def test_odd_tokens_keep_their_signs(text: str, expected: set[str]) -> None:
    """Error codes, versions, identifiers, dates and paths are terms as typed."""
    assert expected == set(exact_terms(text).split())


def test_literal_words_are_not_stemmed_and_keep_their_order() -> None:
    """A phrase is matched with words as they stand, one a character where there are no blanks."""
    assert literal("The Running Dögs 検索") == "the running dogs 検 索"


@pytest.mark.parametrize(
    ("passage", "query", "language", "expected"),
    [
        ("Dogs run fast", "running dog", "en", ["Dogs", "run"]),
        ("Ein Haus am See", "Häuser", "de", ["Haus"]),
        ("全文検索エンジン", "検索エンジン", "ja", ["検索エンジン"]),
        ("code ERR_1042 here", "err_1042", "en", ["ERR_1042"]),
        ("e\u0301te\u0301 dernier", "été", "fr", ["e\u0301te\u0301"]),
        ("nothing here", "absent", "en", []),
        ("กินยาแล้ว", "ยา", "th", ["ยา"]),
        ("ใส่น้ำตาลทราย", "น้ำตาล", "th", ["น้ำตาล"]),
        ("ﾃｽﾄとｶﾞｰﾃﾞﾝ", "ガーデン", "ja", ["ﾃｽﾄとｶﾞｰﾃﾞﾝ"]),
    ],
)
def test_highlights_mark_what_matched(passage: str, query: str, language: str, expected: list[str]) -> None:
    """Highlights are code point spans of the words that the search found."""
    query_set = frozenset(term for word in query_terms(query, [language]) for term in word)

    assert expected == [passage[start:end] for start, end in highlights(passage, query_set, language)]


@given(st.text(max_size=200), st.text(max_size=40), st.sampled_from(["", "en", "de", "vi", "ja", "xx"]))
def test_highlights_are_ordered_and_apart(passage: str, query: str, language: str) -> None:
    """Whatever the text, spans lie inside the passage, in order, and never touch."""
    query_set = frozenset(term for word in query_terms(query, [language]) for term in word)
    spans = highlights(passage, query_set, language)
    edges = [edge for span in spans for edge in span]

    assert edges == sorted(set(edges))
    assert all(0 <= edge <= len(passage) for edge in edges)


@given(st.text(max_size=200))
def test_any_text_can_be_analysed(text: str) -> None:
    """No text makes the analysis fail, and a text's own words find it."""
    indexed = set(terms(text, "en").split()) | set(exact_terms(text).split())

    assert all(indexed & set(word) for word in query_terms(text, ["en"]))
    assert isinstance(literal(text), str)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How much protein do I need per day?", "en"),
        ("Wie viel Eiweiß brauche ich am Tag?", "de"),
        ("¿Cuánta proteína necesito al día?", "es"),
        ("De combien de protéines ai-je besoin ?", "fr"),
        ("Quante proteine mi servono al giorno e come le misuro?", "it"),
        ("Hoeveel eiwit heb ik per dag nodig en waarom?", "nl"),
        ("Сколько белка нужно в день?", "ru"),
        ("Скільки білка потрібно їсти на день?", "uk"),
        ("每天需要多少蛋白质?", "zh"),
        ("一日に必要なタンパク質は?", "ja"),
        ("하루에 단백질이 얼마나 필요해요?", "ko"),
        ("ต้องการโปรตีนเท่าไหร่", "th"),
        ("كم من البروتين أحتاج؟", "ar"),
        ("Πόση πρωτεΐνη χρειάζομαι;", "el"),
        ("मुझे कितना प्रोटीन चाहिए?", "hi"),
        ("Tôi cần bao nhiêu đạm mỗi ngày?", "vi"),
        ("", ""),
        ("12345 --- !!!", ""),
        ("PostgreSQL", ""),
        ("de la", ""),
    ],
)
def test_a_language_is_told_from_few_words(text: str, language: str) -> None:
    """A question's language is recognised; what says nothing stays unsure."""
    assert language == language_of(text)
