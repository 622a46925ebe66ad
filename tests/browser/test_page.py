"""What a person does on the page, in real Chromium against a real bridge."""

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, Page, Route, expect

from tests.browser.conftest import HOSTILE, OpenPage, RunningBridge

pytestmark = pytest.mark.asyncio(loop_scope="session")

WORDS = "/#mode=keyword"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


async def search(page: Page, query: str) -> None:
    await page.fill("#query", query)
    await expect(page.locator("#hits > li").first).to_be_visible()


def hit(page: Page, title: str) -> Locator:
    return page.locator("#hits > li").filter(has=page.get_by_role("heading", name=title, exact=True, level=2))


# --- the key ---


async def test_key_is_asked_for_once(bridge: RunningBridge, open_page: OpenPage) -> None:
    """A wrong key says so and can be mended; the right one is kept over a reload, until it is forgotten."""
    page = await open_page(bridge, known=False)
    await page.fill("#key", "transom_wrong")
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("alert")).to_contain_text("does not know this key")
    await expect(page.locator("#key")).to_be_focused()

    await page.fill("#key", f"  {bridge.key}\n")
    await page.keyboard.press("Enter")
    await expect(page.locator("#query")).to_be_focused()
    await page.reload()
    await search(page, "lanternfish")

    await page.get_by_role("button", name="Forget key").click()
    await expect(page.locator("#key")).to_be_focused()

    assert await page.locator("#hits > li").count() == 0
    assert await page.evaluate("localStorage.length") == 0
    assert "lanternfish" not in page.url


async def test_key_that_no_header_can_carry(bridge: RunningBridge, open_page: OpenPage) -> None:
    """What cannot be a key is answered as a wrong key, not as a bridge that is away."""
    page = await open_page(bridge, known=False)
    await page.fill("#key", "clé 鍵")
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("alert")).to_contain_text("does not know this key")


async def test_revoked_key_is_asked_for_anew(bridge: RunningBridge, open_page: OpenPage) -> None:
    """A key that the bridge no longer knows leads back to the question for it."""
    page = await open_page(bridge, known=False)
    await page.evaluate("localStorage.setItem('transom.key', 'transom_revoked')")
    await page.reload()

    await expect(page.get_by_role("alert")).to_contain_text("does not know this key any more")


# --- search ---


async def test_search_as_one_types(bridge: RunningBridge, open_page: OpenPage) -> None:
    """Hits come without Enter, one request for a burst of keys, and say what the API says."""
    page = await open_page(bridge)
    asked: list[str] = []
    page.on(
        "request", lambda request: asked.append(request.url) if request.url.endswith("/v1/search") else None
    )
    await page.locator("#query").press_sequentially("viperfish", delay=15)
    row = hit(page, "Long")
    await expect(row).to_be_visible()

    assert len(asked) < 4

    await expect(row.locator(".place")).to_have_text("Odd")
    await expect(row.locator("mark")).to_have_text("viperfish")
    await expect(row.locator(".facts")).to_contain_text("1st by words")
    await expect(row.locator(".facts")).to_contain_text("note")
    await expect(row.locator("time")).to_have_attribute(
        "datetime", bridge.ask("/v1/notes/Odd/Long.md")["modified"]
    )
    found = bridge.ask("/v1/search", {"query": "viperfish"})["hits"][0]
    await expect(row.locator("a.title")).to_have_attribute("href", found["open_url"])
    await expect(row.get_by_role("meter")).to_have_attribute(
        "aria-valuenow", str(round(found["score"] * 100))
    )
    await expect(page.locator("#count")).to_contain_text(" ms")


async def test_long_passage_unfolds(bridge: RunningBridge, open_page: OpenPage) -> None:
    """Of a long passage the stretch with the highlight is shown, and all of it on demand."""
    page = await open_page(bridge, at=f"{WORDS}&q=viperfish")
    passage = hit(page, "Long").locator(".passage")
    await expect(passage).to_contain_text("swims the viperfish")

    glance = await passage.inner_text()
    await page.get_by_role("button", name="More").click()
    full = bridge.ask("/v1/search", {"query": "viperfish"})["hits"][0]["passage"]

    assert len(glance) < 400 < len(full)
    assert set(glance.split()) <= {"…", *full.split()}, "no word is cut"
    assert await passage.text_content() == full


