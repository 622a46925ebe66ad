"""The verbs that commands use, from a running bridge or from one opened for the command."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias

from bridge.cli.call import Call
from bridge.data import FIRST_KEY, running_bridge
from bridge.errors import Unavailable
from bridge.model import Filter, Mode

Answer: TypeAlias = Any
Report: TypeAlias = Callable[[Answer], None]


class Verbs(Protocol):
    """What a bridge can do for a command; answers are the JSON of the REST API."""

    @property
    def url(self) -> str | None:
        """Where the bridge runs; None for one that was opened for the command."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def search(self, query: str, *, limit: int, mode: Mode, filter: Filter) -> Answer: ...

    def related(self, path: str, *, limit: int) -> Answer: ...

    def status(self, path: str | None = None) -> Answer: ...

    def index(self, report: Report) -> None:
        """Bring the index up to date, telling `report` the status now and then."""

    def rebuild(self, *, embeddings: bool, report: Report) -> None:
        """Build the index again, telling `report` the status now and then."""

    def keys(self) -> Answer: ...

    def create_key(self, key: Mapping[str, Any]) -> Answer: ...

    def revoke_key(self, name: str) -> Answer: ...


def verbs(call: Call) -> Verbs:
    """Take the bridge that runs on the data folder, else one of our own; use it in a `with`."""
    from bridge.cli.remote import Remote

    running = running_bridge(call.data)
    if running is not None:
        remote = Remote(str(running["url"]), token(call), call.settings.server.tls_cert)
        if remote.healthy():
            return remote
    from bridge.cli.local import Local

    call.require_vault()
    return Local(call.settings)


def token(call: Call) -> str:
    """The owner's key, from the file `token`; empty when there is none yet."""
    try:
        return (call.data / FIRST_KEY).read_text("ascii").strip()
    except FileNotFoundError:
        return ""


def raise_trouble(status: Answer) -> None:
    """Raise what keeps a bridge of this status from catching up."""
    embedding, files = status["embedding"], status["sources"]["files"]
    if files["state"] == "held":
        raise Unavailable(files["reason"])
    if embedding["state"] in ("failed", "endpoint_down"):
        raise Unavailable(f"Search by words is up to date, embedding waits. {embedding['reason']}")
