"""A verb of the API: its address, what it asks for and what it answers, read off one typed function.

    @verb("GET", "/v1/recent")
    async def recent(call: Call, ask: RecentQuery) -> Recent:

`ask` is filled from the query string of a GET, from the JSON body otherwise. The same types are what
`bridge.api.openapi` describes.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, get_type_hints

import msgspec
from aiohttp import web

from bridge.api.envelope import NotReadable, WrongContentType, answer
from bridge.api.guard import SCOPE
from bridge.errors import InvalidRequest, Refused, TooLarge
from bridge.model import OWNER, NotePath, Scope
from bridge.paths import note_path
from bridge.runtime import Bridge
from bridge.search.visible import scope_matcher
from bridge.times import from_rfc3339

BODY_LIMIT = 1 << 20
Limit: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=200)]
Moment: TypeAlias = Annotated[
    str, msgspec.Meta(description="RFC 3339", extra_json_schema={"format": "date-time"})
]

_FIELD = re.compile(r" - at `\$\.?(?P<at>[^`]*)`$|field `(?P<name>[^`]*)`")


class Ask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a request says; unknown fields are refused."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a key to the bridge."""

    bridge: Bridge
    request: web.Request

    @property
    def scope(self) -> Scope:
        return self.request[SCOPE]

    @property
    def path(self) -> NotePath:
        """The note that the address names; percent-decoded once, by the router."""
        return note_path(self.request.match_info["path"])

    def may_write(self, *paths: NotePath) -> None:
        """Raise `Refused` unless the key may write all of these, whether they exist or not."""
        if self.scope.read_only:
            raise Refused("This key may read, not write; nothing was changed.", key="read_only")
        sees = scope_matcher(self.scope)
        for path in paths:
            if not sees(path):
                message = "This key may not write there; nothing was changed."
                raise Refused(message, key="outside_scope", path=path)

    def owner_only(self) -> None:
        """Raise `Refused` unless the first key asks."""
        if self.scope != OWNER:
            raise Refused("Only the first key may do this; nothing was changed.", key="owner_only")


@dataclass(frozen=True, slots=True)
class Verb:
    method: str
    path: str
    call: Callable[..., Awaitable[Any]]
    public: bool
    body_limit: int
    answers: Any

    @property
    def asks(self) -> type[Ask] | None:
        return get_type_hints(self.call).get("ask")

    def handler(self, bridge: Bridge) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Make the aiohttp handler that calls the verb on a bridge."""
        asks = self.asks

        async def handle(request: web.Request) -> web.StreamResponse:
            call = Call(bridge, request)
            if asks is None:
                result = await self.call(call)
            elif self.method == "GET":
                result = await self.call(call, _from_query(request, asks))
            else:
                result = await self.call(call, await _from_body(request, asks, self.body_limit))
            return result if isinstance(result, web.StreamResponse) else answer(result)

        return handle


def verb(
    method: str, path: str, *, public: bool = False, body_limit: int = BODY_LIMIT, answers: Any = None
) -> Callable[[Callable[..., Awaitable[Any]]], Verb]:
    """Make a verb of a function; `answers` is for one that builds its response by itself."""

    def make(call: Callable[..., Awaitable[Any]]) -> Verb:
        return Verb(method, path, call, public, body_limit, answers or get_type_hints(call)["return"])

    return make


def instant_ns(field: str, text: str | None) -> int | None:
    """Read a time that was asked with; a blank one was not."""
    if not text:
        return None
    try:
        return from_rfc3339(text)
    except InvalidRequest as error:
        raise InvalidRequest(error.message, **{field: text}) from None


def _from_query(request: web.Request, asks: type[Ask]) -> Ask:
    """A blank parameter is as good as none, save for `path`: a blank path is a wrong one."""
    given = {name: value for name, value in request.query.items() if value or name == "path"}
    try:
        return msgspec.convert(given, asks, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(error) from None


async def _from_body(request: web.Request, asks: type[Ask], limit: int) -> Ask:
    if request.content_type != "application/json":
        raise WrongContentType("The body must be JSON: `Content-Type: application/json`.")
    body = await _read(request, limit)
    try:
        return msgspec.json.decode(body, type=asks)
    except msgspec.ValidationError as error:
        raise _invalid(error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotReadable("The body is no JSON that can be read.", detail=str(error)) from None


async def _read(request: web.Request, limit: int) -> bytes:
    body = bytearray()
    async for piece in request.content.iter_any():
        body += piece
        if len(body) > limit:
            message = f"The body is larger than {limit} bytes; nothing was changed."
            raise TooLarge(message, limit_bytes=limit)
    return bytes(body)


def _invalid(error: msgspec.ValidationError) -> InvalidRequest:
    """Name the field beside what is wrong with it."""
    text = str(error)
    where = _FIELD.search(text)
    field = (where["at"] or where["name"]) if where else "body"
    said = _FIELD.sub("", text) if where and where["at"] else text
    return InvalidRequest(text.rstrip(".") + ".", **{field: said})
