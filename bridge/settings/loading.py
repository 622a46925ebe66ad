"""How defaults, file, environment and flags become one value, checked."""

import difflib
import os
import tomllib
import zoneinfo
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bridge.errors import InvalidSetting
from bridge.settings.values import FILE_NAME, SECTIONS, SETTINGS, Setting, Settings, user_file


class _Given(NamedTuple):
    """A raw value, who gave it, and the folder that its relative paths start from."""

    value: Any
    origin: str
    base: Path


def load(
    config: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read the settings: defaults, then the file, then the environment, then `overrides`.

    `overrides` are flags by `section.key`; those that are None are left out. Raises
    `InvalidSetting` with a sentence that names the place and the key.
    """
    file = _find_file(config)
    given = _from_file(file) if file else {}
    given |= _from_environment(os.environ if environ is None else environ)
    flags = {name: value for name, value in (overrides or {}).items() if value is not None}
    given |= {name: _Given(value, "command line", Path.cwd()) for name, value in flags.items()}
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for setting in SETTINGS:
        if setting.name in given:
            values[setting.section][setting.key] = _convert(setting, given[setting.name])
    sections = {section: cls(**values[section]) for section, cls in SECTIONS.items()}
    origins = MappingProxyType({name: one.origin for name, one in given.items()})
    return _finish(Settings(**sections, file=file, origins=origins))


def _find_file(config: Path | None) -> Path | None:
    if config is not None:
        if not config.exists():
            raise InvalidSetting(f"The settings file {config} does not exist.", file=str(config))
        return config.absolute()
    return next((file for file in (Path.cwd() / FILE_NAME, user_file()) if file.is_file()), None)


def _from_file(file: Path) -> dict[str, _Given]:
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"{file} is not valid TOML: {error}.", file=str(file)) from error
    except OSError as error:
        raise InvalidSetting(f"{file} cannot be read: {error.strerror}.", file=str(file)) from error
    raw: dict[str, Any] = {}
    for section, table in content.items():
        if section not in SECTIONS or not isinstance(table, dict):
            raise _unknown(section, list(SECTIONS), f"a section in {file}")
        raw |= {f"{section}.{key}": value for key, value in table.items()}
    return _with_secret_files(raw, str(file), file.parent, f"a setting in {file}")


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Given]:
    given: dict[str, _Given] = {}
    for variable, value in environ.items():
        _, _, rest = variable.partition("TRANSOM_")
        section, _, key = rest.lower().partition("_")
        if value and variable.startswith("TRANSOM_") and section in SECTIONS and key:
            raw = {f"{section}.{key}": value}
            given |= _with_secret_files(raw, variable, Path.cwd(), "an environment variable", given)
    return given


def _with_secret_files(
    raw: Mapping[str, Any],
    origin: str,
    base: Path,
    what: str,
    before: Mapping[str, _Given] = MappingProxyType({}),
) -> dict[str, _Given]:
    """Check the names and replace each `secret_file` by the secret that it holds."""
    known = {setting.name: setting for setting in SETTINGS}
    given: dict[str, _Given] = {}
    for name, value in raw.items():
        secret = name.removesuffix("_file")
        is_file = name not in known and secret in known and known[secret].type == "secret"
        if not is_file and name not in known:
            raise _unknown(name, list(known), what)
        target = secret if is_file else name
        if target in given or target in before:
            raise InvalidSetting(
                f"{target} and {target}_file are both set ({origin}); keep one.", setting=target
            )
        given[target] = _Given(_read_secret(name, value, base) if is_file else value, origin, base)
    return given


def _read_secret(name: str, value: Any, base: Path) -> str:
    try:
        return (base / Path(str(value)).expanduser()).read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSetting(f"The file that {name} names cannot be read: {error}.", setting=name) from error


def _unknown(name: str, known: list[str], what: str) -> InvalidSetting:
    close = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f" Did you mean {close[0]}?" if close else ""
    return InvalidSetting(f"{name} is not the name of {what}.{hint}", setting=name)


def _convert(setting: Setting, given: _Given) -> Any:
    value = given.value
    match setting.type:
        case "number":
            try:
                number = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
            except ValueError:
                number = None
            if (
                number is None
                or number < setting.least
                or (setting.most is not None and number > setting.most)
            ):
                bounds = (
                    f"of {setting.least} or more"
                    if setting.most is None
                    else f"{setting.least} to {setting.most}"
                )
                raise _wrong(setting, given, f"a whole number {bounds}")
            return number
        case "list":
            parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
            if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
                raise _wrong(setting, given, "a list of texts")
            return tuple(part for part in parts if part)
        case "path" if isinstance(value, str | Path) and str(value):
            return given.base / Path(value).expanduser()
        case "choice" if value in setting.choices:
            return value
        case "choice":
            raise _wrong(setting, given, "one of " + ", ".join(setting.choices))
        case "text" | "secret" if isinstance(value, str):
            return value
        case _:
            raise _wrong(setting, given, "a text")


def _wrong(setting: Setting, given: _Given, wanted: str) -> InvalidSetting:
    shown = "" if setting.type == "secret" else f", not {given.value!r}"
    message = f"{setting.name} must be {wanted}{shown} ({given.origin})."
    return InvalidSetting(message, setting=setting.name)


def _finish(settings: Settings) -> Settings:
    """Check the values against one another and fill in the defaults that depend on others."""
    vault, server, livesync, embedding = (
        settings.vault,
        settings.server,
        settings.livesync,
        settings.embedding,
    )
    if (server.tls_cert is None) != (server.tls_key is None):
        raise InvalidSetting("server.tls_cert and server.tls_key must be set together.")
    if server.timezone is not None:
        try:
            zoneinfo.ZoneInfo(server.timezone)
        except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
            sentence = f"server.timezone must be a name like Europe/Berlin, not {server.timezone!r}."
            raise InvalidSetting(sentence, setting="server.timezone") from error
    for name, url in (("livesync.url", livesync.url), ("embedding.base_url", embedding.base_url)):
        if url is not None:
            _check_url(name, url)
    if embedding.model.startswith("openai:") and embedding.base_url is None:
        raise InvalidSetting(
            "embedding.model is openai:…, so embedding.base_url must say where it is served."
        )
    if livesync.url is None and livesync.mode != "off":
        raise InvalidSetting("livesync.mode is set, so livesync.url must name the CouchDB server.")
    if vault.path is not None and not vault.name:
        vault = replace(vault, name=vault.path.absolute().name)
    if livesync.url is not None and "livesync.mode" not in settings.origins:
        livesync = replace(livesync, mode="pull")
    if livesync.obfuscation_passphrase is None:
        livesync = replace(livesync, obfuscation_passphrase=livesync.passphrase)
    return replace(settings, vault=vault, livesync=livesync)


def _check_url(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        raise InvalidSetting(f"{name} must be an address that begins with http:// or https://.", setting=name)
    if parts.username or parts.password:
        raise InvalidSetting(
            f"{name} holds a user name or password; give them in their own settings.", setting=name
        )
