"""Settings: what can be set, and how file, environment and flags become one value."""

from bridge.settings.loading import load
from bridge.settings.values import (
    FILE_NAME,
    MASK,
    SECTIONS,
    SETTINGS,
    BriefSettings,
    DataSettings,
    EmbeddingSettings,
    LiveSyncSettings,
    ServerSettings,
    Setting,
    Settings,
    TranscriptSettings,
    VaultSettings,
    data_dir,
    models_dir,
    user_file,
    value_of,
)

__all__ = [
    "FILE_NAME",
    "MASK",
    "SECTIONS",
    "SETTINGS",
    "BriefSettings",
    "DataSettings",
    "EmbeddingSettings",
    "LiveSyncSettings",
    "ServerSettings",
    "Setting",
    "Settings",
    "TranscriptSettings",
    "VaultSettings",
    "data_dir",
    "load",
    "models_dir",
    "user_file",
    "value_of",
]
