"""`transom service install`: the bridge as a systemd user service."""

import os
import sys
from pathlib import Path

import click

from bridge.cli.call import Call, common
from bridge.errors import InstallationError
from bridge.settings import Settings

UNIT = """\
[Unit]
Description=Transom, search over the vault {vault}
Documentation=man:systemd.service(5)
After=network-online.target

[Service]
Type=exec
ExecStart={command}
Restart=on-failure
RestartSec=5
# Wrong settings do not mend themselves.
RestartPreventExitStatus=2
TimeoutStopSec=10

# A guest on a small machine: others go first, and it cannot eat the memory.
Nice=5
CPUWeight=50
IOWeight=50
MemoryHigh=1200M
MemoryMax=1600M
TasksMax=128

# A user's service cannot write to the system anyway; this keeps it from gaining more.
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallArchitectures=native

[Install]
WantedBy=default.target
"""


@click.group()
def command() -> None:
    """Run the bridge for good with systemd."""


@command.command()
@common(prints=False)
@click.option(
    "--name", metavar="NAME", default="transom", show_default=True, help="Name of the service; one a vault."
)
@click.option("--print", "only_print", is_flag=True, help="Print the unit and write nothing.")
def install(call: Call, name: str, only_print: bool) -> None:
    """Write a systemd user unit that serves the vault, and say how to start it."""
    unit = render(call.settings)
    if only_print:
        click.echo(unit, nl=False)
        return
    file = _folder() / f"{name}.service"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(unit, "utf-8")
    except OSError as error:
        raise InstallationError(
            f"{file} cannot be written ({error.strerror}); nothing was changed."
        ) from error
    click.echo(f"Wrote {file}. Next:")
    click.echo("  systemctl --user daemon-reload")
    click.echo(f"  systemctl --user enable --now {name}")
    click.echo("  loginctl enable-linger    # so that it runs while you are logged out")
    click.echo(f"Its log: journalctl --user -u {name} -f")
    for variable in _from_environment(call.settings):
        click.echo(
            f"{variable} comes from this shell; put it in the settings file, the service does not see it."
        )


def render(settings: Settings) -> str:
    """The unit's text for these settings."""
    words = [sys.executable, "-m", "bridge", "serve", "--vault", str(settings.vault.root.absolute())]
    if settings.file:
        words += ["--config", str(settings.file)]
    if settings.data.path:
        words += ["--data", str(settings.data.path.absolute())]
    vault = settings.vault.name.replace("%", "%%").replace("\n", " ")
    return UNIT.format(vault=vault, command=" ".join(map(_quote, words)))


def _quote(word: str) -> str:
    """Quote a word for ExecStart (systemd.service(5), "Command lines")."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if escaped != word or not word or any(c in word for c in " \t';") else word


def _folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "systemd" / "user"


def _from_environment(settings: Settings) -> list[str]:
    return [origin for origin in settings.origins.values() if origin.startswith("TRANSOM_")]
