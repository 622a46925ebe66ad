"""What every answer looks like: JSON, one error shape, and the HTTP status of each error."""

import asyncio
import secrets
import time
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from bridge import errors

log = structlog.get_logger(__name__)


class NotReadable(errors.InvalidRequest):
    """The body is no JSON at all."""

    key = "invalid_json"


class WrongContentType(errors.InvalidRequest):
    key = "unsupported_media_type"


class Unauthorized(errors.TransomError):
    key = "unauthorized"


class ErrorDetail(msgspec.Struct, frozen=True):
    """A stable key for programs, a sentence for people, and what it is about."""

    key: str
    message: str
    fields: dict[str, Any] = {}


class ErrorBody(msgspec.Struct, frozen=True):
    error: ErrorDetail


STATUSES: tuple[tuple[type[errors.TransomError], HTTPStatus], ...] = (
    (NotReadable, HTTPStatus.BAD_REQUEST),
    (WrongContentType, HTTPStatus.UNSUPPORTED_MEDIA_TYPE),
    (Unauthorized, HTTPStatus.UNAUTHORIZED),
    (errors.InvalidPath, HTTPStatus.BAD_REQUEST),
    (errors.UsageError, HTTPStatus.UNPROCESSABLE_ENTITY),
    (errors.NotFound, HTTPStatus.NOT_FOUND),
    (errors.Refused, HTTPStatus.FORBIDDEN),
    (errors.Clash, HTTPStatus.CONFLICT),
    (errors.RevisionMismatch, HTTPStatus.PRECONDITION_FAILED),
    (errors.RevisionNeeded, HTTPStatus.PRECONDITION_REQUIRED),
    (errors.TooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (errors.NotPossible, HTTPStatus.NOT_IMPLEMENTED),
    (errors.Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (errors.InstallationError, HTTPStatus.SERVICE_UNAVAILABLE),
)
"""The first match counts; anything else is a fault of ours."""

_ROUTING = {
    HTTPStatus.NOT_FOUND: (
        "route_not_found",
        "There is nothing at this address; /openapi.json lists what there is.",
    ),
    HTTPStatus.METHOD_NOT_ALLOWED: ("method_not_allowed", "This address does not take that method."),
}


def answer(value: Any, status: int = HTTPStatus.OK, headers: dict[str, str] | None = None) -> web.Response:
    """Encode a value of ours as JSON."""
    return web.Response(
        body=msgspec.json.encode(value), status=status, headers=headers, content_type="application/json"
    )


@web.middleware
async def envelope(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give every error the one shape, and every request one line in the log."""
    began = time.perf_counter()
    try:
        response = await handler(request)
    except errors.TransomError as error:
        response = failure(error)
    except web.HTTPException as error:
        response = _of_aiohttp(error)
    except (web.RequestPayloadError, ConnectionError) as error:
        response = failure(NotReadable("The body could not be read to its end.", detail=type(error).__name__))
    except Exception as error:
        response = await _unexpected(request, error)
    took_ms = round((time.perf_counter() - began) * 1000, 1)
    log.info(
        "api.request", method=request.method, route=_route(request), status=response.status, took_ms=took_ms
    )
    return response


def failure(error: errors.TransomError) -> web.Response:
    """Answer with an error of ours."""
    status = next(
        (code for type_, code in STATUSES if isinstance(error, type_)), HTTPStatus.INTERNAL_SERVER_ERROR
    )
    headers = {}
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    elif status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(getattr(error, "retry_after_s", 30))
    return answer(ErrorBody(ErrorDetail(error.error_key, error.message, error.fields)), status, headers)


def _of_aiohttp(error: web.HTTPException) -> web.Response:
    key, message = _ROUTING.get(HTTPStatus(error.status), ("invalid_request", error.reason))
    kept = {name: error.headers[name] for name in ("Allow",) if name in error.headers}
    return answer(ErrorBody(ErrorDetail(key, message)), error.status, kept)


async def _unexpected(request: web.Request, error: Exception) -> web.Response:
    """Log the error in a thread, since a traceback reads source files."""
    id_, facts = secrets.token_hex(4), {"method": request.method, "route": _route(request)}
    await asyncio.to_thread(log.error, "api.internal", id=id_, **facts, exc_info=error)
    message = "Something went wrong that should not; the log tells more under this id. The notes are safe."
    detail = ErrorDetail("internal", message, {"id": id_})
    return answer(ErrorBody(detail), HTTPStatus.INTERNAL_SERVER_ERROR)


def _route(request: web.Request) -> str:
    """Name the route as it is written in the table: paths and queries of people stay out of the log."""
    resource = request.match_info.route.resource
    return resource.canonical if resource else "-"
