"""The catalogue, and what the converters make of the registry's weights."""

from pathlib import Path

import pytest

from bridge.embed.catalogue import catalogue, entry, is_hub_name, locate
from bridge.embed.convert import CONVERTERS, e5
from bridge.embed.native import POOLINGS
from bridge.errors import InstallationError, InvalidSetting


def test_every_model_of_the_catalogue_is_complete() -> None:
    """Each model names one source, and what is needed to use it rightly."""
    for model in catalogue():
        assert (model.package is None) != (model.hub is None), model.name
        assert model.pooling in POOLINGS
        assert model.package is None or (model.package.converter in CONVERTERS and model.sha256)
        assert 64 <= model.window <= 256
        assert model.licence
        assert model.summary
        assert model.size_mb > 0
        assert model.memory_mb > 0

    assert "multilingual-e5-small" == catalogue()[0].name
    assert 6 == len({model.name for model in catalogue()})


def test_models_are_found_by_name_in_any_case() -> None:
    """People do not remember capitals."""
    found = entry("all-minilm-l6-v2")

    assert found
    assert "all-MiniLM-L6-v2" == found.name
    assert entry("all-MiniLM") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf", True),
        ("owner/repository", False),
        ("/models/a/b.gguf", False),
        ("./models/a/b.gguf", False),
        ("~/models/b.gguf", False),
    ],
)
def test_hub_names_are_told_from_paths(name: str, expected: bool) -> None:
    """Only `owner/repository/file.gguf` means the hub."""
    assert expected == is_hub_name(name)


def test_an_unknown_model_is_refused_with_a_sentence(tmp_path: Path) -> None:
    """A name that means nothing says where to look; a known one that is not here says how to get it."""
    with pytest.raises(InvalidSetting, match="transom model list"):
        locate("minilm", tmp_path)
    with pytest.raises(InstallationError, match="transom model get bge-small-en"):
        locate("bge-small-en-v1.5", tmp_path)


def test_weights_of_another_format_are_refused(tmp_path: Path) -> None:
    """The converter stops at a file that it does not know, before it writes anything."""
    (tmp_path / e5.SOURCE).write_bytes(b"E6S1" + bytes(1000))

    with pytest.raises(InstallationError, match="nothing was written"):
        e5.convert(tmp_path, tmp_path / "out.gguf")
    assert not (tmp_path / "out.gguf").exists()