async def test_highlights_count_code_points(bridge: RunningBridge, open_page: OpenPage) -> None:
    """Highlights stand where the API puts them, with emoji, CJK and combining marks before them."""
    page = await open_page(bridge, at=f"{WORDS}&q=lanternfish")
    row = hit(page, "Points 🍞")
    await expect(row).to_be_visible()
    answer = bridge.ask("/v1/search", {"query": "lanternfish", "mode": "keyword"})
    found = next(one for one in answer["hits"] if one["title"] == "Points 🍞")

    assert len(found["highlights"]) == 3
    assert await row.locator("mark").all_inner_texts() == [
        found["passage"][a:b] for a, b in found["highlights"]
    ]
    assert await row.locator(".passage").text_content() == found["passage"]


async def test_heading_is_said_once(bridge: RunningBridge, open_page: OpenPage) -> None:
    """A passage is shown without its own heading, which stands above it; highlights stay where they belong."""
    page = await open_page(bridge, at=f"{WORDS}&q=hadalfish")
    row = hit(page, "Headed")

    await expect(row.locator(".place")).to_have_text("Odd › Deep 🌊 water › Hadal zone")
    await expect(row.locator(".passage")).to_have_text("Here lives the hadalfish.")
    await expect(row.locator("mark")).to_have_text("hadalfish")


async def test_hostile_text_stays_text(bridge: RunningBridge, open_page: OpenPage) -> None:
    """Markup in a title, a heading or a passage is shown as it is typed."""
    page = await open_page(bridge, at=f"{WORDS}&q=lanternfish")
    row = hit(page, HOSTILE)

    await expect(row.locator(".title")).to_have_text(HOSTILE)
    await expect(row).to_contain_text("<b>lanternfish</b>")

    await row.get_by_role("button", name="Related").click()
    await expect(page.locator("#related h2")).to_contain_text(HOSTILE)

    assert await page.locator("main img, main b, main script").count() == 0
    assert await page.evaluate("window.hacked") is None


async def test_right_to_left_text(bridge: RunningBridge, open_page: OpenPage) -> None:
    """An Arabic title and passage run from right to left on a page that does not."""
    page = await open_page(bridge, at=f"{WORDS}&q=lanternfish")
    row = hit(page, "قنديل البحر")
    await expect(row).to_be_visible()

    for part in (".title", ".passage"):
        assert await row.locator(part).evaluate("node => getComputedStyle(node).direction") == "rtl"


async def test_late_answer_is_dropped(bridge: RunningBridge, open_page: OpenPage) -> None:
    """An answer that comes after the next question was asked is not shown."""
    page = await open_page(bridge, at=WORDS)
    held: list[Route] = []

    async def hold_first(route: Route) -> None:
        if held:
            await route.continue_()
        else:
            held.append(route)

    await page.route("**/v1/search", hold_first)
    await page.fill("#query", "lanternfish")
    await expect(page.locator("#hits")).to_have_attribute("aria-busy", "true")
    await page.wait_for_timeout(200)
    await page.fill("#query", "viperfish")
    await expect(hit(page, "Long")).to_be_visible()
    await held[0].abort()
    await page.wait_for_timeout(100)

    await expect(page.locator("#hits mark")).to_have_text("viperfish")
    await expect(page.locator("#notice")).to_be_empty()


async def test_address_holds_query_and_mode(bridge: RunningBridge, open_page: OpenPage) -> None:
    """A reload asks the same again, and an address edited by hand is obeyed."""
    page = await open_page(bridge)
    await page.get_by_text("Words", exact=True).click()
    await search(page, "lanternfish & 東京")
    await page.reload()

    await expect(page.locator("#query")).to_have_value("lanternfish & 東京")
    await expect(page.get_by_role("radio", name="Words", exact=True)).to_be_checked()
    await expect(page.locator(".facts").first).to_contain_text("by words")
    await expect(page.locator(".facts").first).not_to_contain_text("by meaning")

    await page.evaluate("location.hash = 'q=viperfish&mode=semantic'")

    await expect(page.get_by_role("radio", name="Meaning", exact=True)).to_be_checked()
    await expect(page.locator(".facts").first).to_contain_text("1st by meaning")


async def test_nothing_found(bridge: RunningBridge, open_page: OpenPage) -> None:
    """A query without hits says so, as text."""
    page = await open_page(bridge, at=f"{WORDS}&q=%3Cxyzzyq%3E")

    await expect(page.locator("#blank h2")).to_contain_text("Nothing found for “\u2068<xyzzyq>\u2069”")


