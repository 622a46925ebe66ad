"""The real models: tokens, vectors, windows, and queries that go first."""

import asyncio
import os
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bridge.embed import Embedder, open_embedder
from bridge.embed.catalogue import catalogue, installed, locate, sha256_of
from bridge.embed.llama import LlamaEmbedder
from bridge.embed.native import Model
from bridge.errors import InstallationError, InvalidSetting, Unavailable
from bridge.settings import EmbeddingSettings
from tests.processes import run_script

QUESTIONS = {
    "When do I water the tomatoes?": "Tomatoes want water early in the morning, at the root and never on the leaves.",
    "Wie wird das Brot knusprig?": "Im vorgeheizten Topf mit Deckel bekommt der Laib eine knusprige Kruste.",
    "Как настроить домашний сервер?": "Для сервера дома поставьте систему на карту памяти и включите доступ по сети.",
    "京都で桜が見られる時期は?": "京都の桜はふつう四月のはじめに満開になります。",
    "أين أجد وصفة القهوة؟": "طريقة تحضير القهوة مكتوبة في دفتر المطبخ على الرف.",
}
TOKENS = {
    "query: how much protein per day": [0, 41, 1294, 12, 3642, 5045, 21308, 117, 5155, 2],
    "e\u0301te\u0301": [0, 5325, 2],
    "ﾊﾟﾋﾟ ｶﾞｷﾞ": [0, 6, 21348, 36948, 6, 26618, 49111, 2],
    "👩\u200d👧 hi": [0, 6, 244785, 6, 245719, 1274, 2],
    "ภาษาไทยง่าย": [0, 6, 175832, 30672, 2],
    "العَرَبِيَّة": [0, 5537, 278, 835, 278, 1325, 488, 179, 23472, 250, 2],
    "\u1112\u1161\u11ab\u1100\u1173\u11af": [0, 170252, 2],
    "hello\n": [0, 33600, 31, 2],
    "a\nb": [0, 10, 876, 2],
    "ＡＢＣ（１）": [0, 47457, 27750, 2],
    "日本語 [x] café": [0, 6, 98449, 378, 425, 268, 26216, 2],
    "<s> x </s>": [0, 4426, 7, 2740, 1022, 6, 42946, 7, 2740, 2],
    "": [0, 2],
}
"""As sentencepiece itself gives them, built from the same pieces and character map."""


def test_what_is_made_is_the_same_everywhere(models: Path) -> None:
    """The converters write the files whose hashes the catalogue states."""
    for model in catalogue()[:2]:
        assert model.sha256 == sha256_of(installed(models)[model.name])


def test_the_default_model_splits_text_as_it_was_trained(models: Path) -> None:
    """Token ids are sentencepiece's, for decomposed accents, half-width kana, jamo and marks too."""
    model = Model(locate("multilingual-e5-small", models).path)
    found = {text: model.tokens(text) for text in TOKENS}
    model.free()

    assert TOKENS == found


def test_the_small_model_splits_text_as_it_was_trained(models: Path) -> None:
    """Token ids are those of the original WordPiece tokenizer, brackets and Japanese included."""
    model = Model(locate("all-MiniLM-L6-v2", models).path)
    found = [model.tokens(text) for text in ("日本語 [x] café", "how much protein per day")]
    model.free()

    assert [101, 1864, 1876, 1950, 1031, 1060, 1033, 7668, 102] == found[0]
    assert [101, 2129, 2172, 5250, 2566, 2154, 102] == found[1]


async def test_vectors_are_those_of_the_model(e5: Embedder) -> None:
    """A query gets its prefix, one unit vector, the model's own numbers."""
    vector = await e5.embed_query("how much protein per day")

    assert (384,) == vector.shape
    assert np.allclose([0.0142, -0.0241, -0.0437, -0.0562, 0.1100], vector[:5], atol=0.001)
    assert abs(float(np.linalg.norm(vector)) - 1) < 1e-3
    assert (vector == vector.astype(np.float16)).all()


