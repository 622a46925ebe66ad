"""`transom model`: the embedding models there are, got and chosen."""

import json
import logging
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bridge.cli.call import Call, common
from bridge.errors import InstallationError, InvalidSetting
from bridge.settings import models_dir, user_file


@click.group()
def command() -> None:
    """List, get and choose embedding models."""


@command.command(name="list")
@common()
def list_(call: Call) -> None:
    """List the models that Transom knows, and those on this machine."""
    from bridge.embed.catalogue import catalogue, installed

    here, used = installed(models_dir()), call.settings.embedding.model
    rows = [
        {
            "name": entry.name,
            "summary": entry.summary,
            "dimensions": entry.dimensions,
            "languages": sorted(entry.languages) if entry.languages else None,
            "size_mb": entry.size_mb,
            "memory_mb": entry.memory_mb,
            "licence": entry.licence,
            "installed": entry.name in here,
            "used": entry.name == used,
        }
        for entry in catalogue()
    ]
    call.show(rows, _print_models)


@command.command()
@click.argument("name", required=False)
@common()
def get(call: Call, name: str | None) -> None:
    """Get a model onto this machine; without NAME the one that the settings choose.

    NAME is one of `transom model list`, or a GGUF of the hub: owner/repository/file.gguf
    """
    chosen = name or call.settings.embedding.model
    if chosen == "none" or chosen.startswith("openai:"):
        call.show({"name": chosen, "path": None}, lambda _: click.echo(f"{chosen} needs no file here."))
        return
    path = _obtain(chosen)
    call.show(
        {"name": chosen, "path": str(path)}, lambda answer: click.echo(f"{chosen} is here: {answer['path']}")
    )


@command.command()
@click.argument("name")
@common()
def use(call: Call, name: str) -> None:
    """Choose a model: get it, and write its name into the settings file.

    A bridge that runs goes on with the old one until it is started again; then every note is
    embedded anew while search by words goes on.
    """
    if name != "none" and not name.startswith("openai:"):
        path = _obtain(name)
        if Path(name).expanduser().absolute() == path.absolute():
            name = str(path.absolute())
    file = call.settings.file or user_file()
    _write(file, name)
    call.show({"name": name, "file": str(file)}, _print_used)
    override = call.settings.origins.get("embedding.model", "")
    if override.startswith("TRANSOM_"):
        click.echo(f"{override} is set and wins over the file; unset it.", err=True)


def set_model(text: str, name: str) -> str:
    """Set `embedding.model` in the text of a settings file and leave the rest as it is."""
    quoted = json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
    line = f"model = {quoted}"
    lines = text.split("\n")
    tables = [number for number, one in enumerate(lines) if re.match(r"\s*\[", one)]
    start = next((number for number in tables if re.match(r"\s*\[\s*embedding\s*\]", lines[number])), None)
    if start is None:
        gap = "\n" if text.strip() else ""
        return f"{text.rstrip()}{gap}{gap}[embedding]\n{line}\n"
    end = next((number for number in tables if number > start), len(lines))
    for number in range(start + 1, end):
        if re.match(r"\s*model\s*=", lines[number]):
            lines[number] = line
            break
    else:
        lines.insert(start + 1, line)
    return "\n".join(lines)


def _write(file: Path, name: str) -> None:
    """Write the model into the file, unless that would change anything else in it."""
    try:
        text = file.read_text("utf-8") if file.exists() else ""
        before, changed = tomllib.loads(text), set_model(text, name)
        before.setdefault("embedding", {})["model"] = name
        if tomllib.loads(changed) != before:
            raise ValueError("unusual layout")
        file.parent.mkdir(parents=True, exist_ok=True)
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
        descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(changed)
        os.chmod(temporary, mode)
        os.replace(temporary, file)
    except OSError as error:
        raise InstallationError(
            f"{file} cannot be written ({error.strerror}); nothing was changed."
        ) from error
    except ValueError as error:
        raise InvalidSetting(
            f'{file} could not be changed ({error}) and was left as it is. Put model = "{name}" under [embedding].'
        ) from error


def _obtain(name: str) -> Path:
    import asyncio

    from bridge import log
    from bridge.embed.obtain import obtain

    log.configure(level=logging.ERROR)
    progress = _Progress()
    path = asyncio.run(obtain(name, models_dir(), progress))
    progress.close()
    return path


class _Progress:
    """How far getting a model is: one line on a terminal, a line for each step elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._step = ""

    def __call__(self, step: str, done: int, total: int | None) -> None:
        if self._terminal:
            size = f" {done / 1e6:,.0f} of {total / 1e6:,.0f} MB" if total else ""
            click.echo(f"\r\033[K{step}{size}", nl=False, err=True)
        elif step != self._step:
            click.echo(step, err=True)
        self._step = step

    def close(self) -> None:
        """End the line."""
        if self._terminal and self._step:
            click.echo(err=True)


def _print_models(rows: list[Mapping[str, Any]]) -> None:
    for row in rows:
        mark = "*" if row["used"] else " "
        here = "here" if row["installed"] else "-"
        size = f"{row['size_mb']:>5} MB, needs {row['memory_mb']:>5} MB"
        click.echo(f"{mark} {row['name']:24} {here:5} {size}  {row['licence']:18} {row['summary']}")


def _print_used(answer: Mapping[str, Any]) -> None:
    click.echo(f'Wrote model = "{answer["name"]}" into {answer["file"]}')
    click.echo("A running bridge takes it up when it is started again.")
