"""Log lines on standard error: one readable line an event, or JSON with `TRANSOM_LOG=json`.

Events are constants with facts beside them (`log.info("files.scanned", notes=7)`); note text and
secrets are never among them.
"""

import logging
import os
import sys
from contextlib import suppress
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

SECRET_FIELDS = frozenset({"api_key", "authorization", "passphrase", "password", "secret", "token"})


class _Unfailing:
    """A stream whose lines are lost when it cannot take them: a full disk or a closed pipe stops nothing."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()


def configure(*, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send our events and the warnings of other libraries to `stream` (standard error)."""
    out = _Unfailing(stream or sys.stderr)
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _mask,
    ]
    ending: list[Processor]
    if os.environ.get("TRANSOM_LOG") == "json":
        ending = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
    else:
        colors = out.isatty() and "NO_COLOR" not in os.environ
        plain = structlog.dev.plain_traceback
        ending = [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=plain, sort_keys=False)]
    structlog.configure(
        processors=[*shared, *ending],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, out)),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    drop = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    formatter = structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[drop, *ending])
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def _mask(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Blank a field that could hold a secret, should one ever be given."""
    for name in SECRET_FIELDS & event.keys():
        event[name] = "********"
    return event
