"""Commands as people call them: a process, its output and its exit code."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)


@dataclass(frozen=True, slots=True)
class Serving:
    """A bridge in a process of its own and the first lines that it printed."""

    process: subprocess.Popen[str]
    lines: list[str]
    data: Path
    log: Path

    @property
    def url(self) -> str:
        return self.lines[0].removeprefix("Transom is listening on ")


class Machine:
    """A computer on which nothing is set, without an embedding model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.here, self.data = folder / "home", folder / "here", folder / "data"
        self.home.mkdir()
        self.here.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        ours = {"HOME": str(self.home), "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1"}
        self.environment = kept | ours | {"TRANSOM_EMBEDDING_MODEL": "none"}
        self._started: list[subprocess.Popen[str]] = []

    def transom(self, *arguments: str | Path, **variables: str) -> Done:
        """Call a command in an empty folder."""
        done = subprocess.run(
            [sys.executable, "-m", "bridge", *map(str, arguments)],
            check=False,
            capture_output=True,
            encoding="utf-8",
            cwd=self.here,
            env=self.environment | variables,
            timeout=60,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def serve(self, vault: Path, **variables: str) -> Serving:
        """Start a bridge of a vault on a free port."""
        log = self.folder / "serve.log"
        flags = ["--vault", str(vault), "--data", str(self.data), "--port", "0"]
        with log.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "bridge", "serve", *flags],
                stdout=subprocess.PIPE,
                stderr=out,
                encoding="utf-8",
                env=self.environment | variables,
            )
        self._started.append(process)
        assert process.stdout is not None
        return Serving(process, [process.stdout.readline().rstrip() for _ in range(4)], self.data, log)

    def close(self) -> None:
        """Stop the bridges that still run."""
        for process in self._started:
            process.terminate()
            process.communicate(timeout=20)


Transom: TypeAlias = Callable[..., Done]
Serve: TypeAlias = Callable[..., Serving]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.close()


@pytest.fixture
def transom(machine: Machine) -> Transom:
    """Call `transom` with these arguments and environment variables."""
    return machine.transom


@pytest.fixture
def flags(machine: Machine, vault: Path) -> tuple[str, ...]:
    """The sample vault and a data folder of its own."""
    return ("--vault", str(vault), "--data", str(machine.data))


@pytest.fixture
def serve(machine: Machine, vault: Path) -> Serve:
    """Start a bridge of the sample vault with these environment variables."""
    return lambda **variables: machine.serve(vault, **variables)
