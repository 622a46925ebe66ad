"""`transom serve`: the bridge in the foreground, until a signal stops it."""

import asyncio
import os
import shlex
import signal
import ssl
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click
import structlog

from bridge import data, log
from bridge.cli.call import Call, common, setting
from bridge.errors import InstallationError, InvalidSetting
from bridge.settings import ServerSettings

if TYPE_CHECKING:
    from bridge.runtime import Bridge

logger = structlog.get_logger(__name__)

_STOP_S = 4.0


@click.command()
@common(prints=False)
@setting("--host", "server.host", "H")
@setting("--port", "server.port", "N")
def command(call: Call) -> None:
    """Serve the vault: search, related notes and the page over HTTP.

    The first line printed says the address, the next one where the key is.
    """
    log.configure()
    call.require_vault()
    asyncio.run(_serve(call))


async def _serve(call: Call) -> None:
    from bridge.runtime import Bridge

    stop = asyncio.create_task(_asked_to_stop())
    server, folder = call.settings.server, call.data
    tls = await asyncio.to_thread(_tls, server)
    while not stop.done():
        async with Bridge.open(call.settings) as bridge, _listening(bridge, server, tls) as url:
            bridge.start()
            await asyncio.to_thread(data.announce, folder, _reachable(url))
            if server is call.settings.server:
                _greet(call, url, folder)
                server = replace(server, port=urlsplit(url).port or server.port)
            damaged = asyncio.create_task(bridge.damaged())
            try:
                await asyncio.wait([stop, damaged], return_when=asyncio.FIRST_COMPLETED)
            finally:
                damaged.cancel()
                logger.info("serve.stopping" if stop.done() else "serve.beginning_anew")
                data.withdraw(folder)


async def _asked_to_stop() -> None:
    """Wait for a signal. A stop takes a few seconds at most, whatever a thread is busy with."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    for one in signals:
        loop.add_signal_handler(one, asked.set)
    await asked.wait()
    for one in signals:
        loop.remove_signal_handler(one)
    deadline = threading.Timer(_STOP_S, _end)
    deadline.daemon = True
    deadline.start()


def _end() -> None:
    """Leave what still runs: each store is made to be left at any moment."""
    logger.warning("serve.cut_short", after_s=_STOP_S)
    os._exit(0)


@asynccontextmanager
async def _listening(
    bridge: "Bridge", server: ServerSettings, tls: ssl.SSLContext | None
) -> AsyncIterator[str]:
    """Serve the bridge and yield the address, with the port that was picked."""
    from aiohttp import web

    from bridge.api import app

    runner = app.runner(app.create_app(bridge))
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, server.host, server.port, ssl_context=tls).start()
        except OSError as error:
            raise InstallationError(
                f"Port {server.port} of {server.host} cannot be used ({error.strerror}); nothing was changed. "
                "Stop the program that has it, or choose another port with --port (0 picks a free one).",
                key="port_in_use",
            ) from error
        yield _address(server.host, runner.addresses[0][1], tls=tls is not None)
    finally:
        await runner.cleanup()


def _address(host: str, port: int, *, tls: bool) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"{'https' if tls else 'http'}://{name}:{port}"


def _tls(server: ServerSettings) -> ssl.SSLContext | None:
    if server.tls_cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(server.tls_cert, server.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise InvalidSetting(
            f"server.tls_cert and server.tls_key cannot be used ({error}); nothing was started."
        ) from error
    return context


def _reachable(url: str) -> str:
    """The address by which this machine reaches a bridge that listens on all of its networks."""
    return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _greet(call: Call, url: str, folder: Path) -> None:
    again = shlex.join(_flags(call))
    program = sys.argv[0] if Path(sys.argv[0]).name == "transom" else f"{sys.executable} -m bridge"
    click.echo(f"Transom is listening on {url}")
    click.echo(f"Key: the file {folder / data.FIRST_KEY}")
    click.echo(
        f"Page: open {_reachable(url)} and paste what this prints:  {program} token show {again}".rstrip()
    )
    click.echo(f'Search: {program} search "your words" {again}'.rstrip())
    sys.stdout.flush()
    if not _is_loopback(call.settings.server.host) and not url.startswith("https"):
        logger.warning("serve.unencrypted", host=call.settings.server.host, mend="set tls_cert and tls_key")


def _flags(call: Call) -> list[str]:
    flags = ["--config", str(call.config)] if call.config else []
    for option, name in (("--vault", "vault.path"), ("--data", "data.path")):
        if name in call.values:
            flags += [option, call.values[name]]
    return flags


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
