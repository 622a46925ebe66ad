"""Large vaults of real text: notes of real vaults, their paragraphs mixed with a fixed seed."""

import os
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

OWN_VAULT = Path(__file__).parent.parent / "vault"


def sources() -> list[Path]:
    """Folders of real notes: those of `TRANSOM_SHARED` or `../shared` if there, else the sample vault."""
    shared = Path(os.environ.get("TRANSOM_SHARED", Path(__file__).parents[3] / "shared"))
    return sorted((shared / "data" / "vaults").glob("*/")) or [OWN_VAULT]


@cache
def real_notes() -> tuple[tuple[str, str], ...]:
    """Every note and canvas of the sources: `(name, text)`."""
    return tuple(
        (path.name, path.read_bytes().decode("utf-8", "replace"))
        for folder in sources()
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".md", ".canvas"} and path.is_file() and "/." not in str(path)
    )


@cache
def paragraphs() -> tuple[str, ...]:
    """The paragraphs of all real notes."""
    return tuple(part for _, text in real_notes() for part in text.split("\n\n") if part.strip())


def make_vault(folder: Path, notes: int, *, texts_a_note: int = 1, first: int = 0) -> None:
    """Fill `folder` with notes of mixed kind: the real ones first, then copies with paragraphs mixed in.

    Half of a copy's paragraphs come from anywhere, so that no two notes have the same text
    and words stay as frequent as they are in real vaults.
    """
    real = real_notes()
    rng = random.Random(first + 7)
    for n in range(first, first + notes):
        name, text = real[n % len(real)]
        if (n >= len(real) or texts_a_note > 1) and not name.endswith(".canvas"):
            more = [real[rng.randrange(len(real))][1] for _ in range(texts_a_note - 1)]
            text = "\n\n".join(_mixed(one, rng) for one in (text, *more))
        target = folder / f"{n % 97:02d}" / f"{n:06d} {name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")


def _mixed(text: str, rng: random.Random) -> str:
    pool = paragraphs()
    return "\n\n".join(part if rng.random() < 0.5 else rng.choice(pool) for part in text.split("\n\n"))


def passages(count: int) -> list[str]:
    """Texts of 60 to 120 words in the order in which they stand in real notes."""
    rng = random.Random(11)
    words = _words()
    starts = [rng.randrange(len(words) - 120) for _ in range(count)]
    return [" ".join(words[start : start + rng.randint(60, 120)]) for start in starts]


def queries(count: int) -> list[str]:
    """Questions of four words, each taken from one place of a real note."""
    rng = random.Random(13)
    words = [word for word in _words() if word.isalpha()]
    starts = [rng.randrange(len(words) - 8) for _ in range(count)]
    return [" ".join(words[start : start + 8 : 2]) for start in starts]


@cache
def _words() -> Sequence[str]:
    return [word for _, text in real_notes() for word in text.split()]