async def test_a_question_finds_its_passage_in_every_language(e5: Embedder) -> None:
    """Among passages in five languages each question is nearest to its answer."""
    passages = np.array(await e5.embed_documents(list(QUESTIONS.values())))
    queries = np.array([await e5.embed_query(question) for question in QUESTIONS])

    assert list(range(len(QUESTIONS))) == list((queries @ passages.T).argmax(axis=1))


async def test_the_small_model_tells_topics_apart(minilm: Embedder) -> None:
    """Its cosines are high for an answer and near zero for anything else."""
    passages = np.array(await minilm.embed_documents(list(QUESTIONS.values())))
    cosines = passages @ await minilm.embed_query("When do I water the tomatoes?")

    assert cosines[0] > 0.6
    assert cosines[1:].max() < 0.25
    assert frozenset({"en"}) == minilm.languages


async def test_a_long_query_is_cut_at_the_window(minilm: Embedder) -> None:
    """What lies beyond the window does not count, and the closing token stays."""
    words = "tomato " * 400
    long, longer = [await minilm.embed_query(words + tail) for tail in ("", "and the roof of the shed")]

    assert (long == longer).all()


async def test_a_long_document_is_embedded_whole(minilm: Embedder) -> None:
    """A text over the window is averaged over its pieces, so that its end counts too."""
    tomatoes, roof = "Tomatoes want sun and water. " * 60, "The roof of the shed leaks. " * 60
    assert minilm.count_tokens(tomatoes) > minilm.window
    first, second, both = await minilm.embed_documents([tomatoes, roof, tomatoes + roof])

    assert float(first @ both) > 0.6
    assert float(second @ both) > 0.6
    assert float(first @ second) < 0.3


async def test_tokens_are_counted_with_prefix_and_special_ones(e5: Embedder) -> None:
    """The passage `hello` is `<s> passage : hell o </s>` to the model."""
    assert 6 == e5.count_tokens("hello")


async def test_signs_that_stand_for_many_are_counted(e5: Embedder) -> None:
    """A text may have more tokens than bytes: one sign of Arabic stands for a sentence of 18 letters."""
    assert e5.count_tokens("\ufdfa" * 100) > 300 + 8


async def test_answers_come_in_the_order_of_the_texts(e5: Embedder) -> None:
    """Two threads share a batch and each text keeps its place; nothing is asked of an empty batch."""
    texts = [f"Note number {i} about {'bread' if i % 2 else 'the network'}" for i in range(9)]
    together = await e5.embed_documents(texts)
    alone = [(await e5.embed_documents([text]))[0] for text in texts]

    assert np.array_equal(together, alone)
    assert [] == await e5.embed_documents([])


async def test_a_query_does_not_wait_for_documents(e5: Embedder) -> None:
    """While a large batch is embedded, a query is answered long before the batch ends."""
    started = time.perf_counter()
    batch = asyncio.create_task(e5.embed_documents(["The garden in spring. " * 30] * 24))
    await asyncio.sleep(0.05)
    asked = time.perf_counter()
    await e5.embed_query("when do tomatoes ripen")
    answered = time.perf_counter()

    assert not batch.done()
    assert 24 == len(await batch)
    assert answered - asked < (time.perf_counter() - started) / 2


async def test_a_cancelled_batch_stops(minilm: Embedder) -> None:
    """Cancelling ends the work after the texts under way, so that a stop takes no minute."""
    batch = asyncio.create_task(minilm.embed_documents(["The garden in spring. " * 30] * 5_000))
    await asyncio.sleep(0.05)
    batch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await batch
    started = time.perf_counter()
    await minilm.embed_documents(["The next one."])
    await minilm.close()

    assert time.perf_counter() - started < 2
    with pytest.raises(Unavailable):
        await minilm.embed_query("anything")
    with pytest.raises(Unavailable):
        minilm.count_tokens("anything")


