"""How answers look on a terminal."""

import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

Answer = Mapping[str, Any]

_SIGNALS = {"keyword": "words", "semantic": "meaning", "graph": "links"}
_MISSING = {
    "deadline": "it was not ready in time",
    "no_model": "there is no embedding model (transom model get)",
    "indexing": "the model is being made ready",
    "endpoint_down": "the embeddings endpoint is away",
}
_BLANKS = re.compile(r"\s+")
_EXCERPT = 320
_LEAD = 80
_QUIET_S = 5.0


def printable(text: str) -> str:
    """Text of a note without what could command the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)


def hits(answer: Answer) -> None:
    """Print what a search found."""
    for number, hit in enumerate(answer["hits"], 1):
        signals = hit["signals"]
        found_by = ", ".join(
            f"{word} {signals[name]['rank']}" for name, word in _SIGNALS.items() if name in signals
        )
        _heading(number, hit)
        first, last = hit["lines"]
        facts = f"{hit['path']}:{first}-{last}  {hit['modified'][:10]}  {found_by}"
        click.echo(click.style(f"    {printable(facts)}", dim=True))
        click.echo(f"    {_excerpt(hit['passage'], hit['highlights'])}")
    is_early = any(missing["reason"] == "indexing" for missing in answer["signals_missing"])
    if not answer["hits"]:
        click.echo("Nothing found yet." if is_early else "Nothing found.")
    reasons: dict[str, list[str]] = {}
    for missing in answer["signals_missing"]:
        reasons.setdefault(missing["reason"], []).append(_SIGNALS[missing["signal"]])
    for reason, names in reasons.items():
        click.echo(f"Without {' and '.join(names)}: {_MISSING[reason]}.", err=True)
    if not reasons:
        _coverage(answer["coverage"])


def related(answer: Answer) -> None:
    """Print the notes that belong to a note."""
    for number, hit in enumerate(answer["hits"], 1):
        _heading(number, hit)
        why = "; ".join(_why(one) for one in hit["why"])
        click.echo(click.style(f"    {printable(hit['path'])}", dim=True) + f"  {printable(why)}")
    if not answer["hits"]:
        click.echo("No related notes.")
    _coverage(answer["coverage"])


def status(answer: Answer, url: str | None) -> None:
    """Print counts, coverage and queues, and of a running bridge how its sources are."""
    vault, embedding, sources = answer["vault"], answer["embedding"], answer["sources"]
    counts = ", ".join(
        f"{vault[name]:,} {name}" for name in ("notes", "canvases", "transcripts", "chunks", "links")
    )
    _table(
        [
            ("bridge", url or "not running; this is what is stored"),
            ("vault", counts),
            ("embedding", f"{embedding['model']}: {_and_why(embedding)}" if url else embedding["model"]),
            ("embedded", f"{embedding['embedded']:,} chunks, {embedding['pending']:,} waiting"),
            ("coverage", "-" if answer["coverage"] is None else f"{answer['coverage']:.1%}"),
        ]
    )
    if url:
        devices = ", ".join(device["name"] for device in sources["plugin"]["devices"])
        _table(
            [
                ("files", _and_why(sources["files"])),
                ("livesync", _and_why(sources["livesync"])),
                ("devices", devices or "-"),
                ("settled", "yes" if answer["settled"] else "no"),
            ]
        )


def note_status(answer: Answer) -> None:
    """Print the state of one note."""
    rows = [
        ("note", answer["path"]),
        ("state", _and_why(answer)),
        ("embedded", f"{answer['embedded']} of {answer['chunks']} chunks"),
        ("revision", answer["revision"] or "-"),
        *(("issue", issue) for issue in answer.get("issues", ())),
    ]
    _table(rows)


class Progress:
    """Progress of an index run: a bar on a terminal, a plain line now and then elsewhere."""

    def __init__(self) -> None:
        self._bar = sys.stderr.isatty()
        self._said_at = -_QUIET_S
        self._line = ""

    def __call__(self, answer: Answer) -> None:
        line = _progress_line(answer, bar=self._bar)
        now = time.monotonic()
        if self._bar:
            click.echo(f"\r\033[K{line}", nl=False, err=True)
        elif line != self._line and now - self._said_at >= _QUIET_S:
            click.echo(line, err=True)
            self._said_at = now
        self._line = line

    def close(self) -> None:
        """End the bar's line."""
        if self._bar and self._line:
            click.echo(err=True)


def _progress_line(answer: Answer, *, bar: bool) -> str:
    embedding, notes = answer["embedding"], answer["vault"]["notes"]
    done, total = embedding["embedded"], embedding["embedded"] + embedding["pending"]
    if not embedding["pending"]:
        return f"{notes:,} notes"
    drawn = f" [{'#' * (30 * done // total):30}]" if bar else ""
    return f"{notes:,} notes, embedding{drawn} {done:,} of {total:,} chunks"


def _heading(number: int, hit: Answer) -> None:
    places = [hit["title"], *hit["heading_path"]]
    way = places[1:] if places[:1] == places[1:2] else places
    score = click.style(f"{hit['score']:.2f}", fg="cyan")
    click.echo(f"{number:2}. {click.style(printable(' › '.join(way)), bold=True)}  {score}")


def _excerpt(passage: str, highlights: Sequence[tuple[int, int]]) -> str:
    """A few lines of the passage around what was found first, what was found in colour."""
    first = highlights[0][0] if highlights else 0
    begin = max(0, min(first - _LEAD, len(passage) - _EXCERPT))
    end = begin + _EXCERPT
    pieces, at = ["…" if begin else ""], begin
    for start, stop in highlights:
        if at <= start and stop <= end:
            pieces += [_plain(passage[at:start]), click.style(_plain(passage[start:stop]), fg="yellow")]
            at = stop
    return "".join([*pieces, _plain(passage[at:end]), "…" if end < len(passage) else ""])


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", printable(text))


def _why(one: Answer) -> str:
    match one["kind"]:
        case "meaning":
            return f"alike in meaning ({one['cosine']:.2f})"
        case "words":
            return "shares " + ", ".join(one["words"])
        case "mention":
            return (
                f"mentions “{one['text']}”" if one["direction"] == "out" else f"mentioned as “{one['text']}”"
            )
        case "tags":
            return " ".join(f"#{tag}" for tag in one["tags"])
        case _ if one.get("through"):
            return "both linked with " + ", ".join(one["through"])
        case _:
            return {"out": "linked from here", "in": "links here"}.get(one["direction"], "linked both ways")


def _coverage(coverage: float | None) -> None:
    if coverage is not None and coverage < 1:
        click.echo(f"Meaning covers {coverage:.0%} of the text so far.", err=True)


def _and_why(state: Answer) -> str:
    return f"{state['state']} ({state['reason']})" if state["reason"] else str(state["state"])


def _table(rows: Iterable[tuple[str, str]]) -> None:
    for name, value in rows:
        click.echo(f"{name:10} {printable(value)}")
