"""`transom doctor`: every fault of an installation, with its mend."""

import os
import shutil
import socket
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import click

from bridge import data
from bridge.cli.call import Call, common
from bridge.errors import TransomError
from bridge.settings import Settings, data_dir, models_dir

MB = 1 << 20
SMALL_MODEL = "all-MiniLM-L6-v2"

_MARKS = {"ok": ("ok", "green"), "advice": ("advice", "yellow"), "fault": ("FAULT", "red")}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; `mend` is what to do about it."""

    check: str
    state: Literal["ok", "advice", "fault"]
    message: str
    mend: str = ""


@click.command()
@common()
def command(call: Call) -> None:
    """Check this installation and name each fault with its mend.

    The exit code is 1 when there is a fault; advice is no fault.
    """
    findings = list(examine(call))
    call.show([asdict(finding) for finding in findings], _print)
    if any(finding.state == "fault" for finding in findings):
        click.get_current_context().exit(1)


def examine(call: Call) -> Iterator[Finding]:
    """Run the checks; those that need settings are left out when the settings are the fault."""
    yield _python()
    yield _sqlite()
    yield _clock()
    try:
        settings = call.settings
    except TransomError as error:
        yield Finding(
            "settings", "fault", error.message, "Mend the setting; transom config show lists them all."
        )
        return
    yield Finding(
        "settings", "ok", f"read from {settings.file}" if settings.file else "no settings file; defaults"
    )
    checks: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
        _model,
        _memory,
        _vault,
        _watches,
        _livesync,
        _data,
        _disk,
        _key,
        _port,
    )
    for check in checks:
        try:
            yield from check(settings)
        except TransomError as error:
            yield Finding(check.__name__.strip("_"), "fault", error.message)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", "ok", f"{version} at {sys.executable}")


def _sqlite() -> Finding:
    try:
        from bridge.stores import sqlite

        connection = sqlite.connect(":memory:", vectors=True)
        [found] = connection.execute("SELECT vec_version()").fetchone()
        connection.close()
    except (TransomError, sqlite3.Error, OSError, ImportError) as error:
        return Finding("sqlite", "fault", str(error), f"{sys.executable} -m pip install sqlean.py sqlite-vec")
    return Finding("sqlite", "ok", f"SQLite {sqlite.VERSION} ({sqlite.NAME}), sqlite-vec {found}")


def _clock() -> Finding:
    """A small machine without a battery wakes in the past; this program is not older than its files."""
    installed_at = Path(__file__).stat().st_mtime
    if time.time() < installed_at - 86400:
        message = (
            "The clock is behind the day on which Transom was installed; times of changes would be wrong."
        )
        return Finding("clock", "fault", message, "sudo timedatectl set-ntp true")
    return Finding("clock", "ok", time.strftime("%Y-%m-%d %H:%M %Z"))


def _model(settings: Settings) -> Iterator[Finding]:
    model = settings.embedding.model
    if model == "none" or model.startswith("openai:"):
        what = "search by words alone" if model == "none" else f"asked of {settings.embedding.base_url}"
        yield Finding("model", "ok", f"{model}: {what}")
        return
    from bridge.embed.catalogue import locate, sha256_of

    located = locate(model, models_dir())
    if sha256_of(located.path) != located.sha256:
        message = f"{located.path} is not what was downloaded."
        yield Finding("model", "fault", message, f"transom model get {model}")
    else:
        yield Finding("model", "ok", f"{located.name}, {located.path}")


def _memory(settings: Settings) -> Iterator[Finding]:
    from bridge.embed.catalogue import entry

    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MB
    known = entry(settings.embedding.model)
    if total < 2000 and known and known.name != SMALL_MODEL:
        message = f"{total:,} MB is little for {known.name}; it may be stopped when memory runs out."
        yield Finding("memory", "advice", message, f"transom model use {SMALL_MODEL} (English), or none")
    else:
        yield Finding("memory", "ok", f"{total:,} MB")


def _vault(settings: Settings) -> Iterator[Finding]:
    root = settings.vault.root
    if not root.is_dir():
        made = " It is made at the first start." if settings.livesync.url else ""
        state: Literal["ok", "fault"] = "ok" if made else "fault"
        mend = "" if made else "Give the right folder with --vault, or mount its disk."
        yield Finding("vault", state, f"{root} is not there.{made}", mend)
    elif not os.access(root, os.R_OK | os.X_OK):
        mend = "Run Transom as the vault's owner, or let this user read it."
        yield Finding("vault", "fault", f"{root} cannot be read by this user.", mend)
    elif data_dir(settings).resolve().is_relative_to(root.resolve()):
        mend = "Give another folder with --data."
        yield Finding(
            "vault", "fault", "The data folder lies inside the vault and would be synced with it.", mend
        )
    else:
        yield Finding("vault", "ok", str(root))


def _watches(settings: Settings) -> Iterator[Finding]:
    """Linux watches a limited number of folders for each user (inotify(7))."""
    limit_file = Path("/proc/sys/fs/inotify/max_user_watches")
    if not limit_file.exists() or not settings.vault.root.is_dir():
        return
    limit = int(limit_file.read_text("ascii"))
    folders = sum(1 for _ in os.walk(settings.vault.root))
    if folders * 2 > limit:
        message = (
            f"{folders:,} folders are near the limit of {limit:,} watches; past it changes are found late."
        )
        mend = "echo fs.inotify.max_user_watches=524288 | sudo tee /etc/sysctl.d/60-watches.conf && sudo sysctl --system"
        yield Finding("watches", "advice", message, mend)
    else:
        yield Finding("watches", "ok", f"{folders:,} folders, {limit:,} may be watched")


def _livesync(settings: Settings) -> Iterator[Finding]:
    plugin = settings.vault.root / ".obsidian" / "plugins" / "obsidian-livesync"
    if settings.livesync.url:
        yield Finding("livesync", "ok", f"{settings.livesync.mode} from {settings.livesync.url}")
    elif plugin.is_dir():
        message = "This vault uses Self-hosted LiveSync; while Obsidian is closed here, nothing new arrives."
        yield Finding("livesync", "advice", message, "Set [livesync] url and database to follow it directly.")


def _data(settings: Settings) -> Iterator[Finding]:
    folder = data_dir(settings)
    if not os.access(_first_there(folder), os.W_OK | os.X_OK):
        mend = "Make it writable for this user, or give another one with --data."
        yield Finding("data", "fault", f"The data folder {folder} cannot be written.", mend)
    elif running := data.running_bridge(folder):
        yield Finding("data", "ok", f"{folder}; a bridge runs at {running['url']}")
    else:
        if folder.exists():
            data.DataFolder.hold(folder).release()
        yield from [*_databases(folder)] or [Finding("data", "ok", str(folder))]


def _disk(settings: Settings) -> Iterator[Finding]:
    folder = data_dir(settings)
    free = shutil.disk_usage(_first_there(folder)).free // MB
    if free < 500:
        message = f"{free:,} MB are free at {folder}; an index of 100,000 passages takes about 500."
        yield Finding(
            "disk", "fault" if free < 50 else "advice", message, "Free some space, or move it with --data."
        )
    else:
        yield Finding("disk", "ok", f"{free:,} MB free")


def _key(settings: Settings) -> Iterator[Finding]:
    file = data_dir(settings) / data.FIRST_KEY
    if file.exists() and file.stat().st_mode & 0o077:
        yield Finding("key", "fault", f"Others on this machine can read {file}.", f"chmod 600 {file}")


def _first_there(folder: Path) -> Path:
    return next(one for one in (folder, *folder.parents) if one.exists())


def _databases(folder: Path) -> Iterator[Finding]:
    """Look for damage and for files of a newer version, without changing anything."""
    from bridge.stores import schema, sqlite

    for name, migrations in ((data.STATE, schema.STATE), (data.INDEX, schema.INDEX)):
        file = folder / name
        if not file.exists():
            continue
        try:
            connection = sqlite.connect(file, vectors=True)
            [version] = connection.execute("PRAGMA user_version").fetchone()
            [sound] = connection.execute("PRAGMA quick_check(1)").fetchone()
            connection.close()
        except sqlite.Error as error:
            version, sound = 0, str(error)
        if sound != "ok":
            kept = name == data.STATE
            mend = "Restore it from a backup." if kept else "transom rebuild"
            yield Finding("data", "fault", f"{file} is damaged: {sound}.", mend)
        elif version > migrations[-1].number:
            message = f"{file} was written by a newer version of Transom."
            yield Finding(
                "data", "fault", message, "Update Transom, or give another data folder with --data."
            )


def _port(settings: Settings) -> Iterator[Finding]:
    host, port = settings.server.host, settings.server.port
    if data.running_bridge(data_dir(settings)):
        return
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        mend = "Stop the program that has it, or set another [server] host or port."
        yield Finding("port", "fault", f"{host}:{port} cannot be used ({error.strerror}).", mend)
    else:
        yield Finding("port", "ok", f"{host}:{port} is free")


def _print(findings: list[dict[str, Any]]) -> None:
    for finding in findings:
        word, colour = _MARKS[finding["state"]]
        click.echo(f"{click.style(f'{word:6}', fg=colour)} {finding['check']:9} {finding['message']}")
        if finding["mend"]:
            click.echo(f"{'':17}→ {finding['mend']}")
