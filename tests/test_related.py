"""Related notes over real stores: by words alone, and with the small English model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge.answers import RelatedHit
from bridge.errors import NotFound
from bridge.model import NotePath, Scope
from bridge.runtime import Bridge
from bridge.stores.pins import Pins
from tests.small import indexed, settings

MODEL = "all-MiniLM-L6-v2"
NOTES = {
    "Sourdough.md": "---\ntags: [baking]\naliases: [Wild yeast]\n---\n"
    "Feed the starter with rye flour. The levain needs warmth to ferment overnight.",
    "Levain.md": "A levain is built from the starter the evening before; rye flour makes it ferment faster.",
    "Pizza.md": "Long cold proof. Some swear by wild yeast instead of the packet.",
    "Oven.md": "---\ntags: [baking]\n---\nIts stone takes an hour to heat.",
    "Kitchen/Shopping.md": "Buy salt, lemons and a new sieve. Ask [[Oven]] people about stones.",
    "Kitchen/Mill.md": "Stones grind the grain. See [[Oven]].",
    "Router.md": "The firmware update failed; the router answers no ping on the guest network.",
    "Firmware.md": "Flash the firmware over the serial console if the router answers no ping.",
    "Stub.md": "",
    "Zeppelin.md": "",
    "Secret/Starter.md": "---\ntags: [baking]\n---\nOur secret levain: starter, rye flour and malt, left to ferment.",
    "Secret/Yeast.md": "Wild yeast. See [[Oven]] and [[Pizza]].",
} | {f"Filler/{n}.md": f"On day {n} nothing of note was written, only number {n * 7}." for n in range(40)}
GUEST = Scope(key="guest", deny=("Secret/**",))


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncIterator[Bridge]:
    """A bridge without a model."""
    async with indexed(tmp_path / "vault", NOTES) as bridge:
        yield bridge


async def related(bridge: Bridge, path: str | None = None, **more: Any) -> dict[str, RelatedHit]:
    """Related notes by path, in their order."""
    answer = await bridge.related(path=None if path is None else NotePath(path), **more)
    scores = [hit.score for hit in answer.hits if not hit.pinned]

    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)
    assert all(hit.why for hit in answer.hits if not hit.pinned)
    return {hit.path: hit for hit in answer.hits}


def reason(hit: RelatedHit, kind: str) -> Any:
    return next(why for why in hit.why if why.kind == kind)


async def test_words(bridge: Bridge) -> None:
    """Notes that share telling words belong together, and the words are said as they stand there."""
    hits = await related(bridge, "Sourdough.md")

    assert {"Levain.md", "Secret/Starter.md"} <= {*list(hits)[:3]}
    assert {"starter", "ferment", "levain"} <= {
        word.casefold() for word in reason(hits["Levain.md"], "words").words
    }
    assert hits["Levain.md"].passage.startswith("A levain is built")
    assert hits["Levain.md"].lines == (1, 1)
    assert hits["Levain.md"].cosine is None
    assert hits["Levain.md"].open_url == "obsidian://open?vault=vault&file=Levain.md"
    assert "Firmware.md" not in hits
    assert next(iter(await related(bridge, "Router.md"))) == "Firmware.md"


async def test_shared_words_are_said_once_a_stem_the_most_telling_first(tmp_path: Path) -> None:
    """Of words that differ by their endings one is said, and a rare word before a long one."""
    rare = {
        "A.md": "Terracotta wants a glaze.",
        "B.md": "On terracotta glazes crack: no glaze is glazed twice.",
    }
    common = {f"Terracotta {n}.md": f"A terracotta pot, number {n}." for n in range(3)}
    filler = {path: text for path, text in NOTES.items() if path.startswith("Filler/")}
    async with indexed(tmp_path / "vault", rare | common | filler) as bridge:
        hits = await related(bridge, "A.md")

    assert reason(hits["B.md"], "words").words == ("glazes", "terracotta")


async def test_addresses_on_the_web_are_no_words(tmp_path: Path) -> None:
    """Notes that link to the same site are not alike for that, nor is a piece of the address a reason."""
    notes = {
        "A.md": "Glazes: https://www.videosite.example/watch?v=1",
        "B.md": "Tides: https://www.videosite.example/watch?v=2",
        "C.md": "Glazes crack.",
    } | {path: text for path, text in NOTES.items() if path.startswith("Filler/")}
    async with indexed(tmp_path / "vault", notes) as bridge:
        assert list(await related(bridge, "A.md")) == ["C.md"]


async def test_mentions(bridge: Bridge) -> None:
    """A note in whose text another's alias stands belongs to it, whichever of the two is asked."""
    found = reason((await related(bridge, "Sourdough.md"))["Pizza.md"], "mention")
    back = reason((await related(bridge, "Pizza.md"))["Sourdough.md"], "mention")

    assert (found.text, found.direction) == ("Wild yeast", "in")
    assert (back.text, back.direction) == ("Wild yeast", "out")


async def test_links(bridge: Bridge) -> None:
    """Linked notes are told with their direction, and notes linked with the same one by way of it."""
    hits = await related(bridge, "Kitchen/Mill.md")

    assert hits["Oven.md"].linked == "out"
    assert reason(hits["Oven.md"], "links").direction == "out"
    assert reason(hits["Kitchen/Shopping.md"], "links").through == ("Oven.md",)
    assert hits["Kitchen/Shopping.md"].linked is None
    assert (await related(bridge, "Oven.md"))["Kitchen/Mill.md"].linked == "in"


