"""Every verb: what it answers, and what it says to a wrong question."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from aiohttp import ClientSession, web

from bridge.api.app import create_app, runner
from bridge.api.openapi import openapi
from bridge.api.rest import VERBS
from bridge.runtime import Bridge
from tests.api.conftest import Caller, serving, settings, write

HARBOUR = """---
aliases: [Port]
tags: [sea]
---
# Harbour

The crane lifts boxes beside the tide gauge. ^crane

See [[Tide]] and [[Ghost]].
"""
NOTES = {
    "Harbour.md": HARBOUR,
    "Deep/Tide.md": "The tide gauge stands at the harbour. #sea/level\n",
    "Deep/Empty.md": "",
    "Deep/Ünïcode 100% ?#&+.md": "Odd names are names.\n",
    "Deep/line\nbreak.md": "A line break in a name.\n",
}


@pytest.fixture
async def ask(tmp_path: Path) -> AsyncIterator[Caller]:
    """A served bridge over the notes above, without a model."""
    root = write(tmp_path / "notes", NOTES)
    async with Bridge.open(settings(root, tmp_path / "data")) as bridge:
        bridge.start()
        async with serving(bridge) as caller:
            await caller.settled()
            yield caller


QUESTIONS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/v1/health", {}),
    ("GET", "/v1/status", {}),
    ("GET", "/v1/status?path=Harbour.md", {}),
    ("POST", "/v1/search", {"query": "tide", "limit": 5, "mode": "keyword", "deadline_ms": 1000}),
    (
        "POST",
        "/v1/search",
        {"query": "", "filter": {"kind": ["note", "canvas"], "tags": ["sea"], "path": "**"}},
    ),
    (
        "POST",
        "/v1/search",
        {"query": "tide", "filter": {"kind": "note", "modified_after": "2020-01-01T00:00:00Z"}},
    ),
    ("POST", "/v1/search", {"query": "tide", "filter": {"modified_before": "9999-12-31"}}),
    ("GET", "/v1/search?q=tide&limit=3&mode=keyword", {}),
    ("GET", "/v1/related?path=Harbour.md&limit=", {}),
    ("POST", "/v1/related", {"path": "Harbour.md", "min_score": 0.1, "exclude_linked": True}),
    ("POST", "/v1/related", {"text": "the tide", "exclude_same_folder": True}),
    ("POST", "/v1/related/pins", {"path": "Harbour.md", "other": "Deep/Tide.md", "state": "pinned"}),
    ("POST", "/v1/related/pins", {"path": "Harbour.md", "other": "Deep/Tide.md", "state": None}),
    ("GET", "/v1/notes", {}),
    ("GET", "/v1/notes?folder=Deep&tag=sea&modified_after=2020-01-01&limit=1&cursor=A", {}),
    ("GET", "/v1/notes/Deep/Tide.md", {}),
    ("GET", "/v1/map?path=Harbour.md", {}),
    ("POST", "/v1/read", {"paths": ["Harbour.md", "Nowhere.md"]}),
    ("GET", "/v1/graph/links?path=Harbour.md", {}),
    ("GET", "/v1/graph/neighbors?path=Harbour.md&depth=1", {}),
    ("GET", "/v1/graph/unresolved?limit=5", {}),
    ("GET", "/v1/graph/orphans", {}),
    ("GET", "/v1/recent?since=2020-01-01&until=2099-01-01T00:00:00%2B01:00&limit=5", {}),
    ("GET", "/v1/changes", {}),
    ("GET", "/v1/changes?since=0&wait_s=0.1", {}),
    ("POST", "/v1/events", {"device": "phone", "livesync": False, "events": [], "later": 1}),
    ("POST", "/v1/reconcile", {"device": "phone", "session": "s", "last": True, "notes": [], "later": 1}),
    ("GET", "/v1/keys", {}),
    ("POST", "/v1/keys", {"name": "agent", "read_only": True, "allow": ["Deep/**"]}),
    ("POST", "/v1/rebuild", {"embeddings": False}),
    ("DELETE", "/v1/keys/owner", {}),
]


async def test_every_verb_answers_what_its_type_says(ask: Caller) -> None:
    """Each verb of the table is asked, and its JSON fits the schema that /openapi.json gives for it."""
    asked = set()
    described = (await ask("GET", "/openapi.json")).json
    for method, path, body in QUESTIONS:
        response = await ask(method, path, **body)

        assert 200 == response.status, (method, path, response.body)
        assert "application/json" == response.headers["Content-Type"]
        verb = next(verb for verb in VERBS if verb.method == method and _fits(verb.path, path))
        asked.add(verb.call.__name__)
        schema = described["paths"][verb.path][method.lower()]["responses"]["200"]
        assert _matches(response.json, schema["content"]["application/json"]["schema"], described), (
            path,
            response.json,
        )

    assert {verb.call.__name__ for verb in VERBS} == asked


async def test_the_description_is_the_generated_one(ask: Caller) -> None:
    """`/openapi.json` needs no key and names every verb."""
    response = await ask.using(None)("GET", "/openapi.json")

    assert msgspec.json.decode(msgspec.json.encode(openapi())) == response.json
    assert "3.1.0" == response.json["openapi"]
    assert {verb.path for verb in VERBS} == response.json["paths"].keys()


async def test_every_verb_needs_a_key_but_health(ask: Caller) -> None:
    """Without a key every address says 401, whatever else is wrong with the question."""
    for verb in VERBS:
        response = await ask.using(None)(
            verb.method, verb.path.replace("{path}", "..").replace("{name}", "x")
        )

        assert (200 if verb.public else 401) == response.status, verb.path


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


async def test_odd_names_are_found(ask: Caller) -> None:
    """A note of any legal name is read by its address, its slashes encoded or not."""
    for path, text in NOTES.items():
        for address in (quote(path, safe=""), quote(path, safe="/")):
            response = await ask("GET", f"/v1/notes/{address}")
            assert (200, path, text) == (response.status, response.json["path"], response.json["content"])


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


async def test_a_note_as_its_bytes(ask: Caller) -> None:
    """`Accept: text/markdown` gives the file's bytes; the ETag is the revision in both forms."""
    markdown = {"Accept": "text/markdown"}
    revision = hashlib.sha256(HARBOUR.encode()).hexdigest()
    plain = await ask("GET", "/v1/notes/Harbour.md")
    source = await ask("GET", "/v1/notes/Harbour.md", headers=markdown)
    known = await ask("GET", "/v1/notes/Harbour.md", headers=markdown | {"If-None-Match": f'"{revision}"'})
    head = await ask("HEAD", "/v1/notes/Harbour.md", headers=markdown)

    assert HARBOUR.encode() == source.body
    assert "text/markdown; charset=utf-8" == source.headers["Content-Type"]
    assert revision == plain.json["revision"]
    assert {f'"{revision}"'} == {response.headers["ETag"] for response in (plain, source, known, head)}
    assert (304, b"") == (known.status, known.body)
    assert (200, b"") == (head.status, head.body)


