"""An endpoint over a real socket, in good and in bad moods."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bridge.embed import EndpointDown, Unembeddable, open_embedder
from bridge.embed.openai import OpenAIEmbedder, Patience
from bridge.errors import InvalidSetting
from bridge.settings import EmbeddingSettings

Mood = Callable[[dict[str, Any]], web.StreamResponse | None]

HASTY = Patience(query_s=0.3, documents_s=0.3, attempts=3, rest_s=0.2)


def meaning(text: str) -> list[float]:
    """A vector of three dimensions that says what the text is about."""
    return [1.0 + text.count("bread"), 1.0 + text.count("roof"), float(len(text) % 7)]


@dataclass
class Endpoint:
    """The stand-in: answers as told, and remembers what it was asked."""

    url: str = ""
    moods: list[Mood] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    base64: bool = False

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(body)
        self.keys.append(request.headers.get("Authorization"))
        if self.moods and (response := self.moods.pop(0)(body)) is not None:
            if response.headers.get("X-Slow"):
                await asyncio.sleep(1)
            return response
        data = [{"index": i, "embedding": self._write(text)} for i, text in enumerate(body["input"])]
        return web.json_response({"data": data[::-1]})

    def _write(self, text: str) -> Any:
        vector = meaning(text)
        return base64.b64encode(np.array(vector, "<f4").tobytes()).decode() if self.base64 else vector


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    stand_in = Endpoint()
    app = web.Application()
    app.router.add_post("/v1/embeddings", stand_in.answer)
    async with TestServer(app) as server:
        stand_in.url = str(server.make_url("/v1"))
        yield stand_in


@pytest.fixture
async def embedder(endpoint: Endpoint, no_waiting: None) -> AsyncIterator[OpenAIEmbedder]:
    opened = await OpenAIEmbedder.open("small", endpoint.url, "secret", "q: ", "d: ", patience=HASTY)
    endpoint.asked.clear()
    yield opened
    await opened.close()


def says(status: int, headers: dict[str, str] | None = None, text: str = "") -> Mood:
    return lambda _: web.Response(status=status, headers=headers, text=text)


def slowly(_: dict[str, Any]) -> web.StreamResponse:
    return web.json_response({"data": []}, headers={"X-Slow": "1"})


def as_is(_: dict[str, Any]) -> None:
    return None


async def test_texts_are_embedded_with_prefix_and_key(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    """Vectors come back in the order of the texts, of unit length, whatever the answer's order."""
    texts = [f"{'bread ' * i}roof" for i in range(70)]
    vectors = await embedder.embed_documents(texts)
    await embedder.embed_query("bread")

    for text, vector in zip(texts, vectors, strict=True):
        expected = np.array(meaning("d: " + text))
        assert np.allclose(expected / np.linalg.norm(expected), vector, atol=1e-3)
    assert 3 == embedder.dimensions
    assert "q: bread" == endpoint.asked[-1]["input"][0]
    assert [32, 32, 6, 1] == [len(body["input"]) for body in endpoint.asked]
    assert {"Bearer secret"} == set(endpoint.keys)


async def test_base64_is_understood(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    """Servers that write vectors as base64 are read too."""
    plain = await embedder.embed_query("bread")
    endpoint.base64 = True

    assert np.array_equal(plain, await embedder.embed_query("bread"))


@pytest.mark.parametrize(
    "mood",
    [
        says(429, {"Retry-After": "0"}),
        says(500),
        says(503),
        slowly,
        says(200, text="<html>gateway</html>"),
        says(200, text='{"data": [{"index": 0}]}'),
        says(200, text='{"data": [{"index": 7, "embedding": [1, 2, 3]}]}'),
        says(200, text="[]"),
    ],
)
async def test_passing_trouble_is_tried_again(
    endpoint: Endpoint, embedder: OpenAIEmbedder, mood: Mood
) -> None:
    """Too many requests, server errors, silence and garbage are asked again, and then it works."""
    endpoint.moods = [mood, mood]

    assert 1 == len(await embedder.embed_documents(["bread"]))
    assert 3 == len(endpoint.asked)


async def test_lasting_trouble_is_a_state_with_a_reason(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    """After the last try the reason is said; queries then fail at once until it is asked again."""
    endpoint.moods = [says(503)] * 3
    with pytest.raises(EndpointDown, match=r"status 503.*keyword search goes on"):
        await embedder.embed_documents(["bread"])
    n = len(endpoint.asked)
    with pytest.raises(EndpointDown, match="503"):
        await embedder.embed_query("bread")
    assert n == len(endpoint.asked)

    await asyncio.sleep(HASTY.rest_s)
    assert 3 == len(await embedder.embed_query("bread"))


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "refuses the key"), (403, "refuses the key"), (404, "model")]
)
async def test_a_wrong_key_is_not_tried_again(
    endpoint: Endpoint, embedder: OpenAIEmbedder, status: int, reason: str
) -> None:
    """What only the owner can mend is said at once, without the key."""
    endpoint.moods = [says(status, text="secret")] * 9
    with pytest.raises(EndpointDown, match=reason) as raised:
        await embedder.embed_documents(["bread"])

    assert 1 == len(endpoint.asked)
    assert "secret" not in raised.value.message


