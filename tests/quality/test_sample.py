"""A sample of `make quality`: questions to the sample vault, each with the note that answers it."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from bridge.model import Mode
from bridge.runtime import Bridge
from tests.quality.asking import opened
from tests.quality.measures import ndcg, recall

WORDS: Final = {
    "feeding the starter": "Bread/Sourdough starter.md",
    "levain": "Bread/Sourdough starter.md",
    "grinding finer": "Coffee/Pour-over.md",
    "shed roofs": "Projects/Shed roof.md",
    "RRF": "Reading/Rank fusion.md",
    "ERR_1042": "Home network/DNS.md",
    "v0.14.12": "Home network/Raspberry Pi.md",
    "192.168.7.9": "Home network/Router.md",
    "foo_bar": "Reading/C++ notes.md",
    "C++": "Reading/C++ notes.md",
    "2024-05-11": "Bread/Log.md",
    "Krauterspiralen": "Garden/Kräuterspirale.md",
    "дубом": "Reading/Война и мир.md",
    "حروف": "Reading/الخط العربي.md",
    "自転車": "Travel/京都.md",
    "茶叶": "Travel/杭州.md",
    "김치": "Travel/서울.md",
    "พริกแกง": "Travel/เชียงใหม่.md",
}
MEANING: Final = {
    "bread from grain without gluten": "Bread/Rye bread.md",
    "websites do not open because names are not found": "Home network/DNS.md",
    "what if the house burns down and my files are lost": "Home network/Backups.md",
    "merging two result lists": "Reading/Rank fusion.md",
    "wie brühe ich Filterkaffee auf": "Coffee/Pour-over.md",
    "quiero aprender caligrafía árabe": "Reading/الخط العربي.md",
    "where to drink green tea in China": "Travel/杭州.md",
    "a Russian novel about Napoleon's war": "Reading/Война и мир.md",
}


@pytest.fixture
async def by_words(vault: Path, tmp_path: Path) -> AsyncIterator[Bridge]:
    async with opened(vault, tmp_path / "data", "none") as bridge:
        yield bridge


@pytest.fixture
async def by_meaning(models: Path, vault: Path, tmp_path: Path) -> AsyncIterator[Bridge]:
    assert (models / "multilingual-e5-small.gguf").exists()
    async with opened(vault, tmp_path / "data", "multilingual-e5-small") as bridge:
        yield bridge


async def missed(bridge: Bridge, questions: Mapping[str, str], mode: Mode, within: int) -> list[str]:
    """Give the questions whose note is not among the first answers."""
    found = {
        question: [hit.path for hit in (await bridge.search(question, mode=mode)).hits[:within]]
        for question in questions
    }
    return [question for question, path in questions.items() if path not in found[question]]


async def test_words_in_every_script_and_strings_as_typed_come_first(by_words: Bridge) -> None:
    """Stems, aliases, exact strings and unbroken scripts: the note that has them is the first hit."""
    assert [] == await missed(by_words, WORDS, "keyword", 1)


async def test_meaning_helps_and_words_stay_found(by_meaning: Bridge) -> None:
    """Hybrid finds by meaning what shares hardly a word, and loses nothing that words find."""
    assert [] == await missed(by_meaning, WORDS, "hybrid", 1)
    assert len(await missed(by_meaning, MEANING, "hybrid", 3)) <= 1


def test_measures_agree_with_figures_worked_by_hand() -> None:
    """nDCG discounts by the logarithm of the rank; recall counts what stands among the first."""
    assert ndcg(["a", "x", "b"], {"a": 1, "b": 1}) == pytest.approx(1.5 / (1 + 0.6309), abs=1e-4)
    assert ndcg(["x", "b"], {"a": 1, "b": 2}) == pytest.approx(2 * 0.6309 / (2 + 0.6309), abs=1e-4)
    assert recall(["a", "x"], {"a": 1, "b": 2}) == 0.5
