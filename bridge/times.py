"""Times on the wire: RFC 3339 in UTC; inside: nanoseconds since 1970."""

from datetime import UTC, datetime, timedelta

from bridge.errors import InvalidRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(time_ns: int) -> str:
    """Write a time with milliseconds; one before year 1 or after 9999 becomes the nearest that can be written."""
    try:
        moment = _EPOCH + timedelta(microseconds=time_ns // 1000)
    except OverflowError:
        moment = datetime.max.replace(tzinfo=UTC) if time_ns > 0 else datetime.min.replace(tzinfo=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_rfc3339(text: str) -> int:
    """Read a time; a date alone is its first moment, a time without zone is UTC.

    One beyond what 64 bits hold (1677 to 2262) becomes the nearest that they do.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(f"{text!r} is no RFC 3339 time.", value=text) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    time_ns = (moment - _EPOCH) // timedelta(microseconds=1) * 1000
    return max(-(2**63), min(time_ns, 2**63 - 1))
