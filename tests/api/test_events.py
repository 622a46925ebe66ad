"""What a device posts: each state, and that nothing of anybody's is ever overwritten."""

from dataclasses import replace
from pathlib import Path

import pytest

from bridge.runtime import Bridge
from bridge.settings import LiveSyncSettings
from tests.api.conftest import NEW, OLD, OTHER, Device, listed, rev, serving, settings, write


@pytest.fixture
def mirrored(phone: Device) -> Device:
    """The same device with LiveSync."""
    return replace(phone, livesync=True)


async def test_without_content_the_folder_is_compared(phone: Device) -> None:
    """The bytes are asked for only if the folder has others."""
    assert ("unchanged", rev(OLD)) == await phone.one("upsert", revision=rev(OLD))
    assert ("send", rev(OLD)) == await phone.one("upsert", revision=rev(NEW), base=rev(OLD))
    assert ("send", None) == await phone.one("upsert", "New.md", revision=rev(NEW))
    assert ("send", None) == await phone.one("upsert", "New.md")
    assert OLD == phone.read()


async def test_what_the_folder_has_is_indexed_now(phone: Device) -> None:
    """A file that something else brought is searchable once its event has come."""
    write(phone.vault, {"Note.md": NEW})
    assert [] == await phone.found("quokka")
    assert ("unchanged", rev(NEW)) == await phone.one("upsert", revision=rev(NEW))
    assert ["Note.md"] == await phone.found("quokka")


async def test_content_is_stored_onto_its_base(phone: Device) -> None:
    """An edit reaches the folder and the index; the same event again changes nothing."""
    event = {"revision": rev(NEW), "base": rev(OLD), "content": NEW, "modified": "2026-01-01T00:00:00Z"}

    assert ("stored", rev(NEW)) == await phone.one("upsert", **event)
    assert NEW == phone.read()
    assert ["Note.md"] == await phone.found("quokka")
    assert ("unchanged", rev(NEW)) == await phone.one("upsert", **event)
    assert ("stored", rev(NEW)) == await phone.one("upsert", "Folder/New.md", content=NEW, modified=1.7e12)
    assert NEW == phone.read("Folder/New.md")
    assert [] == phone.conflicts()


@pytest.mark.parametrize("base", [None, rev(OTHER), "no revision"])
async def test_a_stale_base_is_a_conflict(phone: Device, base: str | None) -> None:
    """Bytes for another revision than the folder's are kept aside once; nothing is overwritten."""
    event = {"revision": rev(NEW), "content": NEW} | ({"base": base} if base else {})
    for _ in range(2):
        assert ("conflict", rev(OLD)) == await phone.one("upsert", **event)
    assert OLD == phone.read()
    assert [NEW.encode()] == phone.conflicts()
    assert [] == await phone.found("quokka")


async def test_an_edit_of_what_is_gone_here_is_kept_aside(phone: Device) -> None:
    """Deleted here, edited there: the edit is not lost, and the file does not come back by itself."""
    (phone.vault / "Note.md").unlink()
    assert ("conflict", None) == await phone.one("upsert", base=rev(OLD), content=NEW)
    assert phone.read() is None
    assert [NEW.encode()] == phone.conflicts()


async def test_a_delete_needs_its_base(phone: Device) -> None:
    """A file goes only as its device knew it; again, or of what is gone, it changes nothing."""
    for stale in ({"base": rev(NEW)}, {}):
        assert ("conflict", rev(OLD)) == await phone.one("delete", **stale)
    assert OLD == phone.read()
    assert ("stored", None) == await phone.one("delete", base=rev(OLD))
    assert phone.read() is None
    assert await phone.indexed() is None
    assert ("unchanged", None) == await phone.one("delete", base=rev(OLD))


async def test_a_rename_moves_the_file(phone: Device) -> None:
    """Renamed there, moved here, without its bytes being sent; twice is once."""
    event = {"old_path": "Note.md", "revision": rev(OLD), "base": rev(OLD)}
    assert ("stored", rev(OLD)) == await phone.one("rename", "Folder/Moved.md", **event)
    assert (None, OLD) == (phone.read(), phone.read("Folder/Moved.md"))
    assert ["Folder/Moved.md"] == await phone.found("old")
    assert ("unchanged", rev(OLD)) == await phone.one("rename", "Folder/Moved.md", **event)


async def test_a_rename_with_an_edit_moves_and_stores(phone: Device) -> None:
    """The move is done at once, the new bytes are asked for or stored."""
    event = {"old_path": "Note.md", "revision": rev(NEW), "base": rev(OLD)}
    assert ("send", rev(OLD)) == await phone.one("rename", "Moved.md", **event)
    assert ("stored", rev(NEW)) == await phone.one("rename", "Moved.md", **event, content=NEW)
    assert (None, NEW) == (phone.read(), phone.read("Moved.md"))