async def test_the_shapes_of_a_note(ask: Caller) -> None:
    """The fields that plugins and agents read are there, under their names."""
    note = (await ask("GET", "/v1/notes/Harbour.md")).json
    links = (await ask("GET", "/v1/graph/links?path=Deep/Tide.md")).json
    neighbors = (await ask("GET", "/v1/graph/neighbors?path=Harbour.md")).json

    assert ["Port"] == note["aliases"]
    assert {"target": "Tide", "path": "Deep/Tide.md"} == {
        key: note["links"][0][key] for key in ("target", "path")
    }
    assert note["links"][1]["path"] is None
    assert ["Harbour.md"] == [link["path"] for link in links["in"]]
    assert [{"from": "Harbour.md", "to": "Deep/Tide.md", "kind": "link"}] == neighbors["edges"]


async def test_several_notes_at_once(ask: Caller) -> None:
    """Reading gives what is there and names what is not."""
    answer = (await ask("POST", "/v1/read", paths=["Deep/Tide.md", "Nowhere.md", "Harbour.md"])).json

    assert ["Deep/Tide.md", "Harbour.md"] == [note["path"] for note in answer["notes"]]
    assert ["Nowhere.md"] == answer["missing"]
    assert 400 == (await ask("POST", "/v1/read", paths=["../x.md"])).status
    assert 422 == (await ask("POST", "/v1/read", paths=["x.md"] * 101)).status


async def test_pages_of_notes(ask: Caller) -> None:
    """The cursor leads through all notes once."""
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await ask("GET", f"/v1/notes?limit=2&cursor={quote(cursor)}")).json
        seen += [note["path"] for note in page["notes"]]
        cursor = page["cursor"]

    assert sorted(NOTES) == sorted(seen)


