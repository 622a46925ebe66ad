"""The SQLite module to use: the standard one where it can load extensions, else sqlean's.

Some builds of Python leave `enable_load_extension` out; sqlean.py is a drop-in module that
has it. Its exceptions are its own classes, so everything takes them from here.
"""

import sqlite3
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import cast

import sqlite_vec

from bridge.errors import InstallationError


def _choose() -> ModuleType:
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        return sqlite3
    try:
        return import_module("sqlean")
    except ImportError:
        raise InstallationError(
            "This Python's SQLite cannot load extensions and the package sqlean.py is missing; "
            "no data was touched. Install it with: pip install sqlean.py",
            key="sqlite_extensions",
        ) from None


_module = _choose()

NAME: str = _module.__name__
VERSION: str = _module.sqlite_version
Error = cast("type[sqlite3.Error]", _module.Error)
DatabaseError = cast("type[sqlite3.DatabaseError]", _module.DatabaseError)
OperationalError = cast("type[sqlite3.OperationalError]", _module.OperationalError)


def connect(path: Path | str, *, vectors: bool = False) -> sqlite3.Connection:
    """Open a connection in autocommit mode, with sqlite-vec loaded when `vectors`."""
    connection: sqlite3.Connection = _module.connect(
        str(path), timeout=5.0, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    if vectors:
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        connection.enable_load_extension(False)
    return connection
