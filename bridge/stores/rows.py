"""Many rows in one statement.

`executemany` takes Python's lock for every row and waits for whoever holds it; rows that come
as one JSON text are taken apart by SQLite itself, beside everything else that runs.
"""

from collections.abc import Iterable
from typing import Any

import aiosqlite
import msgspec


def as_json(value: Any) -> str:
    """Encode a value as JSON text."""
    return msgspec.json.encode(value).decode()


async def insert(
    tx: aiosqlite.Connection, into: str, columns: int, rows: Iterable[tuple[Any, ...]], then: str = ""
) -> None:
    """Insert rows of text, numbers and None: `into` names verb and table, `then` what a conflict does."""
    values = ", ".join(f"value ->> {column}" for column in range(columns))
    await tx.execute(f"{into} SELECT {values} FROM json_each(?) WHERE true {then}", (as_json([*rows]),))