async def test_tags(bridge: Bridge) -> None:
    """A tag that few notes have brings its notes together."""
    assert reason((await related(bridge, "Oven.md"))["Sourdough.md"], "tags").tags == ("baking",)


async def test_narrowing(bridge: Bridge) -> None:
    """Linked notes, notes of the same folder and weak ones can be left out."""
    everyone = await related(bridge, "Kitchen/Mill.md")
    unlinked = await related(bridge, "Kitchen/Mill.md", exclude_linked=True)
    elsewhere = await related(bridge, "Kitchen/Mill.md", exclude_same_folder=True)
    strong = await related(bridge, "Kitchen/Mill.md", min_score=everyone["Oven.md"].score)
    few = await related(bridge, "Kitchen/Mill.md", limit=1)

    assert "Oven.md" not in unlinked
    assert "Kitchen/Shopping.md" in unlinked
    assert "Kitchen/Shopping.md" not in elsewhere
    assert "Oven.md" in elsewhere
    assert [*strong] == [path for path, hit in everyone.items() if hit.score >= everyone["Oven.md"].score]
    assert [*few] == [*everyone][:1]


async def test_scope(bridge: Bridge) -> None:
    """What a key may not see is neither found nor a way to anything, and asking for it finds nothing."""
    for path in NOTES:
        if not path.startswith("Secret/"):
            for hit in (await related(bridge, path, scope=GUEST)).values():
                assert "Secret" not in repr(hit)

    assert "Levain.md" in await related(bridge, "Sourdough.md", scope=GUEST)
    assert "Oven.md" in await related(bridge, "Pizza.md")
    assert "Oven.md" not in await related(bridge, "Pizza.md", scope=GUEST)
    for path in ("Secret/Starter.md", "Absent.md"):
        with pytest.raises(NotFound):
            await bridge.related(path=NotePath(path), scope=GUEST)


async def test_stubs(bridge: Bridge) -> None:
    """A note without text has no relatives that nothing speaks for, without a model none."""
    assert await related(bridge, "Stub.md") == {}


async def test_free_text(bridge: Bridge) -> None:
    """A text that is no note finds relatives as a note does."""
    hits = await related(bridge, text="Does wild yeast make rye flour ferment in the Oven?")

    assert {"Levain.md", "Secret/Starter.md", "Sourdough.md"} <= hits.keys()
    assert reason(hits["Oven.md"], "mention").text == "Oven"
    assert await related(bridge, text=" \n ") == {}


async def test_pins(bridge: Bridge) -> None:
    """A pinned note comes first and a hidden one not at all, until either is taken back."""
    mill, oven, shopping = NotePath("Kitchen/Mill.md"), NotePath("Oven.md"), NotePath("Kitchen/Shopping.md")
    await bridge.pin(mill, NotePath("Router.md"), "pinned")
    await bridge.pin(mill, oven, "hidden")

    hits = await related(bridge, mill)

    assert next(iter(hits)) == "Router.md"
    assert hits["Router.md"].pinned
    assert oven not in hits
    assert shopping in hits
    assert "Router.md" not in await related(bridge, oven)

    await bridge.pin(mill, oven, None)

    assert oven in await related(bridge, mill)


async def test_pins_follow_a_rename(tmp_path: Path) -> None:
    """Pins hold when either note gets another name, and when the index is built anew."""
    vault = tmp_path / "vault"
    async with indexed(vault, NOTES) as bridge:
        await bridge.pin(NotePath("Oven.md"), NotePath("Router.md"), "pinned")
        (vault / "Router.md").rename(vault / "Modem.md")
        await bridge.index()
        (vault / "Oven.md").rename(vault / "Stove.md")
        await bridge.index()

        assert (await related(bridge, "Stove.md"))["Modem.md"].pinned
        assert await Pins(bridge.state.db).of(NotePath("Oven.md")) == {}

    for derived in (tmp_path / "data").glob("index.sqlite*"):
        derived.unlink()
    async with Bridge.open(settings(vault, tmp_path / "data")) as bridge:
        await bridge.index()

        assert (await related(bridge, "Stove.md"))["Modem.md"].pinned


@pytest.fixture(scope="module")
def model(models: Path) -> str:
    """The small English model."""
    assert (models / f"{MODEL}.gguf").exists()
    return MODEL


async def test_meaning(tmp_path: Path, model: str) -> None:
    """With a model, notes without a word in common are found by what they mean, a text as well as a stub."""
    notes = NOTES | {
        "Bakery.md": "Crusty bread straight from a hot hearth.",
        "Printer.md": "Wifi is down: nothing on this LAN can be reached.",
        "Loaf.md": "Kneading dough, then baking it.",
    }
    async with indexed(tmp_path / "vault", notes, model) as bridge:
        bridge.start()
        async with asyncio.timeout(60):
            while not (await bridge.status()).settled:
                await asyncio.sleep(0.05)
        loaf = await bridge.related(path=NotePath("Loaf.md"), limit=5)
        stub = await related(bridge, "Zeppelin.md")
        text = await related(bridge, text="The internet connection is broken", limit=5)

    assert loaf.coverage == 1.0
    assert "Bakery.md" in {hit.path for hit in loaf.hits}
    bakery = next(hit for hit in loaf.hits if hit.path == "Bakery.md")
    assert bakery.cosine
    assert reason(bakery, "meaning").cosine == bakery.cosine > 0.3
    assert {"Printer.md", "Router.md"} <= text.keys()
    assert [why.kind for hit in stub.values() for why in hit.why] == ["meaning"] * len(stub)
