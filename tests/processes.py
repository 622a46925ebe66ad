"""Scripts run in processes of their own, where faults that hit the whole process can be made."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

from tests.conftest import REPOSITORY

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")
"""A command that gives a process limits and mounts of its own, where the system allows it."""
ALLOWED = bool(shutil.which("unshare")) and not subprocess.run([*NAMESPACE, "true"], check=False).returncode


def run_script(script: str, *arguments: str | Path, in_namespace: bool = False) -> str:
    """Run a script that may import ours; return what it printed."""
    done = subprocess.run(
        [
            *(NAMESPACE if in_namespace else ()),
            sys.executable,
            "-c",
            textwrap.dedent(script),
            *map(str, arguments),
        ],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert 0 == done.returncode, done.stderr
    return done.stdout
