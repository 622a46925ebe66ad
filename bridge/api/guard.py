"""The locked door: which Host and Origin may call, and with which key.

A local server can be reached by every web page that its owner opens. A foreign `Host` betrays a
rebound DNS name, a foreign `Origin` another page; both are turned away before the key is looked at.
"""

import ipaddress
import socket
from collections.abc import Collection, Iterable
from http import HTTPStatus

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from bridge.api.envelope import Unauthorized
from bridge.errors import Refused
from bridge.model import Scope
from bridge.stores.keys import Keys

OBSIDIAN_ORIGINS = frozenset({"app://obsidian.md", "capacitor://localhost", "http://localhost"})
"""What Obsidian sends on the desktop, on iOS and on Android."""
SCOPE = web.RequestKey("scope", Scope)

_ALLOWED_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
_ALLOWED_HEADERS = "Accept, Authorization, Content-Type, If-Match, If-None-Match"
_EXPOSED_HEADERS = "ETag, Retry-After"


def own_names(machine: str, allowed_hosts: Iterable[str]) -> frozenset[str]:
    """Collect the names by which this bridge may be called, beside IP addresses."""
    label = machine.partition(".")[0]
    names = {"localhost", machine, label, f"{label}.local", *allowed_hosts}
    return frozenset(name.casefold().rstrip(".") for name in names if name)


def host_name(host: str) -> str:
    """Take the port off a `Host` header, and the brackets off an IPv6 address."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].casefold().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_welcome(origin: str, request: web.Request) -> bool:
    """Obsidian's origins and our own, with both schemes: it may be a proxy that speaks TLS."""
    host = request.headers.get(hdrs.HOST, "")
    return origin in OBSIDIAN_ORIGINS or origin in {f"http://{host}", f"https://{host}"}


def guard(keys: Keys, allowed_hosts: Iterable[str], public: Collection[str]) -> Middleware:
    """Build the middleware; `public` are the routes that need no key."""
    names = own_names(socket.gethostname(), allowed_hosts)

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        host = request.headers.get(hdrs.HOST, "")
        name = host_name(host)
        if name not in names and not _is_address(name):
            raise Refused(
                "This bridge does not go by that name. Call it by its address, or add the name to "
                "`allowed_hosts` in the section [server] of the settings.",
                key="foreign_host",
                host=host,
            )
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is not None and not _is_welcome(origin, request):
            raise Refused(
                "Pages of other origins may not call this bridge; only Obsidian's and its own.",
                key="foreign_origin",
                origin=origin,
            )
        if (
            origin
            and request.method == hdrs.METH_OPTIONS
            and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers
        ):
            return _preflight(request)
        resource = request.match_info.route.resource
        if resource is None or resource.canonical not in public:
            request[SCOPE] = _scope(request, keys)
        return await handler(request)

    return check


def _scope(request: web.Request, keys: Keys) -> Scope:
    scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    scope = keys.find(token.strip()) if scheme.lower() == "bearer" else None
    if scope is None:
        raise Unauthorized(
            "This needs a key: `Authorization: Bearer <key>`. `transom token show` prints the first one."
        )
    return scope


def _preflight(request: web.Request) -> web.Response:
    headers = {
        "Access-Control-Allow-Methods": _ALLOWED_METHODS,
        "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
        "Access-Control-Max-Age": "600",
    }
    if "Access-Control-Request-Private-Network" in request.headers:
        headers["Access-Control-Allow-Private-Network"] = "true"
    return web.Response(status=HTTPStatus.NO_CONTENT, headers=headers)


async def sign(request: web.Request, response: web.StreamResponse) -> None:
    """Add to every answer, errors too, what browsers must know; an `on_response_prepare` signal."""
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers.add("Vary", "Origin")
    origin = request.headers.get(hdrs.ORIGIN)
    if origin and _is_welcome(origin, request):
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Expose-Headers"] = _EXPOSED_HEADERS
