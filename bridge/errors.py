"""The errors people meet.

TransomError                 one key, one sentence, fields
├── UsageError               settings or arguments are wrong (exit code 2, HTTP 400/422)
│   ├── InvalidPath
│   ├── InvalidSetting
│   └── InvalidRequest
├── NotFound                 absent, or denied to this key
├── Refused                  a rule forbids it (HTTP 403)
├── Clash                    409: conflict, held, name clash, pull-only vault
├── RevisionMismatch         412
├── RevisionNeeded           428
├── TooLarge                 413
├── NotPossible              501
├── Unavailable              503: not ready yet, or something it needs is away
└── InstallationError        what doctor names: data folder, model, SQLite, port

Each sentence says what happened, what is safe, and what to do.
"""

from typing import Any, ClassVar


class TransomError(Exception):
    """An error with a stable `key`, a sentence for people and its `fields`."""

    key: ClassVar[str] = "internal"

    def __init__(self, message: str, *, key: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.fields = fields
        self.error_key = key or self.key


class UsageError(TransomError):
    key = "usage"


class InvalidPath(UsageError):
    key = "invalid_path"


class InvalidSetting(UsageError):
    key = "invalid_setting"


class InvalidRequest(UsageError):
    key = "invalid_request"


class NotFound(TransomError):
    key = "note_not_found"


class Refused(TransomError):
    key = "forbidden"


class Clash(TransomError):
    key = "conflict"


class RevisionMismatch(TransomError):
    key = "revision_mismatch"


class RevisionNeeded(TransomError):
    key = "revision_needed"


class TooLarge(TransomError):
    key = "too_large"


class NotPossible(TransomError):
    key = "not_possible"


class Unavailable(TransomError):
    key = "unavailable"

    def __init__(
        self, message: str, *, retry_after_s: int = 5, key: str | None = None, **fields: Any
    ) -> None:
        super().__init__(message, key=key, **fields)
        self.retry_after_s = retry_after_s


class InstallationError(TransomError):
    key = "installation"
