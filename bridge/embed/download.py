"""Large files over HTTP: progress, resumption after a cut, size and hash checked."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeAlias

import aiohttp
import stamina
import structlog
from yarl import URL

from bridge.embed.catalogue import sha256_of
from bridge.errors import InstallationError

log = structlog.get_logger(__name__)

Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Called with what is being done, how many bytes of it, and of how many."""

_CHUNK = 1 << 20
_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=15, sock_read=30)
_ATTEMPTS = 6


class _CutError(Exception):
    """The connection broke; what came is kept."""


async def download(url: URL, target: Path, progress: Progress, *, sha256: str | None = None) -> None:
    """Load `url` into `target`, which appears only when it is whole.

    What came before a cut lies in `<target>.part` and is gone on with, in this run or the
    next. Without `sha256` the hash that the hub states is taken, if it does. Raises
    `InstallationError`.
    """
    part = target.with_name(target.name + ".part")
    try:
        async with aiohttp.ClientSession(timeout=_TIMEOUT, trust_env=True, auto_decompress=False) as session:
            async for attempt in stamina.retry_context(on=_CutError, attempts=_ATTEMPTS, timeout=None):
                with attempt:
                    stated = await _go_on(session, url, part, progress)
    except _CutError as error:
        raise InstallationError(
            f"{url.host} is out of reach or cuts the connection ({error}); nothing was changed and what came is "
            "kept. Try again when the connection is better. The default model and all-MiniLM-L6-v2 come from the "
            "Python package registry instead.",
            key="download_failed",
            url=str(url),
        ) from error
    except OSError as error:
        raise disk_trouble(error, part) from error
    progress("Checking", 0, None)
    if not await asyncio.to_thread(_accept, part, target, sha256 or stated):
        raise InstallationError(
            f"What {url.host} sent as {url.name} is not the file it should be (its SHA-256 differs), so it was "
            "thrown away. Try again; if that does not help, somebody changed it.",
            key="hash_mismatch",
            url=str(url),
        )


def disk_trouble(error: OSError, path: Path) -> InstallationError:
    """Say what a failed write in the models' folder means."""
    what = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or type(error).__name__
    return InstallationError(
        f"{path} cannot be written ({what}); nothing else was changed. "
        "Make room or make the folder writable, and try again.",
        key="models_not_writable",
        path=str(path),
    )


async def _go_on(session: aiohttp.ClientSession, url: URL, part: Path, progress: Progress) -> str | None:
    """Load what is missing of `part`; returns the SHA-256 that the hub states."""
    have = await asyncio.to_thread(_size, part)
    try:
        async with session.get(url, headers={"Range": f"bytes={have}-"} if have else {}) as response:
            if response.status == 416:
                await asyncio.to_thread(part.unlink)
                raise _CutError("the part that was here fits no longer")
            if response.status >= 500 or response.status == 429:
                raise _CutError(f"status {response.status}")
            if response.status not in {200, 206}:
                raise InstallationError(
                    f"{url.host} does not give {url.path} (status {response.status}); nothing was changed. "
                    "Check the name of the model.",
                    key="download_failed",
                    url=str(url),
                )
            have = have if response.status == 206 else 0
            total = have + response.content_length if response.content_length is not None else None
            file = await asyncio.to_thread(_open, part, have)
            try:
                async for chunk in response.content.iter_chunked(_CHUNK):
                    await asyncio.to_thread(file.write, chunk)
                    have += len(chunk)
                    progress("Downloading", have, total)
            finally:
                await asyncio.to_thread(file.close)
            return _stated_hash(response)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise _CutError(str(error) or type(error).__name__) from error


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _open(part: Path, have: int) -> BinaryIO:
    return part.open("ab" if have else "wb")


def _accept(part: Path, target: Path, sha256: str | None) -> bool:
    """Put the whole file in its place, or throw it away when it has another hash."""
    if sha256 and sha256_of(part) != sha256:
        part.unlink()
        return False
    os.replace(part, target)
    return True


def _stated_hash(response: aiohttp.ClientResponse) -> str | None:
    """The hub names a large file's SHA-256 in a header of the redirection to its storage."""
    for step in (*response.history, response):
        stated = step.headers.get("X-Linked-Etag", "").strip('"').lower()
        if len(stated) == 64 and set(stated) <= set("0123456789abcdef"):
            return stated
    return None
