"""The web application: guard and envelope around the verbs of a bridge. Building it touches nothing."""

import logging
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from aiohttp.hdrs import ACCEPT, CACHE_CONTROL, VARY
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from bridge.api import page
from bridge.api.envelope import ErrorBody, ErrorDetail, answer, envelope
from bridge.api.guard import guard, sign
from bridge.api.openapi import openapi
from bridge.api.rest import VERBS
from bridge.runtime import Bridge

PAGE = page.files()
LONGEST_LINE = 64 << 10
"""Bytes of a request line; a long question fits into the address."""


def create_app(bridge: Bridge) -> web.Application:
    """Build the application of a bridge."""
    public = {"/openapi.json", *PAGE, *(verb.path for verb in VERBS if verb.public)}
    app = web.Application(
        middlewares=[envelope, guard(bridge.keys, bridge.settings.server.allowed_hosts, public)]
    )
    app.on_response_prepare.append(sign)

    async def send_pollers_home(_app: web.Application) -> None:
        bridge.feed.close()

    app.on_shutdown.append(send_pollers_home)
    for verb in VERBS:
        _add(app, verb.method, _pattern(verb.path), verb.handler(bridge))
    for route, (content_type, content) in PAGE.items():
        _add(app, "GET", route, _page(content_type, content))
    _add(app, "GET", "/openapi.json", _described(openapi()))
    return app


def runner(app: web.Application) -> web.AppRunner:
    """Make the runner that serves the application."""
    return web.AppRunner(app, access_log=None, logger=_http, max_line_size=LONGEST_LINE, shutdown_timeout=3)


def _in_one_line(record: logging.LogRecord) -> bool:
    """Log a request that is no HTTP without a trace, and without what it said."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError | web.RequestPayloadError):
        record.msg, record.args, record.exc_info = "api.malformed_request: %s", (type(error).__name__,), None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True


_http = logging.getLogger("bridge.http")
_http.addFilter(_in_one_line)


def _add(app: web.Application, method: str, path: str, handler: Handler) -> None:
    app.router.add_route(method, path, handler)
    if method == "GET":
        app.router.add_route("HEAD", path, handler)


def _pattern(path: str) -> str:
    """Let a name in braces take the rest of the address, slashes and line breaks too.

    Whether it is a path of the vault is for `note_path` to say.
    """
    return path.replace("}", ":(?s:.*)}")


def _page(content_type: str, content: bytes) -> Handler:
    headers = {**page.HEADERS, "Content-Type": content_type}

    async def serve(request: web.Request) -> web.Response:
        accepted = request.headers.get(ACCEPT, "*/*")
        if content_type.startswith("text/html") and not any(
            kind in accepted for kind in ("text/html", "text/*", "*/*")
        ):
            detail = ErrorDetail(
                "not_acceptable", "This is a page for people, in HTML; /openapi.json lists the rest."
            )
            return answer(ErrorBody(detail), 406, {VARY: ACCEPT})
        return web.Response(body=content, headers=headers)

    return serve


def _described(description: Mapping[str, Any]) -> Handler:
    async def serve(_request: web.Request) -> web.Response:
        return answer(description, headers={CACHE_CONTROL: "no-cache"})

    return serve
