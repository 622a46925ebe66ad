"""Talking to a bridge over a real socket."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from aiohttp import ClientSession
from yarl import URL


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The key of the error, whose shape is checked on the way."""
        assert {"error"} == self.json.keys()
        assert {"key", "message", "fields"} == self.json["error"].keys()
        assert isinstance(self.json["error"]["fields"], dict)
        assert self.json["error"]["message"].endswith((".", "`"))
        return str(self.json["error"]["key"])


Ask: TypeAlias = Callable[..., Awaitable[Answer]]


@dataclass(frozen=True)
class Caller:
    """A client of one server, with one key."""

    session: ClientSession
    url: str
    token: str | None = None

    async def __call__(
        self,
        method: str,
        path: str,
        *,
        data: bytes | None = None,
        headers: dict[str, str] | None = None,
        **body: Any,
    ) -> Answer:
        """Send a request; `body` becomes JSON, and `path` goes out as it is written."""
        sent = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        if data is None and body:
            data = json.dumps(body).encode()
        if data is not None:
            sent["Content-Type"] = "application/json"
        sent |= headers or {}
        async with self.session.request(
            method, URL(self.url + path, encoded=True), data=data, headers=sent, allow_redirects=False
        ) as response:
            return Answer(response.status, dict(response.headers), await response.read())

    def using(self, token: str | None) -> "Caller":
        """The same client with another key."""
        return Caller(self.session, self.url, token)
