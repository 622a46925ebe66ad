"""Keys: told once, kept as hashes, gone when revoked."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.errors import Clash, InvalidRequest, NotFound
from bridge.model import OWNER, Scope
from bridge.stores.database import Database
from bridge.stores.keys import Keys
from bridge.stores.schema import STATE


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[Database]:
    database = await Database.open(tmp_path / "state.sqlite", STATE, readers=1)
    yield database
    await database.close()


async def test_the_first_key_stands_in_a_private_file(state: Database, tmp_path: Path) -> None:
    """The first start makes a key that only the owner of the machine can read."""
    keys = await Keys.open(state, tmp_path)
    token = await keys.first_key()

    assert f"{token}\n" == (tmp_path / "token").read_text()
    assert 0o600 == (tmp_path / "token").stat().st_mode & 0o777
    assert OWNER == keys.find(token)
    assert OWNER == (await Keys.open(state, tmp_path)).find(token)


async def test_the_file_is_what_counts_for_the_first_key(state: Database, tmp_path: Path) -> None:
    """Deleting `token` gives a new first key at the next start and voids the old one; loose modes are mended."""
    old = await (await Keys.open(state, tmp_path)).first_key()
    (tmp_path / "token").unlink()
    keys = await Keys.open(state, tmp_path)

    assert keys.find(old) is None
    assert OWNER == keys.find(await keys.first_key())

    (tmp_path / "token").chmod(0o644)
    await Keys.open(state, tmp_path)
    assert 0o600 == (tmp_path / "token").stat().st_mode & 0o777


async def test_a_key_is_told_once_and_kept_as_a_hash(state: Database, tmp_path: Path) -> None:
    """No file of the data folder holds a created key."""
    keys = await Keys.open(state, tmp_path)
    token = await keys.create("agent", read_only=True, allow=["Work/**"], deny=["Work/Cafe\u0301.md"])
    scope = Scope("agent", ("Work/**",), ("Work/Caf\u00e9.md",), read_only=True, transcripts=False)

    assert scope == keys.find(token)
    assert scope == (await Keys.open(state, tmp_path)).find(token)
    assert not any(token.encode() in file.read_bytes() for file in tmp_path.iterdir())
    assert ["agent", "owner"] == [info.name for info in await keys.list()]


async def test_a_revoked_key_opens_nothing(state: Database, tmp_path: Path) -> None:
    """Revoking acts at once, and a name is free again after it."""
    keys = await Keys.open(state, tmp_path)
    token = await keys.create("agent")
    await keys.revoke("agent")

    assert keys.find(token) is None
    assert keys.find(await keys.create("agent"))
    with pytest.raises(NotFound):
        await keys.revoke("nobody")


async def test_revoking_the_first_key_replaces_it(state: Database, tmp_path: Path) -> None:
    """A leaked first key is void at once, and the owner is not locked out."""
    keys = await Keys.open(state, tmp_path)
    old = await keys.first_key()
    await keys.revoke("owner")

    assert keys.find(old) is None
    assert OWNER == keys.find(await keys.first_key())


@pytest.mark.parametrize("token", ["", "transom_", "wrong", "ü", "\udc80", "x" * 10_000])
async def test_what_is_no_key_opens_nothing(state: Database, tmp_path: Path, token: str) -> None:
    """Whatever stands in the header, only a key is a key."""
    assert (await Keys.open(state, tmp_path)).find(token) is None


async def test_names_and_globs_are_checked(state: Database, tmp_path: Path) -> None:
    """A key needs a name of its own that can be read, and globs that say something."""
    keys = await Keys.open(state, tmp_path)
    for name in ("", " a", "a\nb", "x" * 65):
        with pytest.raises(InvalidRequest):
            await keys.create(name)
    with pytest.raises(InvalidRequest):
        await keys.create("a", allow=[""])
    with pytest.raises(Clash):
        await keys.create("owner")
