"""What every command shares: its flags, its settings, and printing for people or as JSON."""

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from bridge.errors import InstallationError
from bridge.settings import SETTINGS, Settings, data_dir, load

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])
_SETTINGS = {setting.name: setting for setting in SETTINGS}


class Call:
    """One call of a command: its settings, read when first asked for, and how it prints."""

    def __init__(self) -> None:
        self.config: Path | None = None
        self.values: dict[str, Any] = {}
        self.as_json = False

    @functools.cached_property
    def settings(self) -> Settings:
        return load(self.config, self.values)

    @property
    def data(self) -> Path:
        return data_dir(self.settings)

    def require_vault(self) -> None:
        """Refuse a vault that was never seen and is not there: its path is wrong, not its disk away."""
        root = self.settings.vault.root
        if not (root.is_dir() or self.data.exists() or self.settings.livesync.url):
            raise InstallationError(
                f"The vault folder {root} is not there; nothing was begun. "
                "Give the right folder with --vault, or mount its disk.",
                key="no_vault",
            )

    def in_vault(self, path: str) -> str:
        """A note's path in the vault, also when that of its file was given: absolute, or with `./`."""
        file = os.path.abspath(path)
        root = os.path.abspath(self.settings.vault.root)
        is_file = os.path.isabs(path) or path.startswith(("./", "../"))
        return os.path.relpath(file, root) if is_file and file.startswith(root + os.sep) else path

    def show(self, answer: Any, text: Callable[[Any], None]) -> None:
        """Print a JSON-able answer: as it is with `--json`, else through `text`."""
        if self.as_json:
            click.echo(json.dumps(answer, ensure_ascii=False, indent=2))
        else:
            text(answer)


def setting(option: str, name: str, metavar: str) -> Callable[[F], F]:
    """Add a flag that overrides the setting `name`."""

    def keep(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
        if value is not None:
            ctx.ensure_object(Call).values[name] = value

    return click.option(option, metavar=metavar, expose_value=False, callback=keep, help=_SETTINGS[name].help)


def common(*, prints: bool = True) -> Callable[[Callable[Concatenate[Call, P], None]], Callable[P, None]]:
    """Add the flags of every command, `--json` where it `prints` data, and hand it its `Call`."""

    def keep_config(ctx: click.Context, _param: click.Parameter, value: Path | None) -> None:
        ctx.ensure_object(Call).config = value

    def keep_json(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        ctx.ensure_object(Call).as_json = value

    def decorate(command: Callable[Concatenate[Call, P], None]) -> Callable[P, None]:
        @functools.wraps(command)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            command(click.get_current_context().ensure_object(Call), *args, **kwargs)

        options = [
            click.option(
                "--config",
                type=click.Path(path_type=Path),
                metavar="FILE",
                expose_value=False,
                callback=keep_config,
                help="Settings file. Default: transom.toml here or in your configuration folder.",
            ),
            setting("--vault", "vault.path", "DIR"),
            setting("--data", "data.path", "DIR"),
        ]
        if prints:
            as_json = click.option(
                "--json", is_flag=True, expose_value=False, callback=keep_json, help="Print JSON."
            )
            options.append(as_json)
        for option in reversed(options):
            run = option(run)
        return run

    return decorate