async def test_the_identity_is_file_prefixes_and_pooling(models: Path) -> None:
    """Anything that changes the vectors changes the identity; the number of threads does not."""
    located = await asyncio.to_thread(locate, "all-MiniLM-L6-v2", models)
    variants: dict[str, dict[str, Any]] = {
        "same": {},
        "threads": {"threads": 2},
        "query": {"query_prefix": "query: "},
        "document": {"document_prefix": "passage: "},
        "pooling": {"located": replace(located, pooling="cls")},
        "file": {"located": replace(located, sha256="0" * 64)},
    }
    found = {}
    for name, changed in variants.items():
        arguments = {"located": located, "threads": 1, **changed}
        embedder = await asyncio.to_thread(partial(LlamaEmbedder, **arguments))
        found[name] = embedder.identity
        await embedder.close()

    assert found["same"] == found.pop("threads")
    assert len(found) == len(set(found.values()))


async def test_a_file_by_path_is_used_as_it_says(models: Path, minilm: Embedder, tmp_path: Path) -> None:
    """Any GGUF works: pooling from the file, prefixes from the settings, the name from its name."""
    path = tmp_path / "mine.gguf"
    shutil.copy(models / "all-MiniLM-L6-v2.gguf", path)
    async with opened(EmbeddingSettings(model=str(path), threads=1), models) as mine:
        assert "mine" == mine.name
        assert minilm.identity == mine.identity
        assert (await minilm.embed_query("bread") == await mine.embed_query("bread")).all()
        assert mine.languages is None


async def test_no_model_is_no_embedder(tmp_path: Path) -> None:
    """The setting "none" opens nothing."""
    assert await open_embedder(EmbeddingSettings(model="none"), tmp_path) is None


async def test_a_cut_model_file_is_noticed(models: Path, tmp_path: Path) -> None:
    """Half a file is refused with a sentence, by its size beside its record, by llama.cpp without one."""
    whole = models / "all-MiniLM-L6-v2.gguf"
    half = tmp_path / whole.name
    half.write_bytes(whole.read_bytes()[:12_000_000])
    with pytest.raises(InstallationError, match=r"is cut or changed.*transom model get"):
        await open_embedder(EmbeddingSettings(model="all-MiniLM-L6-v2"), tmp_path)
    with pytest.raises(InstallationError, match=r"cannot be loaded .*file bounds"):
        await open_embedder(EmbeddingSettings(model=str(half)), tmp_path)

    shutil.copy(whole.with_name(whole.name + ".json"), tmp_path)
    with pytest.raises(InstallationError, match="is cut or changed"):
        await open_embedder(EmbeddingSettings(model="all-MiniLM-L6-v2"), tmp_path)
    assert {} == await asyncio.to_thread(installed, tmp_path)


async def test_a_prefix_that_fills_the_window_is_refused(models: Path) -> None:
    """A prefix must leave room for the text."""
    settings = EmbeddingSettings(model="all-MiniLM-L6-v2", document_prefix="very long " * 200)
    with pytest.raises(InvalidSetting, match="no room"):
        await open_embedder(settings, models)


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="measured as Linux counts")
def test_contexts_cost_little_memory(models: Path) -> None:
    """Three contexts of the default model leave the process far below what their logits would take."""
    anonymous_kb = run_script(
        """
        import asyncio, re, sys
        from pathlib import Path
        from bridge.embed import open_embedder
        from bridge.settings import EmbeddingSettings

        async def main():
            embedder = await open_embedder(EmbeddingSettings(threads=2), Path(sys.argv[1]))
            await embedder.embed_documents(["The garden in spring. " * 60] * 4)
            print(re.search(r"Anonymous: +([0-9]+)", Path("/proc/self/smaps_rollup").read_text())[1])

        asyncio.run(main())
        """,
        models,
    )

    assert int(anonymous_kb.split()[-1]) < 300_000


@asynccontextmanager
async def opened(settings: EmbeddingSettings, models: Path) -> AsyncIterator[Embedder]:
    embedder = await open_embedder(settings, models)
    assert embedder
    yield embedder
    await embedder.close()
