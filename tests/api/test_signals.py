"""Signals: what an answer says of those that made it, and which notes get theirs first."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from bridge.runtime import Bridge
from tests.api.conftest import Caller, serving, settings, write

NOTES = {
    **{f"Crane {n}.md": f"crane crane crane {n} [[Lamp]]" for n in range(8)},
    "Harbour.md": "The crane lifts boxes beside the tide gauge.",
    "Lamp.md": "A light for ships in the [[Fog]].",
    "Fog.md": "Nothing to be seen.",
}


class Served(NamedTuple):
    """A bridge with its embedding server: what that was sent, and its switch; while off, no answer comes."""

    ask: Caller
    bridge: Bridge
    sent: list[str]
    answers: asyncio.Event


@pytest.fixture
async def served(tmp_path: Path, model_url: str) -> AsyncIterator[Served]:
    sent: list[str] = []
    answers = asyncio.Event()
    answers.set()
    root = write(tmp_path / "notes", NOTES)
    for age_s, name in enumerate(NOTES):
        os.utime(root / name, (0, 1_700_000_000 - age_s))

    async def embeddings(request: web.Request) -> web.Response:
        body = await request.json()
        sent.extend(body["input"])
        await answers.wait()
        async with session.post(f"{model_url}/embeddings", json=body) as answer:
            return web.json_response(await answer.json())

    app = web.Application()
    app.router.add_post("/v1/embeddings", embeddings)
    async with ClientSession() as session, TestServer(app) as server:
        chosen = settings(root, tmp_path / "data", f"{server.make_url('/v1')}")
        async with Bridge.open(chosen) as bridge:
            bridge.start()
            async with serving(bridge) as ask:
                await ask.settled()
                yield Served(ask, bridge, sent, answers)
        answers.set()


async def test_the_newest_edits_are_embedded_first(served: Served) -> None:
    """What somebody just wrote is what they look for: age decides, not the order of names or hashes."""
    assert [f"crane crane crane {n} Lamp" for n in range(8)] == served.sent[
        1:9
    ]  # the first asks for the size


async def test_a_model_is_opened_once(served: Served) -> None:
    """Work that begins anew takes the model that is open: two would not fit into a small machine."""
    await served.bridge.index()

    assert 1 == served.sent.count("dimensions")


async def test_another_model_embeds_everything_again(tmp_path: Path, model_url: str) -> None:
    """Vectors of different models do not compare, so none of the old ones is left and none is missing."""
    chosen = settings(write(tmp_path / "notes", NOTES), tmp_path / "data", model_url)
    changed = replace(chosen, embedding=replace(chosen.embedding, document_prefix="passage: "))
    async with Bridge.open(chosen) as bridge:
        await bridge.index()
        before = bridge._embedding.identity
    async with Bridge.open(changed) as bridge:
        await bridge.index()
        status = await bridge.status()

        assert before != bridge._embedding.identity
    assert (len(NOTES), 0, 1.0) == (status.embedding.embedded, status.embedding.pending, status.coverage)


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
async def test_a_deadline_leaves_out_meaning_and_never_words(served: Served, mode: str) -> None:
    """What is not ready in time is named, and words answer in its place."""
    asked: dict[str, Any] = {"query": "tide gauge", "mode": mode}
    patient = (await served.ask("POST", "/v1/search", **asked, deadline_ms=60_000)).json
    served.answers.clear()
    async with asyncio.timeout(5):
        hurried = (await served.ask("POST", "/v1/search", **asked, deadline_ms=50)).json

    assert [] == patient["signals_missing"]
    assert "semantic" in patient["signals_used"]
    assert {"deadline"} == {missing["reason"] for missing in hurried["signals_missing"]}
    assert ["keyword"] == hurried["signals_used"]
    assert "Harbour.md" == hurried["hits"][0]["path"]


async def test_links_from_the_best_notes_are_a_signal(served: Served) -> None:
    """Notes that share no word are found over up to two links, and say how far away they are."""
    hits = (await served.ask("POST", "/v1/search", query="crane", limit=20)).json["hits"]
    hops = {hit["path"]: hit["signals"]["graph"]["hops"] for hit in hits if "graph" in hit["signals"]}

    assert (1, 2) == (hops["Lamp.md"], hops["Fog.md"])
