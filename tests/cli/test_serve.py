"""`transom serve`: what it prints, whom it refuses, how it ends."""

import json
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import time
import urllib.request
from contextlib import closing
from pathlib import Path
from urllib.error import HTTPError

import pytest

from bridge import __version__
from bridge.stores import sqlite
from tests.cli.conftest import Machine, Serve, Transom


def test_the_first_lines_say_address_and_key(serve: Serve) -> None:
    """Scripts read the address from the first line; the key itself is on none."""
    serving = serve()
    host, port = serving.url.removeprefix("http://").split(":")

    assert f"Transom is listening on http://{host}:{port}" == serving.lines[0]
    assert "127.0.0.1" == host
    assert int(port) > 0
    token = serving.data / "token"
    assert str(token) in serving.lines[1]
    assert 0o600 == stat.S_IMODE(token.stat().st_mode)
    assert token.read_text().strip() not in "".join(serving.lines) + serving.log.read_text()


def test_it_answers_with_the_key_alone(serve: Serve) -> None:
    """Health is open, the rest wants the key of the file."""
    serving = serve()
    health = json.load(urllib.request.urlopen(f"{serving.url}/v1/health"))
    with pytest.raises(HTTPError, match="401"):
        urllib.request.urlopen(f"{serving.url}/v1/status")
    key = (serving.data / "token").read_text().strip()
    request = urllib.request.Request(f"{serving.url}/v1/status", headers={"Authorization": f"Bearer {key}"})
    status = json.load(urllib.request.urlopen(request))

    assert {"status": "ok", "version": __version__} == health
    assert "none" == status["embedding"]["model"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(serve: Serve, how: signal.Signals) -> None:
    """It is gone in under 5 s with exit code 0, also while somebody waits for changes."""
    serving = serve()
    note = json.loads((serving.data / "bridge.json").read_text())
    assert {"url": serving.url, "pid": serving.process.pid, "version": __version__} == note
    host, port = serving.url.removeprefix("http://").split(":")
    key = (serving.data / "token").read_text().strip()
    with socket.create_connection((host, int(port))) as poll:
        ask = f"GET /v1/changes?since=0&wait_s=60 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\r\n"
        poll.sendall(ask.encode())
        time.sleep(0.3)
        began = time.perf_counter()
        serving.process.send_signal(how)
        code = serving.process.wait(timeout=20)
        took_s = time.perf_counter() - began

    assert 0 == code
    assert took_s < 5
    assert not (serving.data / "bridge.json").exists()


def test_a_port_in_use_is_said(transom: Transom, flags: tuple[str, ...]) -> None:
    """The sentence names the port and the way out; the exit code is 1."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = transom("serve", *flags, "--port", str(port))

    assert 1 == done.code
    assert f"Port {port} of 127.0.0.1" in done.err
    assert "--port" in done.err
    assert "" == done.out


def test_two_bridges_on_one_data_folder_are_refused(
    serve: Serve, transom: Transom, flags: tuple[str, ...]
) -> None:
    """The second says who works there, and the first goes on."""
    serving = serve()
    done = transom("serve", *flags, "--port", "0")

    assert 1 == done.code
    assert serving.url in done.err
    assert 0 == transom("status", *flags).code


def test_a_killed_bridge_leaves_nothing_in_the_way(
    serve: Serve, transom: Transom, flags: tuple[str, ...]
) -> None:
    """After SIGKILL its note is stale: commands work by themselves, a new bridge starts."""
    serving = serve()
    serving.process.kill()
    serving.process.wait()

    assert (serving.data / "bridge.json").exists()
    assert 0 == transom("status", *flags).code
    assert serve().lines[0].startswith("Transom is listening on http://127.0.0.1:")


def test_https_is_served_and_commands_trust_the_own_certificate(
    serve: Serve, transom: Transom, flags: tuple[str, ...], tmp_path: Path
) -> None:
    """With certificate and key the address is https, also for commands."""
    openssl = shutil.which("openssl")
    assert openssl is not None
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = (
        f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
        f"-keyout {key} -out {cert} -days 2 -subj /CN=notes.example"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    tls = {"TRANSOM_SERVER_TLS_CERT": str(cert), "TRANSOM_SERVER_TLS_KEY": str(key)}
    serving = serve(**tls)

    assert serving.url.startswith("https://127.0.0.1:")
    context = ssl.create_default_context(cafile=str(cert))
    context.check_hostname = False
    assert 200 == urllib.request.urlopen(f"{serving.url}/v1/health", context=context).status
    assert 0 == transom("status", *flags, **tls).code


def test_a_certificate_that_is_none_is_refused(
    transom: Transom, flags: tuple[str, ...], tmp_path: Path
) -> None:
    """Wrong settings are exit code 2 before anything is served."""
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    variables = {"TRANSOM_SERVER_TLS_CERT": str(broken), "TRANSOM_SERVER_TLS_KEY": str(broken)}
    done = transom("serve", *flags, "--port", "0", **variables)

    assert 2 == done.code
    assert "tls_cert" in done.err


def test_a_stop_does_not_wait_for_busy_threads(machine: Machine, vault: Path) -> None:
    """SIGTERM in the middle of the first index of an enormous note ends it in under 5 s as well."""
    (vault / "Enormous.md").write_text("Lorem ipsum dolor sit amet.\n\n" * 600_000)
    serving = machine.serve(vault)
    time.sleep(1.5)
    began = time.perf_counter()
    serving.process.terminate()

    assert 0 == serving.process.wait(timeout=30)
    assert time.perf_counter() - began < 5
    assert not (serving.data / "bridge.json").exists()


def test_an_index_found_damaged_is_built_again(
    serve: Serve, transom: Transom, flags: tuple[str, ...]
) -> None:
    """A page overwritten in the middle of index.sqlite shows only when it is read; then all is built anew."""
    serving = serve()
    before = transom("index", *flags), transom("search", "coffee", "--json", *flags)
    serving.process.terminate()
    serving.process.wait(timeout=20)
    with closing(sqlite.connect(serving.data / "index.sqlite")) as connection:
        [(page,)] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'chunks'")
        [(size,)] = connection.execute("PRAGMA page_size")
    with (serving.data / "index.sqlite").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
    serving = serve()
    deadline = time.monotonic() + 30
    while (after := transom("search", "coffee", "--json", *flags)).code or not after.json["hits"]:
        assert time.monotonic() < deadline, serving.log.read_text()
        time.sleep(0.2)

    assert 0 == before[0].code
    assert 0 == transom("index", *flags).code
    paths = [hit["path"] for hit in transom("search", "coffee", "--json", *flags).json["hits"]]
    assert [hit["path"] for hit in before[1].json["hits"]] == paths
    assert "serve.beginning_anew" in serving.log.read_text()
