"""OpenAPI 3.1, generated from the verbs and their types."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import msgspec

from bridge import __version__
from bridge.api.envelope import STATUSES, ErrorBody
from bridge.api.rest import VERBS
from bridge.api.verbs import Verb

_REF = "#/components/schemas/{name}"


def openapi() -> dict[str, Any]:
    """Describe every verb."""
    types = [
        ErrorBody,
        *(type_ for verb in VERBS for type_ in (verb.asks, *_variants(verb.answers)) if type_),
    ]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    named = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for verb in VERBS:
        paths.setdefault(verb.path, {})[verb.method.lower()] = _operation(verb, named, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Transom",
            "version": __version__,
            "description": "Search, related notes and links of a vault. Times are RFC 3339 in UTC; `lines` are "
            "1-based and inclusive; `highlights` are `[start, end)` in code points of `passage`; a `revision` "
            "is the SHA-256 of a file's bytes in hex.",
        },
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "Error": _content("The one error shape; the status says the kind.", named[ErrorBody])
            },
            "schemas": components,
        },
    }


def _operation(verb: Verb, named: Mapping[Any, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    variants = [named[type_] for type_ in _variants(verb.answers)]
    success = _content("Done.", variants[0] if len(variants) == 1 else {"anyOf": variants})
    operation: dict[str, Any] = {
        "operationId": verb.call.__name__.rstrip("_"),
        "summary": (verb.call.__doc__ or "").split("\n\n")[0].strip(),
        "responses": {"200": success, "default": {"$ref": "#/components/responses/Error"}},
    }
    parameters = [
        _parameter("path", name, {"type": "string"}, required=True)
        for name in re.findall(r"{(\w+)}", verb.path)
    ]
    if verb.asks and verb.method == "GET":
        schema = components[verb.asks.__name__]
        required: Sequence[str] = schema.get("required", ())
        parameters += [
            _parameter("query", name, field, required=name in required)
            for name, field in schema["properties"].items()
        ]
    elif verb.asks:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": named[verb.asks]}},
        }
    if parameters:
        operation["parameters"] = parameters
    if verb.public:
        operation["security"] = []
    return operation


def _variants(answers: Any) -> tuple[Any, ...]:
    """Take a union of answers apart: msgspec describes its members alone."""
    return get_args(answers) or (answers,)


def _parameter(where: str, name: str, schema: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    return {"name": name, "in": where, "required": required, "schema": schema}


def _content(description: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def error_statuses() -> dict[str, int]:
    """Map each kind of error to its HTTP status, for the reference."""
    return {error.key: int(status) for error, status in STATUSES}
