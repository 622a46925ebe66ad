"""Keys, for the holder of the first one: what the command line does while a bridge runs."""

import msgspec

from bridge.api.verbs import Ask, Call, verb
from bridge.stores.keys import KeyInfo


class KeyRequest(Ask, frozen=True):
    """`allow` and `deny` are globs over note paths; deny wins."""

    name: str
    read_only: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    transcripts: bool = False


class CreatedKey(msgspec.Struct, frozen=True):
    name: str
    token: str


class KeyName(msgspec.Struct, frozen=True):
    name: str


class KeyList(msgspec.Struct, frozen=True):
    keys: tuple[KeyInfo, ...]


@verb("GET", "/v1/keys")
async def keys(call: Call) -> KeyList:
    """List the keys, without the keys themselves."""
    call.owner_only()
    return KeyList(await call.bridge.keys.list())


@verb("POST", "/v1/keys")
async def create_key(call: Call, ask: KeyRequest) -> CreatedKey:
    """Make a key and tell it, this once."""
    call.owner_only()
    token = await call.bridge.keys.create(
        ask.name, read_only=ask.read_only, allow=ask.allow, deny=ask.deny, transcripts=ask.transcripts
    )
    return CreatedKey(ask.name, token)


@verb("DELETE", "/v1/keys/{name}")
async def revoke_key(call: Call) -> KeyName:
    """Make a key worthless; the first one is replaced by a new one in the file `token`."""
    call.owner_only()
    name = call.request.match_info["name"]
    await call.bridge.keys.revoke(name)
    return KeyName(name)