async def test_a_rename_of_what_changed_here_leaves_it(phone: Device) -> None:
    """The new name gets the device's bytes, the old one keeps ours, and the answer says so."""
    write(phone.vault, {"Note.md": OTHER})
    event = {
        "type": "rename",
        "path": "Moved.md",
        "old_path": "Note.md",
        "revision": rev(NEW),
        "base": rev(OLD),
    }
    assert ["send"] == [result["state"] for result in await phone.post(event)]
    (result,) = await phone.post(event | {"content": NEW})
    assert ("stored", "old_path_changed_here") == (result["state"], result["reason"])
    assert (OTHER, NEW) == (phone.read(), phone.read("Moved.md"))


async def test_a_rename_onto_another_note_is_a_conflict(phone: Device) -> None:
    """Two notes of one name: both stay."""
    event = {"old_path": "Note.md", "revision": rev(OLD), "base": rev(OLD)}
    assert ("send", rev(OTHER)) == await phone.one("rename", "Other.md", **event)
    assert ("conflict", rev(OTHER)) == await phone.one("rename", "Other.md", **event, content=OLD)
    assert (OLD, OTHER) == (phone.read(), phone.read("Other.md"))


async def test_with_livesync_the_index_alone_learns(mirrored: Device) -> None:
    """The mirror will bring the file: content is searchable at once and never written."""
    event = {"revision": rev(NEW), "base": rev(OLD)}
    assert ("send", rev(OLD)) == await mirrored.one("upsert", **event)
    assert ("indexed", rev(NEW)) == await mirrored.one("upsert", **event, content=NEW)
    assert OLD == mirrored.read()
    assert ["Note.md"] == await mirrored.found("quokka")
    assert ("unchanged", rev(NEW)) == await mirrored.one("upsert", **event)
    assert ("indexed", rev(NEW)) == await mirrored.one("upsert", "New.md", content=NEW)
    assert mirrored.read("New.md") is None
    assert ("indexed", None) == await mirrored.one("delete", base=rev(NEW))
    assert OLD == mirrored.read()
    assert await mirrored.indexed() is None
    assert ("indexed", rev(OTHER)) == await mirrored.one(
        "rename", "O.md", old_path="Other.md", revision=rev(OTHER)
    )
    assert ["O.md"] == await mirrored.found("somebody")
    assert [] == mirrored.conflicts()


async def test_a_late_event_does_not_take_the_index_back(mirrored: Device) -> None:
    """An edit older than what the mirror brought meanwhile is not shown."""
    late = {"base": rev(OLD), "content": OTHER, "modified": "2020-01-01T00:00:00Z"}
    write(mirrored.vault, {"Note.md": NEW})
    await mirrored.one("upsert", revision=rev(NEW))
    (result,) = await mirrored.post({"type": "upsert", "path": "Note.md", **late})
    assert ("unchanged", "newer_here", rev(NEW)) == (result["state"], result["reason"], result["revision"])
    assert rev(NEW) == await mirrored.indexed()


async def test_a_pull_only_vault_is_not_written(tmp_path: Path) -> None:
    """Where LiveSync alone writes, a device without it is refused, and told why."""
    root = write(tmp_path / "vault", {"Note.md": OLD})
    pulled = replace(
        settings(root, tmp_path / "data"), livesync=LiveSyncSettings(url="http://127.0.0.1:1", mode="pull")
    )
    async with Bridge.open(pulled) as bridge, serving(bridge) as ask:
        await bridge.index()
        phone = Device(ask, root, tmp_path / "data")
        results = await phone.post(
            {"type": "upsert", "path": "Note.md", "base": rev(OLD), "content": NEW},
            {"type": "upsert", "path": "New.md", "content": NEW},
            {"type": "delete", "path": "Note.md", "base": rev(OLD)},
            {
                "type": "rename",
                "path": "Moved.md",
                "old_path": "Note.md",
                "base": rev(OLD),
                "revision": rev(OLD),
            },
        )
        assert [("refused", "vault_is_pull_only")] * 4 == [(one["state"], one["reason"]) for one in results]
        assert ["Note.md"] == [file.name for file in root.iterdir()]
        assert OLD == phone.read()
        assert ("indexed", rev(NEW)) == await replace(phone, livesync=True).one(
            "upsert", base=rev(OLD), content=NEW
        )


