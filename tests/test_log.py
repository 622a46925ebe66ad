"""Log lines: one an event, and no secret in any of them."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import suppress

import pytest
import structlog

from bridge import log


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Leave logging as the other tests expect it."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


def test_an_event_is_one_readable_line() -> None:
    """Time, level, event and facts stand on one line, also when a fact holds a line break."""
    out = io.StringIO()
    log.configure(stream=out)
    structlog.get_logger("bridge.test").info("files.scanned", path="a\nb.md", notes=7)
    structlog.get_logger("bridge.test").debug("not shown")

    (line,) = out.getvalue().splitlines()
    assert "[info     ] files.scanned" in line
    assert "notes=7" in line


def test_json_lines_parse_and_foreign_warnings_share_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """With TRANSOM_LOG=json every line is an object, whoever wrote it, traces included."""
    monkeypatch.setenv("TRANSOM_LOG", "json")
    out = io.StringIO()
    log.configure(stream=out)
    try:
        raise ValueError("no\nway")
    except ValueError:
        structlog.get_logger("bridge.test").exception("api.failed", id="x")
    logging.getLogger("aiohttp").warning("late %s", "answer")
    ours, theirs = (json.loads(line) for line in out.getvalue().splitlines())

    assert ("api.failed", "x", "error") == (ours["event"], ours["id"], ours["level"])
    assert "ValueError" in ours["exception"]
    assert ("late answer", "warning") == (theirs["event"], theirs["level"])


@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_secret_field_is_masked(monkeypatch: pytest.MonkeyPatch, format_: str) -> None:
    """Even a field that should not be logged does not show its secret."""
    monkeypatch.setenv("TRANSOM_LOG", format_)
    out = io.StringIO()
    log.configure(stream=out)
    structlog.get_logger("bridge.test").info("x.y", password="hunter2", token="hunter2", path="a.md")

    assert "hunter2" not in out.getvalue()
    assert "a.md" in out.getvalue()


def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    """On a full disk, or into a pipe that nobody reads any more, lines are lost and the work goes on."""
    with open("/dev/full", "w", buffering=1) as full:
        log.configure(stream=full)
        structlog.get_logger("test").warning("test.event", n=1)
        log.configure()
        with suppress(OSError):
            full.close()
