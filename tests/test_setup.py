"""Setting up: what is missing is said before anything is done."""

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent


def run(script: str, tools: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script on a machine that has these tools alone."""
    return subprocess.run(
        [REPOSITORY / "scripts" / script, *arguments],
        check=False,
        capture_output=True,
        encoding="utf-8",
        cwd=REPOSITORY,
        env={"PATH": str(tools)},
        timeout=60,
    )


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A machine with a shell and a Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "env", "dirname", "id", "nproc"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def test_a_machine_without_compiler_is_told_what_to_install(tools: Path, tmp_path: Path) -> None:
    """Minutes are not spent on a set-up that must fail."""
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or shutil.which("python3")
    assert python is not None
    done = run("setup", tools, python, str(tmp_path / "venv"))

    assert 1 == done.returncode
    assert "sudo apt-get install build-essential" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_too_old_is_passed_over(tools: Path, tmp_path: Path) -> None:
    """The next one that is new enough is taken, or the sentence names the version that is needed."""
    old = tools / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    done = run("setup", tools, str(old), str(tmp_path / "venv"))

    assert 1 == done.returncode
    assert "Python 3.11 or newer" in done.stderr or "C and C++ compiler" in done.stderr
