"""The door: who may call at all, and what every refusal looks like."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer
from structlog.testing import capture_logs

from bridge import errors
from bridge.api.envelope import STATUSES, Unauthorized, answer, envelope
from bridge.api.guard import SCOPE, guard, own_names, sign
from bridge.stores.database import Database
from bridge.stores.keys import Keys
from bridge.stores.schema import STATE
from tests.api.conftest import Caller


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[Database]:
    database = await Database.open(tmp_path / "state.sqlite", STATE, readers=1)
    yield database
    await database.close()


@pytest.fixture
async def ask(state: Database, tmp_path: Path) -> AsyncIterator[Caller]:
    """A guarded server whose `/whoami` names the key and whose `/raise/<n>` raises each kind of error."""
    keys = await Keys.open(state, tmp_path)

    async def whoami(request: web.Request) -> web.Response:
        return answer({"key": request[SCOPE].key})

    async def health(_request: web.Request) -> web.Response:
        return answer({"status": "ok"})

    async def fail(request: web.Request) -> web.Response:
        kind = STATUSES[int(request.match_info["n"])][0]
        raise kind("It did not work; all is safe.", path="a.md")

    async def break_(_request: web.Request) -> web.Response:
        raise RuntimeError("the owner's secret text")

    app = web.Application(middlewares=[envelope, guard(keys, ["notes.example"], {"/health"})])
    app.on_response_prepare.append(sign)
    app.router.add_get("/whoami", whoami)
    app.router.add_get("/health", health)
    app.router.add_get("/raise/{n}", fail)
    app.router.add_get("/break", break_)
    server = TestServer(app)
    await server.start_server()
    async with ClientSession() as session:
        yield Caller(session, str(server.make_url("")).rstrip("/"), await keys.first_key())
    await server.close()


async def test_every_error_has_its_status_and_the_one_shape(ask: Caller) -> None:
    """Whatever goes wrong, a client reads it the same way."""
    for number, (kind, status) in enumerate(STATUSES):
        response = await ask("GET", f"/raise/{number}")

        assert status == response.status
        assert kind.key == response.error
        assert {"path": "a.md"} == response.json["error"]["fields"]
        assert (status == 503) == ("Retry-After" in response.headers)


def test_no_error_is_forgotten() -> None:
    """Each kind of error that is defined has a status."""
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.TransomError)
    ]
    mapped = tuple(kind for kind, _ in STATUSES)

    assert [errors.TransomError] == [kind for kind in kinds if not issubclass(kind, mapped)]
    assert Unauthorized in mapped


async def test_a_surprise_keeps_its_text_in_the_log(ask: Caller) -> None:
    """An unexpected error answers with an id; what it says may quote a note, so it stays in the log."""
    with capture_logs() as lines:
        response = await ask("GET", "/break?q=words+of+the+owner")

    assert 500 == response.status
    assert "internal" == response.error
    assert b"secret" not in response.body
    internal, request = lines
    assert response.json["error"]["fields"]["id"] == internal["id"]
    assert "secret text" in str(internal["exc_info"])
    assert ("api.request", "/break", 500) == (request["event"], request["route"], request["status"])
    assert "words" not in str(lines)


async def test_unknown_addresses_and_methods(ask: Caller) -> None:
    """Routing errors have the shape too, and are told to no stranger."""
    assert "route_not_found" == (await ask("GET", "/nothing")).error
    response = await ask("POST", "/whoami")
    assert (405, "method_not_allowed") == (response.status, response.error)
    assert "GET" in response.headers["Allow"]
    assert 401 == (await ask.using(None)("GET", "/nothing")).status
    assert 401 == (await ask.using(None)("OPTIONS", "/whoami")).status


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {}", "{}", "Bearer  x {}", "Bearer \u00fc"],
)
async def test_without_the_key_nothing_is_told(ask: Caller, header: str | None) -> None:
    """No key, half a key, another scheme: the same 401."""
    headers = {} if header is None else {"Authorization": header.format(ask.token)}
    response = await ask.using(None)("GET", "/whoami", headers=headers)

    assert 401 == response.status
    assert "unauthorized" == response.error
    assert "Bearer" == response.headers["WWW-Authenticate"]
    assert 200 == (await ask.using(None)("GET", "/health")).status


async def test_the_scheme_is_read_in_any_case(ask: Caller) -> None:
    """`bearer` is `Bearer` (RFC 9110)."""
    response = await ask.using(None)("GET", "/whoami", headers={"Authorization": f"bearer {ask.token}"})

    assert {"key": "owner"} == response.json


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8484", 200),
        ("192.168.1.20", 200),
        ("[::1]:8484", 200),
        ("[fe80::1]", 200),
        ("localhost", 200),
        ("LOCALHOST:8484", 200),
        ("localhost.", 200),
        ("notes.example:443", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("notes.example.evil", 403),
        ("[evil]", 403),
        ("", 403),
    ],
)
async def test_a_foreign_host_is_turned_away(ask: Caller, host: str, status: int) -> None:
    """A rebound DNS name gets nothing, not even health."""
    for path in ("/whoami", "/health"):
        response = await ask("GET", path, headers={"Host": host})

        assert status == response.status
        if status == 403:
            assert "foreign_host" == response.error


def test_the_machine_goes_by_its_own_names() -> None:
    """The host name, its first label and its `.local` name are the machine's."""
    assert {"localhost", "pi.lan", "pi", "pi.local", "notes.example"} == own_names(
        "Pi.lan", ["Notes.example"]
    )


OBSIDIAN = ["app://obsidian.md", "capacitor://localhost", "http://localhost"]


@pytest.mark.parametrize("origin", [*OBSIDIAN, "own"])
async def test_obsidian_and_the_page_may_call_from_a_browser(ask: Caller, origin: str) -> None:
    """Preflight and answer name the origin that asked, errors included, and no wildcard."""
    origin = ask.url if origin == "own" else origin
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Private-Network": "true",
    }
    preflight = await ask.using(None)("OPTIONS", "/whoami", headers=asked)
    plain = await ask("GET", "/whoami", headers={"Origin": origin})
    refused = await ask.using(None)("GET", "/whoami", headers={"Origin": origin})

    assert 204 == preflight.status
    assert "Authorization" in preflight.headers["Access-Control-Allow-Headers"]
    assert "true" == preflight.headers["Access-Control-Allow-Private-Network"]
    assert (200, 401) == (plain.status, refused.status)
    for response in (preflight, plain, refused):
        assert origin == response.headers["Access-Control-Allow-Origin"]
        assert "Origin" in response.headers["Vary"]


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://localhost:3000",
        "https://localhost",
        "app://obsidian.md.evil",
        "file://",
    ],
)
async def test_other_origins_get_no_answer(ask: Caller, origin: str) -> None:
    """Neither preflight nor request of another page is answered, whatever key it has."""
    asked = {"Origin": origin, "Access-Control-Request-Method": "GET"}
    for response in (
        await ask.using(None)("OPTIONS", "/whoami", headers=asked),
        await ask("GET", "/whoami", headers={"Origin": origin}),
        await ask("GET", "/health", headers={"Origin": origin}),
    ):
        assert (403, "foreign_origin") == (response.status, response.error)
        assert "Access-Control-Allow-Origin" not in response.headers
