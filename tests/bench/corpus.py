"""Large vaults of real text: notes of real vaults, their paragraphs mixed with a fixed seed."""

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

OWN_VAULT = Path(__file__).parent.parent / "vault"


def sources() -> list[Path]:
    """Folders of real notes: those of `TRANSOM_SHARED` or `../shared` if there, else the sample vault."""
    shared = Path(os.environ.get("TRANSOM_SHARED", Path(__file__).parents[3] / "shared"))
    vaults = sorted((shared / "data" / "vaults").glob("*/"))
    return vaults or [OWN_VAULT]


def real_notes() -> list[tuple[str, bytes]]:
    """Every note and canvas of the sources: `(name, bytes)`."""
    return [
        (path.name, path.read_bytes())
        for folder in sources()
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".md", ".canvas"} and path.is_file() and "/." not in str(path)
    ]


def make_vault(folder: Path, notes: int) -> None:
    """Fill `folder` with `notes` notes of mixed kind: real ones, each later copy with its paragraphs mixed.

    A copy takes its paragraphs from several notes of the same source, so that no two have the
    same text and words stay as frequent as they are in real vaults.
    """
    real = real_notes()
    rng = random.Random(7)
    paragraphs = [
        part
        for _, content in real
        for part in content.decode("utf-8", "replace").split("\n\n")
        if part.strip()
    ]
    for n in range(notes):
        name, content = real[n % len(real)]
        if n >= len(real) and not name.endswith(".canvas"):
            content = _mixed(content.decode("utf-8", "replace"), paragraphs, rng).encode()
        target = folder / f"{n % 97:02d}" / f"{n:06d} {name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _mixed(text: str, paragraphs: Sequence[str], rng: random.Random) -> str:
    own = text.split("\n\n")
    return "\n\n".join(part if rng.random() < 0.5 else rng.choice(paragraphs) for part in own)


def passages(count: int) -> Iterator[str]:
    """Texts of about 120 words, cut from the real notes in an order of a fixed seed."""
    rng = random.Random(11)
    words = [word for _, content in real_notes() for word in content.decode("utf-8", "replace").split()]
    for _ in range(count):
        start = rng.randrange(len(words) - 120)
        yield " ".join(words[start : start + rng.randint(60, 120)])


def queries(count: int) -> list[str]:
    """Questions of four words each, taken from one place of a real note."""
    rng = random.Random(13)
    words = [
        word
        for _, content in real_notes()
        for word in content.decode("utf-8", "replace").split()
        if word.isalpha()
    ]
    starts = [rng.randrange(len(words) - 8) for _ in range(count)]
    return [" ".join(words[start : start + 8 : 2]) for start in starts]