async def test_a_long_poll_ends_with_the_change(ask: Caller, tmp_path: Path) -> None:
    """Who waits hears of a saved note at once; who asks without `since` gets the number at once."""
    seq = (await ask("GET", "/v1/changes")).json["seq"]
    waiting = asyncio.create_task(ask("GET", f"/v1/changes?since={seq}&wait_s=30"))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    write(tmp_path / "notes", {"New.md": "Fresh."})
    news = (await asyncio.wait_for(waiting, 10)).json

    assert {"indexed"} == {change["type"] for change in news["changes"]}
    assert "New.md" in {change["path"] for change in news["changes"]}
    assert news["seq"] >= news["changes"][-1]["seq"] > seq
    assert not news["missed"]


async def test_the_server_takes_long_questions_and_stops_at_once(tmp_path: Path) -> None:
    """A page of text fits into an address; a stop ends the long polls, each with a proper answer."""
    root = write(tmp_path / "notes", NOTES)
    async with Bridge.open(settings(root, tmp_path / "data")) as bridge, ClientSession() as session:
        server = runner(create_app(bridge))
        await server.setup()
        await web.TCPSite(server, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{server.addresses[0][1]}"
        ask = Caller(session, url, await bridge.keys.first_key())
        assert 200 == (await ask("GET", f"/v1/search?q={'tide+' * 5000}")).status
        seq = (await ask("GET", "/v1/changes")).json["seq"]
        waiting = asyncio.create_task(ask("GET", f"/v1/changes?since={seq}&wait_s=60"))
        await asyncio.sleep(0.05)
        await asyncio.wait_for(server.cleanup(), 2)
        assert [] == (await waiting).json["changes"]


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


async def test_the_page_is_for_people(ask: Caller) -> None:
    """`/` is HTML with a strict policy for who accepts it, and needs no key."""
    page = await ask.using(None)("GET", "/", headers={"Accept": "text/html,*/*"})
    refused = await ask.using(None)("GET", "/", headers={"Accept": "application/json"})

    assert (200, "text/html; charset=utf-8") == (page.status, page.headers["Content-Type"])
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert (406, "not_acceptable") == (refused.status, refused.error)


async def test_keys_are_the_owners_to_manage(ask: Caller) -> None:
    """A made key works until it is revoked, and manages none itself."""
    token = (await ask("POST", "/v1/keys", name="agent")).json["token"]
    agent = ask.using(token)

    assert 200 == (await agent("GET", "/v1/status")).status
    for response in (await agent("GET", "/v1/keys"), await agent("POST", "/v1/keys", name="x")):
        assert (403, "owner_only") == (response.status, response.error)
    assert (409, "name_taken") == ((clash := await ask("POST", "/v1/keys", name="agent")).status, clash.error)
    assert token not in (await ask("GET", "/v1/keys")).body.decode()
    assert 200 == (await ask("DELETE", "/v1/keys/agent")).status
    assert 401 == (await agent("GET", "/v1/status")).status
    assert (404, "key_not_found") == ((gone := await ask("DELETE", "/v1/keys/agent")).status, gone.error)


def _fits(route: str, address: str) -> bool:
    path = address.partition("?")[0]
    fixed, brace, _ = route.partition("{")
    return path.startswith(fixed) and path != fixed if brace else path == route


def _matches(value: Any, schema: dict[str, Any], described: dict[str, Any]) -> bool:
    """Check a value against the part of JSON Schema that the description uses."""
    if ref := schema.get("$ref"):
        return _matches(value, described["components"]["schemas"][ref.rpartition("/")[2]], described)
    if "anyOf" in schema:
        return any(_matches(value, option, described) for option in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            rest = schema.get("additionalProperties", not fields)
            return (
                isinstance(value, dict)
                and set(schema.get("required", ())) <= value.keys()
                and (rest is not False or value.keys() <= fields.keys())
                and (bool(rest) or value.keys() <= fields.keys())
                and all(
                    _matches(value[name], fields[name], described) for name in value.keys() & fields.keys()
                )
                and (
                    not isinstance(rest, dict)
                    or all(_matches(value[name], rest, described) for name in value.keys() - fields.keys())
                )
            )
        case "array":
            if not isinstance(value, list):
                return False
            if prefix := schema.get("prefixItems"):
                pairs = zip(value, prefix, strict=False)
                return len(value) == len(prefix) and all(
                    _matches(one, kind, described) for one, kind in pairs
                )
            return all(_matches(one, schema.get("items", {}), described) for one in value)
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
    return True
