"""Wrong questions: each is refused with its status, its key and the field that is to blame."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bridge.api.app import create_app, runner
from bridge.runtime import Bridge
from tests.api.conftest import NOTES, Caller, settings, write

WRONG_BODIES = [
    (b"{", 400, "invalid_json", "detail"),
    (b"", 400, "invalid_json", "detail"),
    (b"\xff\xfe", 400, "invalid_json", "detail"),
    (b'{"query": "\xff"}', 400, "invalid_json", "detail"),
    (b"[]", 422, "invalid_request", "body"),
    (b"{}", 422, "invalid_request", "query"),
    (b'{"query": 7}', 422, "invalid_request", "query"),
    (b'{"query": null}', 422, "invalid_request", "query"),
    (b'{"query": "a", "limit": "5"}', 422, "invalid_request", "limit"),
    (b'{"query": "a", "limit": 0}', 422, "invalid_request", "limit"),
    (b'{"query": "a", "limit": 201}', 422, "invalid_request", "limit"),
    (b'{"query": "a", "limit": 1e999}', 422, "invalid_request", "limit"),
    (b'{"query": "a", "deadline_ms": -1}', 422, "invalid_request", "deadline_ms"),
    (b'{"query": "a", "mode": "magic"}', 422, "invalid_request", "mode"),
    (b'{"query": "a", "colour": "red"}', 422, "invalid_request", "colour"),
    (b'{"query": "a", "filter": {"colour": "red"}}', 422, "invalid_request", "colour"),
    (b'{"query": "a", "filter": {"tags": ["a", 7]}}', 422, "invalid_request", "filter.tags[1]"),
    (
        b'{"query": "a", "filter": {"tags": [' + b'"a",' * 2000 + b'"a"]}}',
        422,
        "invalid_request",
        "filter.tags",
    ),
    (b'{"query": "a", "filter": {"kind": "song"}}', 422, "invalid_request", "filter.kind"),
    (
        b'{"query": "a", "filter": {"modified_after": "noon"}}',
        422,
        "invalid_request",
        "filter.modified_after",
    ),
]


async def test_a_wrong_body_is_named(ask: Caller) -> None:
    """Not JSON is 400; a wrong type, an unknown field or a value out of range is 422 and names the field."""
    for body, status, key, field in WRONG_BODIES:
        response = await ask("POST", "/v1/search", data=body)

        assert (status, key) == (response.status, response.error), body
        assert [field] == [*response.json["error"]["fields"]], body


async def test_deep_nesting_is_no_json(ask: Caller) -> None:
    """Brackets without end do not end the bridge, also where unknown fields are let through."""
    response = await ask(
        "POST", "/v1/events", data=b'{"device": "d", "events": [], "more": ' + b"[" * 500_000
    )

    assert (400, "invalid_json") == (response.status, response.error)


WRONG_ADDRESSES = [
    ("/v1/search?q=a&limit=many", "limit"),
    ("/v1/search?q=a&limit=0", "limit"),
    ("/v1/search?q=a&colour=red", "colour"),
    ("/v1/related", "path"),
    ("/v1/changes?since=yesterday", "since"),
    ("/v1/changes?since=1&wait_s=1e9", "wait_s"),
    ("/v1/recent?since=yesterday", "since"),
    ("/v1/notes?modified_after=2026-13-01", "modified_after"),
    ("/v1/graph/neighbors?path=Harbour.md&depth=99", "depth"),
]


async def test_a_wrong_parameter_is_named(ask: Caller) -> None:
    """The query string is read as strictly as a body."""
    for address, field in WRONG_ADDRESSES:
        response = await ask("GET", address)

        assert (422, "invalid_request") == (response.status, response.error), address
        assert field in response.json["error"]["fields"], address


async def test_bodies_have_a_type_and_a_limit(ask: Caller) -> None:
    """Another content type is 415; more than a mebibyte is 413, said or not, and 16 for what devices post."""
    plain = await ask("POST", "/v1/search", data=b"{}", headers={"Content-Type": "text/plain"})
    assert (415, "unsupported_media_type") == (plain.status, plain.error)
    charset = await ask(
        "POST",
        "/v1/search",
        data=b'{"query": ""}',
        headers={"Content-Type": "application/json; charset=utf-8"},
    )
    assert 200 == charset.status

    large = json.dumps({"query": "x" * (1 << 20)}).encode()
    said = await ask("POST", "/v1/search", data=large)
    assert (413, "too_large") == (said.status, said.error)

    async def chunked() -> AsyncIterator[bytes]:
        for start in range(0, len(large), 1 << 16):
            yield large[start : start + (1 << 16)]

    unsaid = await ask("POST", "/v1/search", data=chunked())
    assert (413, "too_large") == (unsaid.status, unsaid.error)
    posted = await ask("POST", "/v1/events", device="d", events=[], padding="x" * (2 << 20))
    assert 200 == posted.status
    too_much = await ask("POST", "/v1/events", device="d", events=[], padding="x" * (16 << 20))
    assert (413, "too_large") == (too_much.status, too_much.error)


WRONG_PATHS = [
    "..",
    "../data/token",
    "Deep/../../data/token",
    "Deep/../Harbour.md",
    "%2e%2e/Harbour.md",
    "..%2fdata%2ftoken",
    "%2Fetc%2Fpasswd",
    "/etc/passwd",
    "Deep//Tide.md",
    "Deep/",
    "./Harbour.md",
    "Harbour.md%00",
    "",
    "C:%5Cnotes.md",
]


async def test_a_path_out_of_the_vault_is_no_path(ask: Caller) -> None:
    """Traversal is refused as it is written, before anything looks at a disk."""
    for path in WRONG_PATHS:
        addresses = [f"/v1/notes/{path}", f"/v1/map?path={path}", f"/v1/graph/links?path={path}"]
        for address in addresses:
            response = await ask("GET", address)
            assert (400, "invalid_path") == (response.status, response.error), address


async def test_percent_is_decoded_once(ask: Caller) -> None:
    """An encoded escape is a name, not an escape."""
    for path in ("%252e%252e/Harbour.md", "Deep%252FTide.md", "%25%32%65.md", "%FF.md", "%zz.md"):
        assert 404 == (await ask("GET", f"/v1/notes/{path}")).status, path


async def test_absent_notes(ask: Caller) -> None:
    """What is not there is 404 with the path, for every verb that names one."""
    questions: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/v1/notes/Nowhere.md", {}),
        ("GET", "/v1/notes/.obsidian/app.json", {}),
        ("GET", "/v1/map?path=Nowhere.md", {}),
        ("GET", "/v1/related?path=Nowhere.md", {}),
        ("GET", "/v1/graph/links?path=Nowhere.md", {}),
        ("GET", "/v1/graph/neighbors?path=Nowhere.md", {}),
        ("POST", "/v1/related/pins", {"path": "Nowhere.md", "other": "Harbour.md", "state": "pinned"}),
    ]
    for method, path, body in questions:
        response = await ask(method, path, **body)
        assert (404, "note_not_found") == (response.status, response.error), path
    assert "absent" == (await ask("GET", "/v1/status?path=Nowhere.md")).json["state"]


async def test_what_is_no_http_is_one_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A malformed request is answered 400, and the log neither quotes it nor shows a trace."""
    too_long = b"GET /v1/search?q=" + b"secret+" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with Bridge.open(settings(write(tmp_path / "notes", NOTES), tmp_path / "data")) as bridge:
        server = runner(create_app(bridge))
        await server.setup()
        await web.TCPSite(server, "127.0.0.1", 0).start()
        for request in (b"secret\r\n\r\n", too_long):
            reading, writing = await asyncio.open_connection(*server.addresses[0])
            writing.write(request)
            assert b" 400 " in await reading.readline()
            writing.close()
        await server.cleanup()

    assert {"api.malformed_request: BadHttpMethod", "api.malformed_request: LineTooLong"} >= {
        *caplog.messages
    }
    assert "api.malformed_request: LineTooLong" in caplog.messages
    assert not any(record.exc_info for record in caplog.records)
