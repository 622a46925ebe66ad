"""Reconciliation: a device lists what it has, in slices, and learns how the folder differs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal, Protocol, TypeAlias

import msgspec
import structlog

from bridge.model import NotePath, Revision
from bridge.paths import is_hidden, is_note, note_path
from bridge.sources.here import Here
from bridge.stores.devices import Devices
from bridge.times import from_rfc3339
from bridge.vault.reader import FileOnDisk

log = structlog.get_logger(__name__)

Modified: TypeAlias = str | Annotated[float, msgspec.Meta(ge=0, le=9e12)]
"""RFC 3339, or milliseconds since 1970 as Obsidian counts them."""
EventState: TypeAlias = Literal["unchanged", "send", "stored", "indexed", "conflict", "refused"]
Verdict: TypeAlias = Literal["same", "send", "gone_here", "newer_here"]

EMPTIED = 10
"""A device that names none of this many notes has lost its vault; it has not deleted them."""
_SESSIONS = 16


class EventResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of an event; `revision` is what the bridge has now."""

    path: NotePath
    state: EventState
    revision: Revision | None
    reason: str | None = None

    @property
    def done(self) -> bool:
        """Whether device and bridge now have the same under this path."""
        return self.state in {"unchanged", "stored", "indexed"} and self.reason != "newer_here"


class Listed(msgspec.Struct, frozen=True):
    """A note as it is on a device."""

    path: str
    revision: str
    modified: Modified | None = None
    size: int | None = None
    base: str | None = None


class ReconcileAnswer(msgspec.Struct, frozen=True):
    """Paths: what the device should send, and what to show to its person."""

    send: Sequence[NotePath]
    gone_here: Sequence[NotePath]
    newer_here: Sequence[NotePath]


class DeleteUnnamed(Protocol):
    """Deletes a note here that its device no longer has."""

    async def __call__(
        self, path: NotePath, base: Revision, device: str, *, livesync: bool
    ) -> EventResult: ...


def judge(
    there: Revision,
    here: Revision | None,
    base: Revision | None,
    acknowledged: Revision | None,
    *,
    older_there: bool,
) -> Verdict:
    """Compare a note of the device with the folder's.

    `base` is what the device says that both last had, `acknowledged` what the bridge remembers of
    that. A note that is not here was deleted here only if the device had acknowledged it and left it
    as it was; else it has yet to come. Of two strangers under one name the newer counts.

    >>> judge("b", "a", "a", "a", older_there=True), judge("a", "b", "a", "a", older_there=False)
    ('send', 'newer_here')
    >>> judge("a", None, None, "a", older_there=False), judge("a", None, "a", None, older_there=False)
    ('gone_here', 'send')
    """
    if here == there:
        return "same"
    if here is None:
        return "gone_here" if there == acknowledged else "send"
    common = base or acknowledged
    if common is None:
        return "newer_here" if older_there else "send"
    return "newer_here" if there == common else "send"


class Reconciler:
    """Compares slices; what a session must remember stands in `state.sqlite`, so that it survives a restart."""

    def __init__(self, here: Here, devices: Devices, delete_unnamed: DeleteUnnamed) -> None:
        self._here = here
        self._devices = devices
        self._delete_unnamed = delete_unnamed
        self._gone_here: dict[tuple[str, str], list[NotePath]] = {}

    async def slice(
        self,
        device: str,
        session: str,
        listed: Sequence[Listed],
        *,
        turn: int,
        last: bool,
        livesync: bool,
        sees: Callable[[str], bool],
    ) -> ReconcileAnswer:
        """Compare a slice.

        What the device acknowledged once and names in no slice up to the `last` one was deleted on it.
        It is deleted here too if the folder still has the revision that both knew, else it is newer here.
        """
        there = {note_path(item.path): item for item in listed}
        began = await self._devices.began(device, session, turn)
        verdicts = await self._compare(device, there)
        same: dict[NotePath, Revision | None] = {
            path: Revision(there[path].revision) for path, verdict in verdicts.items() if verdict == "same"
        }
        await self._devices.acknowledge(device, turn, same, named=there)
        newer_here = _of(verdicts, "newer_here")
        gone_here = [*self._gone_here.pop((device, session), []), *_of(verdicts, "gone_here")]
        if last:
            newer_here += await self._unnamed(device, turn, began, livesync=livesync, sees=sees)
        else:
            self._remember(device, session, gone_here)
        return ReconcileAnswer(_of(verdicts, "send"), gone_here if last else [], newer_here)

    async def _compare(self, device: str, there: Mapping[NotePath, Listed]) -> dict[NotePath, Verdict]:
        acknowledged = await self._devices.acknowledged(device, there)
        indexed = await self._here.indexed(there)
        verdicts: dict[NotePath, Verdict] = {}
        for path, item in there.items():
            if not is_note(path) or is_hidden(path):
                continue
            if indexed.get(path) == item.revision:
                verdicts[path] = "same"
                continue
            file = await self._here.file(path)
            verdicts[path] = judge(
                Revision(item.revision),
                file.revision if file else None,
                Revision(item.base) if item.base else None,
                acknowledged.get(path),
                older_there=_older(item, file),
            )
        return verdicts

    async def _unnamed(
        self, device: str, turn: int, began: int, *, livesync: bool, sees: Callable[[str], bool]
    ) -> list[NotePath]:
        """Follow the device's deletions; return what is newer here."""
        absent = await self._devices.absent(device, began)
        if not absent.named and len(absent.unnamed) >= EMPTIED:
            log.warning("reconcile.emptied", device=device, notes=len(absent.unnamed))
            return []
        results = [
            await self._delete_unnamed(path, revision, device, livesync=livesync)
            for path, revision in sorted(absent.unnamed.items())
            if sees(path)
        ]
        await self._devices.acknowledge(
            device, turn, {result.path: None for result in results if result.done}
        )
        return [result.path for result in results if result.state == "conflict"]

    def _remember(self, device: str, session: str, gone_here: list[NotePath]) -> None:
        """Keep for the last slice what may be told only then; a few sessions at most."""
        self._gone_here[device, session] = gone_here
        for oldest in [*self._gone_here][:-_SESSIONS]:
            del self._gone_here[oldest]


def modified_ns(modified: Modified) -> int:
    return from_rfc3339(modified) if isinstance(modified, str) else int(modified * 1_000_000)


def _older(item: Listed, file: FileOnDisk | None) -> bool:
    return file is not None and item.modified is not None and modified_ns(item.modified) < file.modified_ns


def _of(verdicts: Mapping[NotePath, Verdict], wanted: Verdict) -> list[NotePath]:
    return [path for path, verdict in verdicts.items() if verdict == wanted]
