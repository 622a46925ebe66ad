"""What the page says about the bridge's states, for each that the API can report."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.browser.conftest import RunningBridge

pytestmark = pytest.mark.asyncio(loop_scope="session")

Say: TypeAlias = Callable[..., Awaitable[Any]]

STATUS = {
    "vault": {"notes": 1284, "canvases": 1, "transcripts": 0, "chunks": 9000, "links": 10},
    "embedding": {
        "model": "multilingual-e5-small",
        "dimensions": 384,
        "embedded": 3000,
        "pending": 0,
        "state": "ready",
    },
    "coverage": 1.0,
    "settled": True,
    "sources": {
        "files": {"state": "watching", "reason": None},
        "livesync": {"state": "off", "reason": None, "done": 0, "total": 0},
        "plugin": {"devices": []},
    },
}


def changed(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Lay nested changes over a value."""
    laid = {name: changed(base[name], new) if isinstance(new, dict) else new for name, new in changes.items()}
    return {**base, **laid}


def files(state: str, reason: str | None = None) -> dict[str, Any]:
    return {"sources": {"files": {"state": state, "reason": reason}}}


def livesync(state: str, **more: Any) -> dict[str, Any]:
    return {"sources": {"livesync": {"state": state, **more}}}


def embedding(**changes: Any) -> dict[str, Any]:
    return {"embedding": changes}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def say(bridge: RunningBridge, chromium: Browser) -> AsyncIterator[Say]:
    """Call a function of the page's words.js."""
    page = await chromium.new_page()
    await page.goto(bridge.url)

    async def call(name: str, *values: Any) -> Any:
        script = "async ([name, values]) => (await import('/page/words.js'))[name](...values)"
        return await page.evaluate(script, [name, values])

    yield call
    await page.close()


@pytest.mark.parametrize(
    ("changes", "tone", "text"),
    [
        ({}, "quiet", "1,284 notes, 1 canvas"),
        (embedding(model="none", state="off"), "quiet", "1,284 notes, 1 canvas, by words only"),
        (files("scanning"), "busy", "Reading the vault: 1,284 notes, 1 canvas so far"),
        (files("held", "the vault is empty"), "fault", "Held, nothing is lost: the vault is empty"),
        (embedding(pending=1500, state="embedding"), "busy", "Embedding 3,000 of 4,500 chunks"),
        (embedding(pending=1500, state="loading"), "busy", "Loading the embedding model"),
        (
            embedding(pending=9, state="failed", reason="the file is cut short"),
            "fault",
            "The embedding model cannot be used: the file is cut short",
        ),
        (embedding(pending=9, state="endpoint_down"), "fault", "The embedding service does not answer."),
        (livesync("connecting"), "busy", "Connecting to LiveSync"),
        (livesync("catching_up", done=3, total=9), "busy", "Catching up with LiveSync"),
        (
            livesync("held", reason="no passphrase"),
            "fault",
            "LiveSync is held, nothing is lost: no passphrase",
        ),
        (livesync("stopped", reason="no answer"), "fault", "LiveSync has stopped: no answer"),
    ],
)
async def test_states_in_plain_words(say: Say, changes: dict[str, Any], tone: str, text: str) -> None:
    """Each state has its sentence; the worst is said first."""
    said = await say("state", changed(STATUS, changes))

    assert (said["tone"], said["text"]) == (tone, text)


@pytest.mark.parametrize(
    ("reason", "mode", "text"),
    [
        ("no_model", "hybrid", "By words only: there is no embedding model, so meaning is left out."),
        ("indexing", "hybrid", "By words only: the notes are still being read for their meaning."),
        ("deadline", "hybrid", "By words only: meaning took too long this time."),
        ("endpoint_down", "semantic", "No search by meaning: the embedding service does not answer."),
        (None, "hybrid", "By meaning, 71 % of the text can be found so far; by words, all of it."),
        (None, "keyword", ""),
    ],
)
async def test_what_an_answer_lacks(say: Say, reason: str | None, mode: str, text: str) -> None:
    """A signal that is missing is named under the field with its reason; so is coverage below one."""
    missing = [{"signal": "semantic", "reason": reason}] if reason else []
    answer = {"signals_missing": missing, "coverage": 0.719}

    assert await say("lacks", answer, mode) == text


async def test_reasons_in_plain_words(say: Say) -> None:
    """Each reason why a note is related has its words; the related note is their subject."""
    reasons = [
        {"kind": "meaning", "cosine": 0.8},
        {"kind": "words", "words": ["crumb", "ear"]},
        {"kind": "words", "words": ["levain"]},
        {"kind": "mention", "text": "Rye", "direction": "in"},
        {"kind": "mention", "text": "Levain", "direction": "out"},
        {"kind": "links", "direction": "both"},
        {"kind": "links", "through": ["Bread/Starter.md"]},
        {"kind": "tags", "tags": ["bread"]},
        {"kind": "of a later version"},
    ]
    said = await say("why", reasons, True)

    assert said.replace("\u2068", "").replace("\u2069", "").split(" · ") == [
        "Pinned",
        "close in meaning",
        "shares the words crumb, ear",
        "shares the word levain",
        "mentions “Rye”",
        "mentioned as “Levain”",
        "linked both ways",
        "shares links with Starter",
        "also tagged #bread",
    ]