async def test_a_text_that_is_not_taken_is_told_from_an_endpoint_that_is_away(
    endpoint: Endpoint, embedder: OpenAIEmbedder
) -> None:
    """A refused text is an error of that text: the endpoint stays up for others."""
    endpoint.moods = [says(400), as_is]
    with pytest.raises(Unembeddable):
        await embedder.embed_documents(["bread " * 9_000])

    assert 1 == len(await embedder.embed_documents(["bread"]))


@pytest.mark.parametrize("numbers", ["[0, 0, 0]", "[NaN, 1, 2]", "[1e39, 0, 0]"])
async def test_a_vector_that_is_none_is_an_error_of_its_text(
    endpoint: Endpoint, embedder: OpenAIEmbedder, numbers: str
) -> None:
    """Zero and what is not finite never reach the index."""
    endpoint.moods = [says(200, text=f'{{"data": [{{"index": 0, "embedding": {numbers}}}]}}')]
    with pytest.raises(Unembeddable):
        await embedder.embed_query("bread")


async def test_another_size_than_before_is_refused(endpoint: Endpoint, embedder: OpenAIEmbedder) -> None:
    """A model that was swapped behind the address is noticed before its vectors are mixed in."""
    endpoint.moods = [says(200, text=json.dumps({"data": [{"index": 0, "embedding": [1, 2]}]}))]
    with pytest.raises(EndpointDown, match="another size"):
        await embedder.embed_query("bread")


async def test_an_endpoint_that_is_away_from_the_start(endpoint: Endpoint, no_waiting: None) -> None:
    """Nothing listens: the error says so and can be asked again later."""
    with pytest.raises(EndpointDown, match="no connection"):
        await OpenAIEmbedder.open("small", "http://127.0.0.1:9", patience=HASTY)


async def test_the_settings_are_checked(endpoint: Endpoint, tmp_path: Path) -> None:
    """Without an address nothing is sent anywhere; an address must be one."""
    settings = EmbeddingSettings(model="openai:small", base_url=endpoint.url, api_key="k")
    embedder = await open_embedder(settings, tmp_path)
    assert embedder
    assert "small" == embedder.name
    await embedder.close()

    for base_url in (None, "localhost:8080", "file:///etc"):
        with pytest.raises(InvalidSetting, match="base_url"):
            await open_embedder(EmbeddingSettings(model="openai:small", base_url=base_url), tmp_path)
    with pytest.raises(InvalidSetting, match="exclude each other"):
        await OpenAIEmbedder.open("small", "http://me:secret@127.0.0.1/v1", "key")


async def test_the_identity_is_address_model_and_prefixes(endpoint: Endpoint) -> None:
    """A slash, a password or another key change nothing; another model or prefix does."""
    found = {}
    for name, (model, url, key, prefix) in {
        "plain": ("small", endpoint.url, None, None),
        "slash": ("small", endpoint.url + "/", "key", None),
        "user": ("small", endpoint.url.replace("//", "//me:secret@"), None, None),
        "model": ("large", endpoint.url, None, None),
        "prefix": ("small", endpoint.url, None, "query: "),
    }.items():
        embedder = await OpenAIEmbedder.open(model, url, key, prefix, patience=HASTY)
        found[name] = embedder.identity
        await embedder.close()

    assert found["plain"] == found.pop("slash") == found.pop("user")
    assert 3 == len(set(found.values()))


async def test_tokens_are_estimated_on_the_safe_side(embedder: OpenAIEmbedder) -> None:
    """English counts more tokens than it has, Chinese at least one a sign."""
    assert embedder.count_tokens("How much protein do I need per day?") >= 10
    assert embedder.count_tokens("今天天气很好") >= 6
