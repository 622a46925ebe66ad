"""What can be set.

The section classes are the one list: the command line, `config show`, the settings page of the
docs and the tests are generated from `SETTINGS`, which is read from their fields.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

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