# --- related notes ---


async def test_related_notes_beside_a_hit(bridge: RunningBridge, open_page: OpenPage) -> None:
    """On a laptop a hit's related notes stand beside the hits, say why, and lead on and back."""
    page = await open_page(bridge, at="/#q=sourdough")
    first = page.locator("#hits > li").first
    path = quote(await first.get_attribute("data-path") or "")
    title = await first.locator(".title").inner_text()
    await first.get_by_role("button", name="Related").click()
    panel = page.locator("#beside #related")

    await expect(panel.locator("h2")).to_have_text(f"Related to {title}")
    await expect(first.get_by_role("button", name="Related")).to_have_attribute("aria-expanded", "true")
    expected = bridge.ask(f"/v1/related?limit=8&path={path}")

    assert await panel.locator(".title").all_inner_texts() == [one["title"] for one in expected["hits"]]
    assert all(await panel.locator(".why").all_inner_texts())

    onward = expected["hits"][0]["title"]
    await panel.locator("li").first.get_by_role("button", name="Related").click()
    await expect(panel.locator("h2")).to_have_text(f"Related to {onward}")
    await panel.get_by_role("button", name="Back").click()
    await expect(panel.locator("h2")).to_have_text(f"Related to {title}")
    await panel.get_by_role("button", name="Close").click()
    await expect(panel).to_be_hidden()
    await expect(first.locator(".title")).to_be_focused()


async def test_related_notes_beneath_a_hit(bridge: RunningBridge, open_page: OpenPage) -> None:
    """On a phone they stand beneath it, and move beside it when there is room."""
    page = await open_page(bridge, at="/#q=sourdough", **PHONE)
    await page.locator("#hits > li").first.get_by_role("button", name="Related").tap()

    await expect(page.locator("#hits > li").first.locator("#related li").first).to_be_visible()

    await page.set_viewport_size({"width": 1280, "height": 800})

    await expect(page.locator("#beside #related li").first).to_be_visible()


# --- the bridge's state ---


async def test_stopped_bridge(bridge: RunningBridge, open_page: OpenPage) -> None:
    """While the bridge is away the hits stay, dimmed; when it is back the page goes on by itself."""
    page = await open_page(bridge, at=f"{WORDS}&q=lanternfish")
    await expect(page.locator("#hits > li")).to_have_count(3)
    bridge.stop()
    try:
        await expect(page.locator("#notice")).to_contain_text("does not answer", timeout=10_000)
        await expect(page.locator("body")).to_have_class("away")
        await page.fill("#query", "viperfish")
        await page.wait_for_timeout(300)
        await expect(page.locator("#hits > li")).to_have_count(3)
    finally:
        bridge.start()

    await expect(hit(page, "Long")).to_be_visible(timeout=15_000)
    await expect(page.locator("#notice")).to_be_empty()
    await expect(page.locator("body")).not_to_have_class("away")


async def test_failed_search_is_tried_again(bridge: RunningBridge, open_page: OpenPage) -> None:
    """A search that did not reach the bridge is said and tried again, without anybody doing anything."""
    page = await open_page(bridge, at=WORDS)
    await expect(page.locator("#blank h2")).to_be_visible()
    await page.route("**/v1/search", lambda route: route.abort(), times=1)
    await page.fill("#query", "viperfish")
    await expect(page.locator("#notice")).to_contain_text("does not answer")

    await expect(hit(page, "Long")).to_be_visible()
    await expect(page.locator("#notice")).to_be_empty()


async def test_saved_note_appears(bridge: RunningBridge, open_page: OpenPage) -> None:
    """A note saved while its word is searched for appears by itself, and the focus stays where it was."""
    page = await open_page(bridge, at=f"{WORDS}&q=anglerfish lanternfish")
    await expect(page.locator("#hits > li").first).to_be_visible()
    second = page.locator("#hits .title").nth(1)
    name = await second.inner_text()
    await second.focus()
    note = bridge.vault / "Odd" / "New.md"
    note.write_text("An anglerfish, new here.\n")
    try:
        await expect(hit(page, "New")).to_be_visible(timeout=10_000)
        await expect(hit(page, name).locator(".title")).to_be_focused()
    finally:
        note.unlink()

    await expect(hit(page, "New")).to_have_count(0, timeout=10_000)