async def test_what_is_no_note_is_refused(phone: Device) -> None:
    """Hidden files, other kinds of files and damaged bytes are refused one by one; the rest goes on."""
    results = await phone.post(
        {"type": "upsert", "path": ".obsidian/app.json", "content": "{}"},
        {"type": "upsert", "path": ".trash/Note.md", "content": NEW},
        {"type": "upsert", "path": "run.sh", "content": "#!/bin/sh"},
        {"type": "upsert", "path": "x" * 300 + ".md", "content": NEW},
        {"type": "upsert", "path": "Note.md", "base": rev(OLD), "revision": rev(OTHER), "content": NEW},
        {"type": "upsert", "path": "Fine.md", "content": NEW},
    )
    assert ["refused"] * 5 + ["stored"] == [one["state"] for one in results]
    assert all(one["reason"] for one in results[:-1])
    assert OLD == phone.read()
    assert {"Note.md", "Other.md", "Fine.md"} == {file.name for file in phone.vault.iterdir()}


async def test_a_wrong_post_does_nothing_at_all(phone: Device) -> None:
    """A path out of the vault, a type of no meaning, a key that may only read: nothing of the post is done."""
    good = {"type": "upsert", "path": "Fine.md", "content": NEW}
    for bad, status in (
        ({"type": "upsert", "path": "../evil.md", "content": NEW}, 400),
        ({"type": "rename", "path": "a.md", "old_path": "/etc/passwd"}, 400),
        ({"type": "rename", "path": "a.md"}, 422),
        ({"type": "explode", "path": "a.md"}, 422),
        ({"type": "upsert", "path": "a.md", "modified": "noon"}, 422),
        ({"type": "upsert"}, 422),
    ):
        assert status == (await phone.ask("POST", "/v1/events", device="d", events=[good, bad])).status, bad
    reader = phone.ask.using((await phone.ask("POST", "/v1/keys", name="r", read_only=True)).json["token"])
    for response in (
        await reader("POST", "/v1/events", device="d", events=[good]),
        await reader("POST", "/v1/reconcile", device="d", session="s", notes=[]),
        await reader("POST", "/v1/related/pins", path="Note.md", other="Other.md", state="hidden"),
    ):
        assert (403, "read_only") == (response.status, response.error)
    assert phone.read("Fine.md") is None


async def test_excluded_notes_are_stored_and_not_shown(tmp_path: Path) -> None:
    """The settings govern what is indexed, also of what devices send; they do not keep it from the vault."""
    root = write(tmp_path / "vault", {"Note.md": OLD})
    shown = settings(root, tmp_path / "data")
    hidden = replace(shown, vault=replace(shown.vault, exclude=("Diary",)))
    async with Bridge.open(hidden) as bridge, serving(bridge) as ask:
        await bridge.index()
        phone = Device(ask, root, tmp_path / "data")
        assert ("stored", rev(NEW)) == await phone.one("upsert", "Diary/Today.md", content=NEW)
        assert ("indexed", rev(NEW)) == await replace(phone, livesync=True).one(
            "upsert", "Diary/2.md", content=NEW
        )
        await phone.one("rename", "Diary/Old.md", old_path="Note.md", base=rev(OLD))
        assert (NEW, OLD) == (phone.read("Diary/Today.md"), phone.read("Diary/Old.md"))
        assert [] == await phone.found("quokka") + await phone.found("old")


async def test_a_conflict_is_told_in_the_feed(phone: Device) -> None:
    """Who follows the changes hears that bytes were kept aside, and of which note."""
    seq = (await phone.ask("GET", "/v1/changes")).json["seq"]
    await phone.one("upsert", content=NEW)
    (change,) = (await phone.ask("GET", f"/v1/changes?since={seq}")).json["changes"]
    assert ("conflict", "Note.md") == (change["type"], change["path"])


async def test_a_folder_that_is_away_is_not_an_empty_one(tmp_path: Path) -> None:
    """While the vault is held, devices are told to wait: nothing is gone here, nothing is to be sent."""
    root = write(tmp_path / "vault", {"Note.md": OLD})
    async with Bridge.open(settings(root, tmp_path / "data")) as bridge, serving(bridge) as ask:
        await bridge.index()
        phone = Device(ask, root, tmp_path / "data")
        await phone.reconcile("1", listed("Note.md", OLD))
        root.rename(tmp_path / "away")
        bridge.start()
        await ask.held()
        for response in (
            await ask("POST", "/v1/events", device="phone", events=[{"type": "delete", "path": "Note.md"}]),
            await ask(
                "POST",
                "/v1/reconcile",
                device="phone",
                session="2",
                last=True,
                notes=[listed("Note.md", OLD)],
            ),
        ):
            assert (409, "held") == (response.status, response.error)


async def test_status_names_the_devices(phone: Device) -> None:
    """The owner sees which devices call, and whether LiveSync serves them."""
    await replace(phone, livesync=True).one("upsert", revision=rev(OLD))
    (device,) = (await phone.ask("GET", "/v1/status")).json["sources"]["plugin"]["devices"]
    assert ("phone", True) == (device["name"], device["livesync"])
