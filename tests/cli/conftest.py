"""Commands as people call them: a process, its output and its exit code."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


Transom: TypeAlias = Callable[..., Done]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A machine on which nothing is set, without an embedding model."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return kept | {"HOME": str(home), "TRANSOM_EMBEDDING_MODEL": "none", "PYTHONUTF8": "1"}


@pytest.fixture
def transom(environment: Mapping[str, str], tmp_path: Path) -> Transom:
    """Call `transom` in an empty folder."""
    here = tmp_path / "here"
    here.mkdir()

    def call(*arguments: str | Path, **variables: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-m", "bridge", *map(str, arguments)],
            check=False,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=here,
            env={**environment, "PYTHONPATH": str(Path(__file__).parents[2]), **variables},
            timeout=60,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call
