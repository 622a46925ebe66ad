"""What a device lists: told what differs, and never taken for deleted what it did not delete."""

from dataclasses import replace
from pathlib import Path

from bridge.runtime import Bridge
from tests.api.conftest import NEW, OLD, OTHER, Device, listed, rev, serving, settings, write


async def test_reconcile_says_what_differs(phone: Device) -> None:
    """Edited there is sent; edited here is newer here; new there is sent; what agrees is silent."""
    write(phone.vault, {f"{name}.md": OLD for name in ("Same", "There", "Here", "Both")})
    names = ("Same", "There", "Here", "Both")
    await phone.reconcile("1", *(listed(f"{name}.md", OLD) for name in names))
    write(phone.vault, {"Here.md": OTHER, "Both.md": OTHER})

    answer = await phone.reconcile(
        "2",
        listed("Same.md", OLD),
        listed("There.md", NEW, base=rev(OLD)),
        listed("Here.md", OLD, base=rev(OLD)),
        listed("Both.md", NEW),
        listed("New.md", NEW),
        listed("picture.png", NEW),
    )

    assert ["There.md", "Both.md", "New.md"] == answer["send"]
    assert ["Here.md"] == answer["newer_here"]
    assert [] == answer["gone_here"]


async def test_strangers_under_one_name_are_told_apart_by_time(phone: Device) -> None:
    """At the first meeting the newer of two notes counts, and nothing is written by it."""
    answer = await phone.reconcile(
        "1",
        listed("Note.md", NEW, modified="2001-01-01T00:00:00Z"),
        listed("Other.md", NEW, modified="2099-01-01T00:00:00Z"),
    )
    assert (["Other.md"], ["Note.md"]) == (answer["send"], answer["newer_here"])
    assert (OLD, OTHER) == (phone.read(), phone.read("Other.md"))


async def test_absence_is_judged_after_the_last_slice(phone: Device) -> None:
    """What a device had and names in no slice was deleted there, so here too; strangers stay."""
    write(phone.vault, {"A.md": OLD, "B.md": OLD, "C.md": OLD})
    await phone.reconcile("1", *(listed(f"{name}.md", OLD) for name in "ABC"))
    write(phone.vault, {"C.md": OTHER})

    first = await phone.reconcile("2", listed("A.md", OLD), last=False)
    assert {"send": [], "gone_here": [], "newer_here": []} == first
    assert OLD == phone.read("B.md")
    last = await phone.reconcile("2")
    assert {"send": [], "gone_here": [], "newer_here": ["C.md"]} == last

    assert (OLD, None, OTHER, OLD) == tuple(phone.read(f"{name}.md") for name in ("A", "B", "C", "Note"))
    assert last == await phone.reconcile("2")


async def test_gone_here_is_told_of_what_the_device_had(phone: Device) -> None:
    """A note deleted here is shown after the last slice; one that never was here is sent at once."""
    await phone.reconcile("1", listed("Note.md", OLD), listed("Other.md", OTHER))
    (phone.vault / "Note.md").unlink()
    await phone.ask("POST", "/v1/events", device="laptop", events=[{"type": "delete", "path": "Note.md"}])
    first = await phone.reconcile("2", listed("Note.md", OLD), listed("Never.md", OLD), last=False)
    last = await phone.reconcile("2", listed("Other.md", OTHER))

    assert (["Never.md"], []) == (first["send"], first["gone_here"])
    assert {"send": [], "gone_here": ["Note.md"], "newer_here": []} == last


async def test_what_events_acknowledge_counts_as_seen(phone: Device) -> None:
    """A note sent between two slices is not judged absent by the last one."""
    assert ["New.md"] == (await phone.reconcile("1", listed("New.md", NEW), last=False))["send"]
    assert ("stored", rev(NEW)) == await phone.one("upsert", "New.md", content=NEW)
    await phone.reconcile("1", listed("Note.md", OLD))
    assert NEW == phone.read("New.md")


async def test_events_acknowledge_too(phone: Device) -> None:
    """What a device posted is known as its own: deleted while it was away, it goes; moved, its old name is forgotten."""
    await phone.one("upsert", "New.md", content=NEW)
    await phone.one("upsert", revision=rev(OLD))
    await phone.one("rename", "Moved.md", old_path="Note.md", revision=rev(OLD), base=rev(OLD))
    write(phone.vault, {"Note.md": OLD})
    await phone.reconcile("1", listed("Moved.md", OLD))
    assert (None, OLD, OLD) == tuple(phone.read(path) for path in ("New.md", "Moved.md", "Note.md"))


async def test_a_session_survives_a_restart(tmp_path: Path) -> None:
    """A bridge that restarts between two slices does not take the first one's notes for deleted."""
    root = write(tmp_path / "vault", {"A.md": OLD, "B.md": OLD})
    notes = [listed("A.md", OLD), listed("B.md", OLD)]
    for session, parts in (("1", [notes]), ("2", [notes[:1], notes[1:]])):
        for number, part in enumerate(parts, 1):
            async with Bridge.open(settings(root, tmp_path / "data")) as bridge, serving(bridge) as ask:
                await bridge.index()
                await Device(ask, root, tmp_path / "data").reconcile(
                    session, *part, last=number == len(parts)
                )
    assert {"A.md", "B.md"} == {file.name for file in root.iterdir()}


async def test_sessions_that_overlap_delete_nothing(phone: Device) -> None:
    """A session that another one of the same device overtook still knows what both have named."""
    await phone.reconcile("1", listed("Note.md", OLD), listed("Other.md", OTHER))
    await phone.reconcile("2", listed("Note.md", OLD), last=False)
    await phone.reconcile("3", listed("Note.md", OLD), listed("Other.md", OTHER), last=False)
    await phone.reconcile("2", listed("Note.md", OLD))
    assert OTHER == phone.read("Other.md")


async def test_a_device_that_lost_its_vault_deletes_nothing(phone: Device) -> None:
    """An empty list from a device that had many notes is no list of deletions."""
    names = [f"{number}.md" for number in range(12)]
    write(phone.vault, dict.fromkeys(names, OLD))
    await phone.reconcile("1", *(listed(name, OLD) for name in names))
    assert {"send": [], "gone_here": [], "newer_here": []} == await phone.reconcile("2")
    assert all(phone.read(name) == OLD for name in names)


async def test_a_scoped_device_deletes_only_what_it_sees(phone: Device) -> None:
    """Absence is judged within the scope of the key that reconciles."""
    write(phone.vault, {"Mine/A.md": OLD, "Mine/B.md": OLD})
    await phone.reconcile("1", *(listed(path, OLD) for path in ("Mine/A.md", "Mine/B.md", "Note.md")))
    token = (await phone.ask("POST", "/v1/keys", name="mine", allow=["Mine/**"])).json["token"]
    await replace(phone, ask=phone.ask.using(token)).reconcile("2", listed("Mine/A.md", OLD))
    assert (OLD, None, OLD) == (phone.read("Mine/A.md"), phone.read("Mine/B.md"), phone.read())
