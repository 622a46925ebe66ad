"""Settings: what can be set, and how file, environment and flags become one value.

The section classes are the one list: the command line, `config show`, the settings page of the
docs and the tests are generated from `SETTINGS`, which is read from their fields.
"""

import difflib
import hashlib
import os
import re
import tomllib
import zoneinfo
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

import platformdirs

from bridge.errors import InvalidSetting

FILE_NAME = "transom.toml"
MASK = "********"

T = TypeVar("T")
SettingType: TypeAlias = Literal["text", "number", "path", "list", "choice", "secret"]


def _setting(default: T, help: str, *, secret: bool = False, least: int = 0, most: int | None = None) -> T:
    rules = {"help": help, "secret": secret, "least": least, "most": most}
    made: T = field(default=default, repr=not secret, metadata=rules)
    return made


@dataclass(frozen=True, slots=True)
class VaultSettings:
    path: Path | None = _setting(None, "Folder of the vault. With LiveSync, the folder that mirrors it.")
    name: str = _setting("", "Name of the vault in obsidian:// links. Default: the folder's name.")
    include: tuple[str, ...] = _setting(("**",), "Globs of the notes to index.")
    exclude: tuple[str, ...] = _setting((), "Globs of notes to leave out of the index; wins over include.")
    daily_folder: str = _setting("", "Folder of the daily notes; empty for the vault's root.")
    daily_format: str = _setting("YYYY-MM-DD", "Name of a daily note, in Obsidian's date format.")
    template_folder: str | None = _setting(None, "Folder of the templates.")

    @property
    def root(self) -> Path:
        """The vault's folder; raises `InvalidSetting` when none is given."""
        if self.path is None:
            raise InvalidSetting(
                "No vault is given. Name its folder with --vault, TRANSOM_VAULT_PATH "
                f'or `path = "…"` under [vault] in {FILE_NAME}.'
            )
        return self.path


@dataclass(frozen=True, slots=True)
class ServerSettings:
    host: str = _setting("127.0.0.1", "Address to listen on; 0.0.0.0 for every network of the machine.")
    port: int = _setting(8484, "Port to listen on; 0 picks a free one.", most=65535)
    allowed_hosts: tuple[str, ...] = _setting((), "Further names by which browsers may call the bridge.")
    tls_cert: Path | None = _setting(None, "Certificate file (PEM); HTTPS is served when it is set.")
    tls_key: Path | None = _setting(None, "Private key file (PEM) of tls_cert.")
    timezone: str | None = _setting(
        None, "Time zone of dates in queries, as Europe/Berlin. Default: the system's."
    )


@dataclass(frozen=True, slots=True)
class DataSettings:
    path: Path | None = _setting(
        None, "Data folder, used as it is. Default: one a vault in the user's data folder."
    )
    keep_days: int = _setting(90, "Days that journal, change log and conflicts are kept.", least=1)
    keep_mb: int = _setting(512, "Megabytes that journal, change log and conflicts may fill.", least=1)


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    model: str = _setting(
        "multilingual-e5-small",
        'A name from `transom model list`, the path of a .gguf file, "none", or "openai:<model>".',
    )
    base_url: str | None = _setting(None, "Address of an OpenAI-compatible API, for openai:<model>.")
    query_prefix: str | None = _setting(
        None, "Text put before queries. Default: what the model was trained with."
    )
    document_prefix: str | None = _setting(None, "Text put before passages. Default: as for query_prefix.")
    threads: int | None = _setting(
        None, "Threads that embed in the background. Default: fits the machine.", least=1
    )
    api_key: str | None = _setting(None, "Key of that API.", secret=True)


