"""A key sees its part of the vault as if there were no other."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bridge.api.rest import VERBS
from bridge.runtime import Bridge
from tests.api.conftest import Caller, serving, settings, write
from tests.api.test_verbs import _fits

WORD = "zyzzyva"
DENIED = f"Private/{WORD} plan.md"
OPEN = {
    "Public/Harbour.md": "---\naliases: [Port]\ntags: [sea]\n---\nThe crane lifts boxes. [[Tide]] [[the scheme]] [[Ghost]]\n",
    "Public/Tide.md": "The tide gauge stands at the harbour, beside the crane. #sea/level [[Harbour#crane]]\n",
    "Public/Empty.md": "",
    "Public/Ghost story.md": "Boxes by the harbour at night.\n",
    "Public/Board.canvas": '{"nodes": [{"id": "1", "type": "text", "text": "crane and tide [[Tide]]"}], "edges": []}',
}
CLOSED = {
    DENIED: f"""---
aliases: [the scheme, {WORD} alias]
tags: [{WORD}, sea]
{WORD}key: {WORD}
---
# {WORD} heading

The {WORD} crane lifts boxes beside the tide gauge of the harbour. #{WORD}/deep ^{WORD}

[[Harbour]] ![[Tide]] [[{WORD} ghost]] [[Empty]]
""",
    f"Private/{WORD}.canvas": f'{{"nodes": [{{"id": "1", "type": "file", "file": "{DENIED}"}}], "edges": []}}',
    f"Private/{WORD} alone.md": "No link leads here or away.\n",
    f"Public/{WORD} draft.md": f"Denied by name inside an open folder. {WORD} [[Tide]]\n",
}
RESTRICTED: dict[str, Any] = {"allow": ["Public/**", "Private/**"], "deny": ["Private", f"Public/{WORD}*"]}


def questions(path: str) -> list[tuple[str, str, dict[str, Any]]]:
    """All verbs that read, where `path` is the note that they name."""
    quoted = quote(path, safe="")
    searches = [
        {"query": query, "mode": mode, "limit": 50, "filter": only}
        for query in (
            WORD,
            "crane tide harbour boxes",
            "the scheme",
            f"tag:{WORD}",
            f"path:Private/ {WORD}",
            f'"{WORD} crane"',
        )
        for mode in ("hybrid", "keyword", "semantic")
        for only in (None, {"path": "**"}, {"path": "Private/**"}, {"tags": ["sea"]}, {"tags": [WORD]})
    ]
    return [
        ("GET", "/v1/status", {}),
        ("GET", f"/v1/status?path={quoted}", {}),
        *(("POST", "/v1/search", search) for search in searches),
        ("GET", f"/v1/search?q={WORD}&limit=50", {}),
        ("GET", f"/v1/related?path={quoted}&limit=50", {}),
        ("GET", "/v1/related?path=Public/Harbour.md&limit=50", {}),
        ("POST", "/v1/related", {"path": "Public/Tide.md", "limit": 50}),
        ("POST", "/v1/related", {"text": f"{WORD} crane tide harbour", "limit": 50}),
        ("POST", "/v1/related/pins", {"path": path, "other": "Public/Tide.md", "state": "pinned"}),
        ("GET", "/v1/notes?limit=1000", {}),
        ("GET", "/v1/notes?folder=Private", {}),
        ("GET", f"/v1/notes?tag={WORD}", {}),
        ("GET", f"/v1/notes?cursor={quote('Private/')}", {}),
        ("GET", f"/v1/notes/{quoted}", {}),
        ("GET", "/v1/notes/Public%2FHarbour.md", {}),
        ("GET", "/v1/notes/Public%2FTide.md", {}),
        ("GET", f"/v1/map?path={quoted}", {}),
        ("POST", "/v1/read", {"paths": [path, "Public/Harbour.md"]}),
        ("GET", f"/v1/graph/links?path={quoted}", {}),
        ("GET", "/v1/graph/links?path=Public/Harbour.md", {}),
        ("GET", "/v1/graph/links?path=Public/Empty.md", {}),
        ("GET", f"/v1/graph/neighbors?path={quoted}", {}),
        ("GET", "/v1/graph/neighbors?path=Public/Harbour.md&depth=5", {}),
        ("GET", "/v1/graph/unresolved?limit=1000", {}),
        ("GET", "/v1/graph/orphans?limit=1000", {}),
        ("GET", "/v1/recent?limit=1000", {}),
        ("GET", "/v1/changes?since=0", {}),
    ]


OWNERS = {"keys", "create_key", "revoke_key", "rebuild"}
WRITERS = {"events", "reconcile", "health"}


@pytest.fixture
async def owner(tmp_path: Path, model_url: str) -> AsyncIterator[Caller]:
    """The owner of the whole vault, with keyword, semantic and graph signals at work."""
    root = write(tmp_path / "whole", OPEN)
    async with Bridge.open(settings(root, tmp_path / "whole data", model_url)) as bridge:
        bridge.start()
        async with serving(bridge) as owner:
            await owner.settled()
            write(root, CLOSED)
            for path in CLOSED:
                await owner.indexed(path)
            await owner.settled()
            yield owner


@pytest.fixture
async def restricted(owner: Caller) -> Caller:
    """A key that may not see the closed part of it."""
    return owner.using((await owner("POST", "/v1/keys", name="agent", **RESTRICTED)).json["token"])


@pytest.fixture
async def alone(tmp_path: Path, model_url: str) -> AsyncIterator[Caller]:
    """The owner of a vault that has the open part only."""
    root = write(tmp_path / "open", OPEN)
    async with Bridge.open(settings(root, tmp_path / "open data", model_url)) as bridge:
        bridge.start()
        async with serving(bridge) as owner:
            await owner.settled()
            yield owner


async def test_no_answer_holds_a_word_of_a_denied_note(owner: Caller, restricted: Caller) -> None:
    """Title, text, tag, alias, heading, key, block and link of a denied note stand in no answer of any verb.

    Every verb is asked, and of those that read each tells the owner what it keeps from the other key.
    """
    asked: set[str] = set()
    kept: set[str] = set()
    signals: set[str] = set()
    for method, path, body in questions("Public/Tide.md"):
        response = await restricted(method, path, **body)
        (name,) = (verb.call.__name__ for verb in VERBS if verb.method == method and _fits(verb.path, path))
        asked.add(name)
        told = await owner(method, path, **body)
        if WORD in told.body.decode().casefold():
            kept.add(name)
        signals |= {*told.json.get("signals_used", ())} & {*response.json.get("signals_used", ())}
        assert WORD not in response.body.decode().casefold(), (path, body)
        assert "Private" not in response.body.decode(), (path, body)

    assert {verb.call.__name__ for verb in VERBS} == asked | OWNERS | WRITERS
    assert asked - kept == {"status", "pin", "map_"}
    assert {"keyword", "semantic", "graph"} == signals


async def test_a_denied_note_answers_as_an_absent_one(restricted: Caller) -> None:
    """Asked for by name, a denied note and one that never was give the same answer."""
    absent = "Private/nowhere at all.md"
    for denied, nowhere in zip(questions(DENIED), questions(absent), strict=True):
        one = await restricted(denied[0], denied[1], **denied[2])
        other = await restricted(nowhere[0], nowhere[1], **nowhere[2])
        assert other.status == one.status
        assert _plain(other.json) == _plain(_renamed(one.json, DENIED, absent)), denied


async def test_a_scope_is_a_vault_of_its_own(restricted: Caller, alone: Caller) -> None:
    """Lists, links, hits and counts are those of a vault that never had the denied notes."""
    for method, path, body in questions("Public/Tide.md"):
        if "recent" in path or "changes" in path or "pins" in path:
            continue
        mine = (await restricted(method, path, **body)).json
        theirs = (await alone(method, path, **body)).json
        assert _plain(theirs) == _plain(mine), (path, body)


async def test_waiting_tells_nothing_of_denied_notes(restricted: Caller, tmp_path: Path) -> None:
    """A change of a denied note neither ends a long poll nor shows in it; counts over all are left out."""
    seq = (await restricted("GET", "/v1/changes")).json["seq"]
    write(tmp_path / "whole", {f"Private/{WORD} 2.md": "Words that were never embedded."})
    (change,) = (await restricted("GET", f"/v1/changes?since={seq}&wait_s=10")).json["changes"]

    assert "progress" == change["type"]
    assert {"seq", "type"} == change.keys()


async def test_writing_outside_the_scope_is_one_answer(restricted: Caller) -> None:
    """403 for a denied path, whether there is something or not; and nothing is written."""
    for path in (DENIED, "Private/nowhere.md", "Elsewhere/new.md"):
        event = {"type": "upsert", "path": path, "content": "x"}
        listed = {"path": path, "revision": "0" * 64}
        for response in (
            await restricted("POST", "/v1/events", device="d", events=[event]),
            await restricted(
                "POST", "/v1/events", device="d", events=[event | {"type": "rename", "old_path": path}]
            ),
            await restricted("POST", "/v1/reconcile", device="d", session="s", last=True, notes=[listed]),
            await restricted("POST", "/v1/related/pins", path="Public/Tide.md", other=path, state="hidden"),
        ):
            assert (403, "outside_scope") == (response.status, response.error)
            assert {"path": path} == response.json["error"]["fields"]


def _renamed(value: Any, old: str, new: str) -> Any:
    match value:
        case dict():
            return {key: _renamed(one, old, new) for key, one in value.items()}
        case list():
            return [_renamed(one, old, new) for one in value]
        case str():
            return value.replace(old, new)
    return value


def _plain(value: Any) -> Any:
    """Leave out measured times, and what the index's word counts have a part in.

    Those are scores, the order that follows them, and which shared words are called telling.
    """
    match value:
        case dict():
            return {key: _plain(one) for key, one in value.items() if key not in {"modified", "last_seen"}}
        case list():
            kept = [one for one in value if not (isinstance(one, dict) and one.get("kind") == "words")]
            return sorted((_plain(one) for one in kept), key=str)
        case float():
            return "a number"
    return value
