"""Make GGUF files from weights that a package registry carries."""

from collections.abc import Callable
from pathlib import Path

from bridge.embed.convert import e5, minilm

CONVERTERS: dict[str, Callable[[Path, Path], None]] = {"e5": e5.convert, "minilm": minilm.convert}
"""By the catalogue's name: `(folder of the weights, GGUF to write)`."""