@dataclass(frozen=True, slots=True)
class LiveSyncSettings:
    url: str | None = _setting(None, "Address of the CouchDB server of Self-hosted LiveSync.")
    database: str | None = _setting(None, "Name of the database on that server.")
    username: str | None = _setting(None, "User name on that server.")
    ca_file: Path | None = _setting(None, "Certificates (PEM) to trust beside the system's.")
    mode: Literal["off", "pull", "two-way"] = _setting(
        "off", "Which way notes go. Default: pull when url is set."
    )
    password: str | None = _setting(None, "Password on that server.", secret=True)
    passphrase: str | None = _setting(None, "Passphrase of end-to-end encryption.", secret=True)
    obfuscation_passphrase: str | None = _setting(
        None, "Passphrase of path obfuscation. Default: passphrase.", secret=True
    )


@dataclass(frozen=True, slots=True)
class TranscriptSettings:
    paths: tuple[str, ...] = _setting((), "Folders or files of an agent's conversations to index.")
    agent_name: str = _setting("Assistant", "Name of the agent in transcripts.")


@dataclass(frozen=True, slots=True)
class BriefSettings:
    projects: str | None = _setting(None, "Folder of the vault whose sub-folders are projects.")


@dataclass(frozen=True, slots=True)
class Settings:
    vault: VaultSettings = VaultSettings()
    server: ServerSettings = ServerSettings()
    data: DataSettings = DataSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    livesync: LiveSyncSettings = LiveSyncSettings()
    transcripts: TranscriptSettings = TranscriptSettings()
    brief: BriefSettings = BriefSettings()
    file: Path | None = None
    """The settings file that was read."""
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    """Where each value that is no default came from, by `section.key`."""


class Setting(NamedTuple):
    """One setting, as documentation and the command line see it."""

    section: str
    key: str
    type: SettingType
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def variable(self) -> str:
        return f"TRANSOM_{self.section}_{self.key}".upper()


SECTIONS: Mapping[str, type[Any]] = MappingProxyType(
    {
        "vault": VaultSettings,
        "server": ServerSettings,
        "data": DataSettings,
        "embedding": EmbeddingSettings,
        "livesync": LiveSyncSettings,
        "transcripts": TranscriptSettings,
        "brief": BriefSettings,
    }
)


def _describe() -> Iterator[Setting]:
    for section, cls in SECTIONS.items():
        hints = get_type_hints(cls)
        for one in fields(cls):
            hint = hints[one.name]
            parts = (set(get_args(hint)) - {type(None)}) if type(None) in get_args(hint) else {hint}
            core = parts.pop()
            choices = get_args(core) if get_origin(core) is Literal else ()
            kind: SettingType
            if one.metadata["secret"]:
                kind = "secret"
            elif choices:
                kind = "choice"
            elif get_origin(core) is tuple:
                kind = "list"
            else:
                kind = {Path: "path", int: "number"}.get(core, "text")  # type: ignore[assignment]
            least, most = one.metadata["least"], one.metadata["most"]
            yield Setting(section, one.name, kind, one.default, one.metadata["help"], choices, least, most)


SETTINGS: tuple[Setting, ...] = tuple(_describe())


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


def data_dir(settings: Settings) -> Path:
    """The data folder: as set, else the user's data folder and one sub-folder a vault."""
    if settings.data.path:
        return settings.data.path
    root = os.path.realpath(settings.vault.root)
    name = re.sub(r"[^\w.-]+", "-", os.path.basename(root)).strip("-.") or "vault"
    digest = hashlib.blake2b(os.fsencode(root), digest_size=4).hexdigest()
    return platformdirs.user_data_path("transom", appauthor=False) / f"{name}-{digest}"


def models_dir(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the embedding models, shared by all vaults; `TRANSOM_MODELS_DIR` moves it."""
    moved = (os.environ if environ is None else environ).get("TRANSOM_MODELS_DIR")
    return Path(moved) if moved else platformdirs.user_cache_path("transom", appauthor=False) / "models"


def user_file() -> Path:
    """The settings file in the user's configuration folder, whether it exists or not."""
    return platformdirs.user_config_path("transom", appauthor=False) / FILE_NAME


def value_of(settings: Settings, setting: Setting) -> Any:
    """The value that `settings` holds for `setting`, unmasked."""
    return getattr(getattr(settings, setting.section), setting.key)


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
