"""The verbs of a bridge that runs already, over its REST API.

Plain `http.client`: it starts in a tenth of the time that an asynchronous client needs, and a
command asks one thing after another.
"""

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from bridge.cli.verbs import Answer, Report, raise_trouble
from bridge.errors import InvalidRequest, NotFound, TransomError, Unavailable
from bridge.model import Filter, Mode
from bridge.times import rfc3339

TIMEOUT_S = 60.0
REPORT_S = 0.5

_ERRORS: Mapping[int, type[TransomError]] = {400: InvalidRequest, 404: NotFound, 422: InvalidRequest}


class Remote:
    """A connection to a running bridge, with the owner's key."""

    def __init__(self, url: str, token: str, certificate: Path | None = None) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        self.url = url
        self._token = token
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = _trust(certificate)
            self._connection = http.client.HTTPSConnection(
                host, parts.port, timeout=TIMEOUT_S, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(host, parts.port, timeout=TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def healthy(self) -> bool:
        """Whether the bridge answers."""
        try:
            self._ask("GET", "/v1/health")
        except TransomError:
            return False
        return True

    def search(self, query: str, *, limit: int, mode: Mode, filter: Filter) -> Answer:
        body = {"query": query, "limit": limit, "mode": mode, "filter": _wire(filter)}
        return self._ask("POST", "/v1/search", body)

    def related(self, path: str, *, limit: int) -> Answer:
        return self._ask("POST", "/v1/related", {"path": path, "limit": limit})

    def status(self, path: str | None = None) -> Answer:
        return self._ask("GET", "/v1/status" if path is None else f"/v1/status?{urlencode({'path': path})}")

    def index(self, report: Report) -> None:
        """Wait until the bridge, which follows the vault by itself, has caught up."""
        while True:
            status = self.status()
            report(status)
            if status["settled"]:
                return
            raise_trouble(status)
            time.sleep(REPORT_S)

    def rebuild(self, *, embeddings: bool, report: Report) -> None:
        self._ask("POST", "/v1/rebuild", {"embeddings": embeddings})
        self.index(report)

    def keys(self) -> Answer:
        return self._ask("GET", "/v1/keys")

    def create_key(self, key: Mapping[str, Any]) -> Answer:
        return self._ask("POST", "/v1/keys", key)

    def revoke_key(self, name: str) -> Answer:
        return self._ask("DELETE", f"/v1/keys/{quote(name, safe='')}")

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Unavailable(
                f"The bridge at {self.url} did not answer ({error}); nothing was changed. "
                "Look at its log, or stop it and call the command again."
            ) from error
        return _unpack(response.status, content, self.url)


def _wire(filter: Filter) -> dict[str, Any]:
    """A filter as the API takes it."""
    moments = {"modified_after": filter.modified_after_ns, "modified_before": filter.modified_before_ns}
    given = {name: rfc3339(moment) for name, moment in moments.items() if moment is not None}
    return {"path": filter.path, "tags": filter.tags, "kind": filter.kinds or None, **given}


def _unpack(status: int, content: bytes, url: str) -> Any:
    try:
        answer = json.loads(content)
    except ValueError:
        answer = None
    if status < 400 and answer is not None:
        return answer
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        raise Unavailable(f"{url} answered {status} with something that no bridge says.")
    raise _ERRORS.get(status, TransomError)(error["message"], key=error["key"], **error["fields"])


def _trust(certificate: Path | None) -> ssl.SSLContext:
    """Trust the bridge's own certificate, whatever name it was made for: the address is ours."""
    context = ssl.create_default_context(cafile=str(certificate) if certificate else None)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context
