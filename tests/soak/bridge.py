"""Kill the whole bridge at any moment of its indexing: the next start agrees with a fresh index."""

import asyncio
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bridge.model import Filter
from bridge.runtime import Bridge
from tests.conftest import SAMPLE_VAULT
from tests.small import settings, snapshot

NOTES = 400
WORDS = SAMPLE_VAULT.joinpath("Home.md").read_text("utf-8").split()


def index_killed_at_random(seed: int, kills: int = 3) -> None:
    """Edit a vault, kill the index in the midst of following, again and again; then compare."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        vault, data, fresh = (Path(folder) / name for name in ("vault", "data", "fresh"))
        shutil.copytree(SAMPLE_VAULT, vault)
        for _ in range(kills):
            _edit(vault, rng)
            process = subprocess.Popen(
                [sys.executable, "-m", "bridge", "index", "--vault", vault, "--data", data],
                env={"TRANSOM_EMBEDDING_MODEL": "none", "PATH": ""},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(rng.uniform(0.3, 2.0))
            process.kill()
            process.wait()
        grown, rebuilt = asyncio.run(_state(vault, data)), asyncio.run(_state(vault, fresh))
        assert rebuilt == grown, f"seed {seed}"


def _edit(vault: Path, rng: random.Random) -> None:
    """Write, rename and delete at random."""
    for _ in range(NOTES):
        note = vault / f"{rng.randrange(9)}" / f"Note {rng.randrange(NOTES)}.md"
        match rng.choice(("write", "write", "write", "rename", "delete")):
            case "rename" if note.exists():
                note.rename(note.with_name(f"Note {rng.randrange(NOTES)}.md"))
            case "delete":
                note.unlink(missing_ok=True)
            case _:
                note.parent.mkdir(exist_ok=True)
                links = f"[[Note {rng.randrange(NOTES)}]] #tag/{rng.randrange(5)}"
                note.write_text(
                    f"# {rng.choice(WORDS)}\n\n{' '.join(rng.choices(WORDS, k=40))} {links}\n", "utf-8"
                )


async def _state(vault: Path, data: Path) -> dict[str, Any]:
    """Bring an index up to date and tell all that is derived: the rows, and what words find."""
    async with Bridge.open(settings(vault, data)) as bridge:
        await bridge.index()
        rows = await snapshot(bridge._db)
        # A folder at a time: of more hits than the limit, equal ones take turns at its edge.
        hits = {
            (word, n): await bridge.search(word, mode="keyword", limit=200, filter=Filter(path=f"{n}/**"))
            for word in WORDS[:5]
            for n in range(9)
        }
        found = {asked: {hit.path for hit in answer.hits} for asked, answer in hits.items()}
        return rows | {"found": found, "searchable": bridge._fulltext.chunks}
