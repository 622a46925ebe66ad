"""Talking to a bridge over a real socket: the callers, a device, and what there is to talk about."""

import asyncio
import hashlib
import io
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer
from yarl import URL

from bridge.api.app import create_app
from bridge.runtime import Bridge
from bridge.settings import DataSettings, EmbeddingSettings, ServerSettings, Settings, VaultSettings

DIMENSIONS = 16
OLD, NEW, OTHER = "The old text.\n", "The new text, quokka.\n", "Somebody else's text.\n"
HARBOUR = """---
aliases: [Port]
tags: [sea]
---
# Harbour

The crane lifts boxes beside the tide gauge. ^crane

See [[Tide]] and [[Ghost]].
"""
NOTES = {
    "Harbour.md": HARBOUR,
    "Deep/Tide.md": "The tide gauge stands at the harbour. #sea/level\n",
    "Deep/Empty.md": "",
    "Deep/Ünïcode 100% ?#&+.md": "Odd names are names.\n",
    "Deep/line\nbreak.md": "A line break in a name.\n",
}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The key of the error, whose shape is checked on the way."""
        assert {"error"} == self.json.keys()
        assert {"key", "message", "fields"} == self.json["error"].keys()
        assert isinstance(self.json["error"]["fields"], dict)
        assert self.json["error"]["message"].endswith((".", "`"))
        return str(self.json["error"]["key"])


@dataclass(frozen=True)
class Caller:
    """A client of one server, with one key."""

    session: ClientSession
    url: str
    token: str | None = None

    async def __call__(
        self,
        method: str,
        path: str,
        /,
        *,
        data: bytes | AsyncIterator[bytes] | None = None,
        headers: dict[str, str] | None = None,
        **body: Any,
    ) -> Answer:
        """Send a request; `body` becomes JSON, and `path` goes out as it is written."""
        sent = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        if data is None and body:
            data = json.dumps(body).encode()
        if data is not None:
            sent["Content-Type"] = "application/json"
        sent |= headers or {}
        body_ = io.BytesIO(data) if isinstance(data, bytes) else data
        async with self.session.request(
            method, URL(self.url + path, encoded=True), data=body_, headers=sent, allow_redirects=False
        ) as response:
            return Answer(response.status, response.headers, await response.read())

    def using(self, token: str | None) -> "Caller":
        """The same client with another key."""
        return Caller(self.session, self.url, token)

    async def settled(self) -> None:
        """Wait until nothing that the bridge knows of waits for it."""
        await self._until("/v1/status", lambda status: status["settled"])

    async def held(self) -> None:
        """Wait until the bridge holds on to what it knows of a vault that is gone."""
        await self._until("/v1/status", lambda status: status["sources"]["files"]["state"] == "held")

    async def indexed(self, path: str) -> None:
        """Wait until a note is indexed."""
        await self._until(f"/v1/status?path={quote(path)}", lambda status: status["state"] == "indexed")

    async def _until(self, address: str, holds: Callable[[Any], bool]) -> None:
        async with asyncio.timeout(20):
            while not holds((await self("GET", address)).json):
                await asyncio.sleep(0.02)


def rev(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Device:
    """A phone whose plugin posts to a bridge over a vault."""

    ask: Caller
    vault: Path
    data: Path
    livesync: bool = False

    async def post(self, *events: dict[str, Any]) -> list[dict[str, Any]]:
        response = await self.ask(
            "POST", "/v1/events", device="phone", livesync=self.livesync, events=[*events]
        )
        assert 200 == response.status, response.body
        return [*response.json["results"]]

    async def one(self, type: str, path: str = "Note.md", **fields: Any) -> tuple[str, str | None]:
        """Post one event; gives state and revision."""
        (result,) = await self.post({"type": type, "path": path, **fields})
        assert path == result["path"]
        return result["state"], result["revision"]

    async def reconcile(
        self, session: str, *notes: dict[str, Any], last: bool = True
    ) -> dict[str, list[str]]:
        body: dict[str, Any] = {
            "device": "phone",
            "session": session,
            "last": last,
            "livesync": self.livesync,
            "notes": [*notes],
        }
        response = await self.ask("POST", "/v1/reconcile", **body)
        assert 200 == response.status, response.body
        return dict(response.json)

    def read(self, path: str = "Note.md") -> str | None:
        file = self.vault / path
        return file.read_text() if file.exists() else None

    async def found(self, word: str) -> list[str]:
        answer = await self.ask("POST", "/v1/search", query=word, mode="keyword")
        return [hit["path"] for hit in answer.json["hits"]]

    async def indexed(self, path: str = "Note.md") -> str | None:
        revision: str | None = (await self.ask("GET", f"/v1/status?path={path}")).json["revision"]
        return revision

    def conflicts(self) -> list[bytes]:
        """The bytes that were kept aside."""
        return [file.read_bytes() for file in (self.data / "conflicts").rglob("*") if file.is_file()]


def listed(path: str, text: str, **fields: Any) -> dict[str, Any]:
    return {
        "path": path,
        "revision": rev(text),
        "modified": "2026-01-01T00:00:00Z",
        "size": len(text),
        **fields,
    }


@asynccontextmanager
async def serving(bridge: Bridge) -> AsyncIterator[Caller]:
    """Serve an open bridge on a free port; the caller has the first key."""
    server = TestServer(create_app(bridge))
    await server.start_server()
    try:
        async with ClientSession() as session:
            yield Caller(session, str(server.make_url("")).rstrip("/"), await bridge.keys.first_key())
    finally:
        await server.close()


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Lay out a vault."""
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def settings(root: Path, data: Path, model_url: str | None = None) -> Settings:
    """Settings of a vault, with the embedding server given or none."""
    embedding = (
        EmbeddingSettings(model="openai:bag", base_url=model_url)
        if model_url
        else EmbeddingSettings(model="none")
    )
    return Settings(
        vault=VaultSettings(path=root, name="vault"),
        server=ServerSettings(),
        data=DataSettings(path=data),
        embedding=embedding,
    )


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[Caller]:
    """A served bridge over the notes above, without a model."""
    root = write(tmp_path / "notes", NOTES)
    async with Bridge.open(settings(root, tmp_path / "data")) as bridge:
        bridge.start()
        async with serving(bridge) as caller:
            await caller.settled()
            yield caller


@pytest.fixture
async def phone(tmp_path: Path) -> AsyncIterator[Device]:
    """A device without LiveSync, and a bridge that does not watch its folder: all is the events' doing."""
    root = write(tmp_path / "vault", {"Note.md": OLD, "Other.md": OTHER})
    async with Bridge.open(settings(root, tmp_path / "data")) as bridge, serving(bridge) as ask:
        await bridge.index()
        yield Device(ask, root, tmp_path / "data")


@pytest.fixture
async def model_url() -> AsyncIterator[str]:
    """An embedding server whose vectors are bags of words: texts that share words are near."""

    async def embeddings(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        vectors = [_bag(text) for text in ([texts] if isinstance(texts, str) else texts)]
        data = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        return web.json_response({"object": "list", "model": "bag", "data": data})

    app = web.Application()
    app.router.add_post("/v1/embeddings", embeddings)
    server = TestServer(app)
    await server.start_server()
    yield str(server.make_url("/v1"))
    await server.close()


def _bag(text: str) -> list[float]:
    vector = [0.01] * DIMENSIONS
    for word in text.casefold().split():
        vector[hashlib.blake2b(word.encode()).digest()[0] % DIMENSIONS] += 1.0
    return vector
