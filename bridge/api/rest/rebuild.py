"""Building the index anew, for the holder of the first key."""

from bridge.api.verbs import Ask, Call, verb


class Rebuild(Ask, frozen=True):
    """`embeddings`: the cached ones are thrown away too."""

    embeddings: bool = False


@verb("POST", "/v1/rebuild")
async def rebuild(call: Call, ask: Rebuild) -> Rebuild:
    """Prepare and store every note again, while searches go on with what is there."""
    call.owner_only()
    await call.bridge.rebuild(embeddings=ask.embeddings)
    return ask
