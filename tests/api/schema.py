"""The part of JSON Schema that the description of the API uses."""

from typing import Any


def matches(value: Any, schema: dict[str, Any], described: dict[str, Any]) -> bool:
    """Check a value against the part of JSON Schema that the description uses."""
    if ref := schema.get("$ref"):
        return matches(value, described["components"]["schemas"][ref.rpartition("/")[2]], described)
    if "anyOf" in schema:
        return any(matches(value, option, described) for option in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            rest = schema.get("additionalProperties", not fields)
            return (
                isinstance(value, dict)
                and set(schema.get("required", ())) <= value.keys()
                and (rest is not False or value.keys() <= fields.keys())
                and (bool(rest) or value.keys() <= fields.keys())
                and all(
                    matches(value[name], fields[name], described) for name in value.keys() & fields.keys()
                )
                and (
                    not isinstance(rest, dict)
                    or all(matches(value[name], rest, described) for name in value.keys() - fields.keys())
                )
            )
        case "array":
            if not isinstance(value, list):
                return False
            if prefix := schema.get("prefixItems"):
                pairs = zip(value, prefix, strict=False)
                return len(value) == len(prefix) and all(matches(one, kind, described) for one, kind in pairs)
            return all(matches(one, schema.get("items", {}), described) for one in value)
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
    return True
