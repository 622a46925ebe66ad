"""The page for people at `/`: plain files, no build step, nothing from elsewhere."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Final

_POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
}
CSP: Final = "; ".join(f"{directive} {value}" for directive, value in _POLICY.items())
"""Own files only; and no string ever becomes markup, so hostile note text stays text."""

HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Content-Security-Policy": CSP,
        "Cache-Control": "no-cache",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
)

_CONTENT_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@cache
def files() -> Mapping[str, tuple[str, bytes]]:
    """Map each route of the page to its content type and bytes: `/` and `/page/<name>`."""
    routes = {}
    for file in resources.files(__name__).iterdir():
        if content_type := _CONTENT_TYPES.get(file.name.rpartition(".")[2]):
            route = "/" if file.name == "index.html" else f"/page/{file.name}"
            routes[route] = (content_type, file.read_bytes())
    return MappingProxyType(routes)
