"""`transom config show`: each setting, its value and where it came from."""

from pathlib import Path
from typing import Any

import click

from bridge.cli.call import Call, common
from bridge.settings import MASK, SETTINGS, Settings, data_dir, value_of


@click.group()
def command() -> None:
    """Show each setting, its value and where it came from."""


@command.command()
@common()
def show(call: Call) -> None:
    """Show each setting, its value and where it came from; secrets are masked."""
    call.show(_rows(call.settings), _print)


def _rows(settings: Settings) -> list[dict[str, Any]]:
    rows = []
    for setting in SETTINGS:
        value = value_of(settings, setting)
        if setting.name == "data.path" and settings.vault.path:
            value = data_dir(settings)
        if setting.type == "secret" and value:
            value = MASK
        elif isinstance(value, Path):
            value = str(value)
        origin = settings.origins.get(setting.name, "default")
        rows.append({"setting": setting.name, "value": value, "origin": origin})
    return rows


def _print(rows: list[dict[str, Any]]) -> None:
    width = max(len(row["setting"]) for row in rows)
    for row in rows:
        click.echo(f"{row['setting']:{width}}  {_shown(row['value'])}  ({row['origin']})")


def _shown(value: Any) -> str:
    match value:
        case None | "":
            return "-"
        case tuple():
            return ", ".join(value) or "-"
        case _:
            return str(value)
