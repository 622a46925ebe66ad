"""Every verb: what it answers."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from aiohttp import ClientSession, web

from bridge.api.app import create_app, runner
from bridge.api.openapi import openapi
from bridge.api.rest import VERBS
from bridge.runtime import Bridge
from tests.api.conftest import HARBOUR, NOTES, Caller, settings, write
from tests.api.schema import matches

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
        assert matches(response.json, schema["content"]["application/json"]["schema"], described), (
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


async def test_odd_names_are_found(ask: Caller) -> None:
    """A note of any legal name is read by its address, its slashes encoded or not."""
    for path, text in NOTES.items():
        for address in (quote(path, safe=""), quote(path, safe="/")):
            response = await ask("GET", f"/v1/notes/{address}")
            assert (200, path, text) == (response.status, response.json["path"], response.json["content"])


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
