"""The page's files, without a browser."""

import re

from bridge.api import page

WEIGHT = 40_000


def test_page_is_small() -> None:
    """All of the page weighs less than one picture."""
    assert sum(len(content) for _, content in page.files().values()) < WEIGHT


def test_page_is_complete() -> None:
    """Every file that the page names is among its routes, and nothing is named that is elsewhere."""
    routes = page.files()
    for route, (_, content) in routes.items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        named = re.findall(r'(?:src|href)="([^"]+)"', text)
        named += [f"/page/{name}" for name in re.findall(r'from "\./([^"]+)"', text)]

        assert set(named) <= set(routes), route
        assert not re.search(r"https?://|//[a-z]+\.", text), route


def test_policy_lets_no_string_become_markup() -> None:
    """Scripts and styles come from files alone; markup made from strings is refused by the browser."""
    assert "'unsafe-inline'" not in page.CSP
    assert "require-trusted-types-for 'script'" in page.CSP
    for _, content in page.files().values():
        assert not re.search(rb"innerHTML|insertAdjacentHTML|style=|onclick=", content)
