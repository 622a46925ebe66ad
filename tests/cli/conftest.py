"""Commands as people call them: a process, its output and its exit code."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
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


@dataclass(frozen=True, slots=True)
class Serving:
    """A bridge in a process of its own and the first lines that it printed."""

    process: subprocess.Popen[str]
    lines: list[str]
    vault: Path
    data: Path
    log: Path

    @property
    def url(self) -> str:
        return self.lines[0].removeprefix("Transom is listening on ")

    @property
    def flags(self) -> tuple[str, str, str, str]:
        return ("--vault", str(self.vault), "--data", str(self.data))


Serve: TypeAlias = Callable[..., Serving]


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


@pytest.fixture
def serve(environment: Mapping[str, str], vault: Path, tmp_path: Path) -> Iterator[Serve]:
    """Start bridges of the sample vault on free ports; those still running are stopped."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str | Path, **variables: str) -> Serving:
        data = tmp_path / "data"
        flags = ["--vault", vault, "--data", data, "--port", "0", *arguments]
        with (tmp_path / "serve.log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "bridge", "serve", *map(str, flags)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**environment, "PYTHONPATH": str(Path(__file__).parents[2]), **variables},
            )
        started.append(process)
        assert process.stdout is not None
        lines = [process.stdout.readline().rstrip() for _ in range(4)]
        return Serving(process, lines, vault, data, tmp_path / "serve.log")

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=20)
