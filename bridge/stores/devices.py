"""What the bridge knows of the devices whose plugin calls it.

When each called last, and which revision of each note both sides last had in common.
"""

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from bridge.answers import Device
from bridge.model import NotePath, Revision
from bridge.stores.database import Database
from bridge.times import rfc3339

_SESSIONS_KEPT = 64


@dataclass(frozen=True, slots=True)
class Absent:
    """The acknowledged notes that a device named since a session began, and those it did not."""

    named: int
    unnamed: Mapping[NotePath, Revision]


class Devices:
    """Devices over `state.sqlite`. A device's calls are numbered; a number is a `turn`."""

    def __init__(self, state: Database) -> None:
        self._state = state

    async def list(self) -> tuple[Device, ...]:
        """List the devices, the latest first."""
        rows = await self._state.rows("SELECT name, last_seen, livesync FROM devices ORDER BY last_seen DESC")
        return tuple(Device(name, last_seen, bool(livesync)) for name, last_seen, livesync in rows)

    async def turn(self, device: str, *, livesync: bool) -> int:
        """Note that a device calls, and number the call."""
        async with self._state.write() as tx:
            [row] = await tx.execute_fetchall(
                "INSERT INTO devices (name, last_seen, livesync, turn) VALUES (?, ?, ?, 1) "
                "ON CONFLICT (name) DO UPDATE SET "
                "last_seen = excluded.last_seen, livesync = excluded.livesync, turn = turn + 1 RETURNING turn",
                (device, rfc3339(time.time_ns()), livesync),
            )
        return int(row[0])

    async def began(self, device: str, session: str, turn: int) -> int:
        """Return the turn in which a session began: this one, if it is new."""
        async with self._state.write() as tx:
            await tx.execute(
                "INSERT INTO sessions (device, session, began) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (device, session, turn),
            )
            await tx.execute(
                "DELETE FROM sessions WHERE device = ?1 AND began <= "
                "(SELECT began FROM sessions WHERE device = ?1 ORDER BY began DESC LIMIT 1 OFFSET ?2)",
                (device, _SESSIONS_KEPT),
            )
            [row] = await tx.execute_fetchall(
                "SELECT began FROM sessions WHERE device = ? AND session = ?", (device, session)
            )
        return int(row[0])

    async def acknowledged(self, device: str, paths: Collection[NotePath]) -> dict[NotePath, Revision]:
        """Return the common revisions of these notes, where there are any."""
        return dict(
            await self._state.rows(
                "SELECT path, revision FROM acknowledged WHERE device = ? "
                "AND path IN (SELECT value FROM json_each(?))",
                (device, json.dumps([*paths])),
            )
        )

    async def acknowledge(
        self,
        device: str,
        turn: int,
        common: Mapping[NotePath, Revision | None],
        *,
        named: Collection[NotePath] = (),
    ) -> None:
        """Keep what both sides have in common (None: nothing any more), and what the device named."""
        kept = [(device, path, revision, turn) for path, revision in common.items() if revision]
        gone = [path for path, revision in common.items() if not revision]
        async with self._state.write() as tx:
            await tx.execute(
                "UPDATE acknowledged SET seen = ? WHERE device = ? AND path IN (SELECT value FROM json_each(?))",
                (turn, device, json.dumps([*named])),
            )
            await tx.executemany(
                "INSERT INTO acknowledged (device, path, revision, seen) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (device, path) DO UPDATE SET revision = excluded.revision, seen = excluded.seen",
                kept,
            )
            await tx.execute(
                "DELETE FROM acknowledged WHERE device = ? AND path IN (SELECT value FROM json_each(?))",
                (device, json.dumps(gone)),
            )

    async def absent(self, device: str, began: int) -> Absent:
        """Tell which acknowledged notes a device has not named since a session began."""
        rows = await self._state.rows(
            "SELECT path, revision, seen FROM acknowledged WHERE device = ?", (device,)
        )
        unnamed = {NotePath(path): Revision(revision) for path, revision, seen in rows if seen < began}
        return Absent(len(rows) - len(unnamed), unnamed)
