"""What an answer says of the signals that made it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from bridge.runtime import Bridge
from tests.api.conftest import Caller, serving, settings, write

NOTES = {
    **{f"Crane {n}.md": "crane crane crane [[Lamp]]" for n in range(5)},
    "Harbour.md": "The crane lifts boxes beside the tide gauge.",
    "Lamp.md": "A light for ships in the [[Fog]].",
    "Fog.md": "Nothing to be seen.",
}


class Served(NamedTuple):
    """A bridge, and the switch of its embedding server: while it is off, no answer comes."""

    ask: Caller
    answers: asyncio.Event


@pytest.fixture
async def served(tmp_path: Path, model_url: str) -> AsyncIterator[Served]:
    answers = asyncio.Event()
    answers.set()

    async def embeddings(request: web.Request) -> web.Response:
        await answers.wait()
        async with session.post(f"{model_url}/embeddings", json=await request.json()) as answer:
            return web.json_response(await answer.json())

    app = web.Application()
    app.router.add_post("/v1/embeddings", embeddings)
    async with ClientSession() as session, TestServer(app) as server:
        chosen = settings(write(tmp_path / "notes", NOTES), tmp_path / "data", f"{server.make_url('/v1')}")
        async with Bridge.open(chosen) as bridge:
            bridge.start()
            async with serving(bridge) as ask:
                await ask.settled()
                yield Served(ask, answers)
        answers.set()


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
    hits = (await served.ask("POST", "/v1/search", query="crane")).json["hits"]
    hops = {hit["path"]: hit["signals"]["graph"]["hops"] for hit in hits if "graph" in hit["signals"]}

    assert {"Lamp.md": 1, "Fog.md": 2} == hops