async def test_empty_vault_without_model(empty_bridge: RunningBridge, open_page: OpenPage) -> None:
    """An empty vault says so, and the first note written into it can be found at once, by words only."""
    page = await open_page(empty_bridge)
    await expect(page.locator("#blank h2")).to_have_text("No notes yet")
    await expect(page.locator("#state")).to_have_text("0 notes, by words only")

    await page.fill("#query", "gulper")
    (empty_bridge.vault / "Eel.md").write_text("The gulper eel.\n")

    await expect(hit(page, "Eel")).to_be_visible(timeout=10_000)
    await expect(page.locator("#hint")).to_contain_text("By words only")


# --- keyboard, looks, accessibility ---


async def test_keyboard_alone(bridge: RunningBridge, open_page: OpenPage) -> None:
    """Slash, arrows, Enter and Escape reach everything."""
    page = await open_page(bridge, at=f"{WORDS}&q=lanternfish")
    titles = page.locator("#hits .title")
    await expect(titles).to_have_count(3)
    press = page.keyboard.press
    await press("Enter")
    await expect(titles.nth(0)).to_be_focused()
    await press("ArrowDown")
    await expect(titles.nth(1)).to_be_focused()
    await press("ArrowRight")
    await expect(page.locator("#related")).to_be_focused()
    await press("ArrowDown")
    await expect(page.locator("#related .title").first).to_be_focused()
    await press("ArrowRight")
    await expect(page.get_by_role("button", name="Back")).to_be_visible()
    await press("Escape")
    await expect(page.get_by_role("button", name="Back")).to_be_hidden()
    await press("Escape")
    await expect(titles.nth(1)).to_be_focused()
    await press("ArrowUp")
    await press("ArrowUp")
    await expect(page.locator("#query")).to_be_focused()
    await press("ArrowDown")
    await press("/")
    await expect(page.locator("#query")).to_be_focused()
    await page.keyboard.type("a/b")
    await expect(page.locator("#query")).to_have_value("a/b")
    await press("Escape")
    await expect(page.locator("#query")).to_have_value("")

    note_click = "event => { window.opened = event.target.href; event.preventDefault() }"
    await page.evaluate(f"addEventListener('click', {note_click})")
    await search(page, "lanternfish")
    await press("ArrowDown")
    await press("Enter")

    assert str(await page.evaluate("window.opened")).startswith("obsidian://open?")


LOOKS = [
    pytest.param({"color_scheme": scheme, **device}, id=f"{name}-{scheme}")
    for name, device in (("laptop", {}), ("phone", PHONE))
    for scheme in ("light", "dark")
]


@pytest.mark.parametrize("look", LOOKS)
async def test_accessible_in_every_look(
    bridge: RunningBridge,
    open_page: OpenPage,
    look: dict[str, object],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """In dark and light, on phone and laptop: axe finds no fault, nothing is wider than the screen."""
    shots = Path(os.environ.get("TRANSOM_SCREENSHOTS", tmp_path))
    name = request.node.callspec.id
    page = await open_page(bridge, known=False, **look)

    async def inspect(state: str) -> None:
        await page.screenshot(path=shots / f"{name}-{state}.png")
        results = await Axe().run(page)

        assert results.violations_count == 0, results.generate_report()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    await page.fill("#key", "wrong")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).not_to_be_empty()
    await inspect("key")
    await page.fill("#key", bridge.key)
    await page.keyboard.press("Enter")
    await expect(page.locator("#blank h2")).to_have_text("Ask in your own words")
    await inspect("start")
    await search(page, "how to keep a starter alive")
    await inspect("hits")
    await page.locator("#hits").get_by_role("button", name="Related").first.click()
    await expect(page.locator("#related li").first).to_be_visible()
    await inspect("related")
    await page.get_by_text("Words", exact=True).click()
    await search(page, "lanternfish")
    await expect(page.locator("#hits > li")).to_have_count(3)
    await inspect("odd")
    await page.fill("#query", "xyzzyq")
    await expect(page.locator("#blank h2")).to_contain_text("Nothing found")
    await inspect("nothing")


async def test_reduced_motion(bridge: RunningBridge, open_page: OpenPage) -> None:
    """Nothing moves for those who asked for that."""
    page = await open_page(bridge, reduced_motion="reduce")
    await page.evaluate("document.getElementById('state').dataset.tone = 'busy'")
    style = "getComputedStyle(document.getElementById('state-text'), '::before').animationName"

    assert await page.evaluate(style) == "none"
