"""The page in real Chromium against a real bridge, which runs as a process of its own."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright
from playwright.async_api import Request as PageRequest

from tests.conftest import REPOSITORY, SAMPLE_VAULT

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOSTILE = "<img src=x onerror=window.hacked=1>"
NOTES = {
    f"Odd/{HOSTILE}.md": '# <script>window.hacked=1</script>\n\n<b>lanternfish</b> <img src=x onerror="window.hacked=1">\n',
    "Odd/Points 🍞.md": "👩‍👩‍👧 x 東京 lanternfish 𝔘𝔫𝔦 🚀 then lanternfish, é and é, 末尾 lanternfish.\n",
    "Odd/قنديل البحر.md": "قنديل البحر يضيء lanternfish في الأعماق المظلمة من المحيط.\n",
    "Odd/Headed.md": "# Deep 🌊 water\n\nAbove.\n\n## Hadal zone\n\nHere lives the hadalfish.\n",
    "Odd/Long.md": "Filler stands here for a while. " * 12
    + "Far inside swims the viperfish. "
    + "Afterwards comes extraordinarily much stuffing. " * 9,
}


class RunningBridge:
    """`transom serve` over a folder, which can be stopped and started again at the same address."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.vault = folder / "vault"
        self._data = folder / "data"
        self._folder = folder
        ours = {"PYTHONPATH": str(REPOSITORY), "XDG_CONFIG_HOME": str(folder)}
        self._environment = {**os.environ, **ours, **environment}
        self._port = "0"

    def start(self) -> None:
        command = [sys.executable, "-m", "bridge", "serve", "--port", self._port]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--vault", self.vault, "--data", self._data],
                cwd=self._folder,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("Transom is listening on "), (self._folder / "log").read_text()
        self.url = line.split()[-1]
        self._port = self.url.rpartition(":")[2]
        self.key = (self._data / "token").read_text().strip()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """Ask the API past the page."""
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = Request(self.url + path, json.dumps(body).encode() if body else None, headers)
        with urlopen(request) as answer:
            return json.load(answer)

    def settle(self) -> None:
        ends = time.monotonic() + 60
        while not self.ask("/v1/status")["settled"]:
            assert time.monotonic() < ends, self.ask("/v1/status")
            time.sleep(0.1)


@pytest.fixture(scope="session")
def bridge(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBridge]:
    """A bridge over the sample vault and some odd notes, settled."""
    running = RunningBridge(tmp_path_factory.mktemp("bridge"), TRANSOM_MODELS_DIR=str(models))
    shutil.copytree(SAMPLE_VAULT, running.vault)
    for path, text in NOTES.items():
        file = running.vault / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    running.start()
    running.settle()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def empty_bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBridge]:
    """A bridge over a vault without notes, without an embedding model."""
    running = RunningBridge(tmp_path_factory.mktemp("empty"), TRANSOM_EMBEDDING_MODEL="none")
    (running.vault / ".obsidian").mkdir(parents=True)
    running.start()
    running.settle()
    yield running
    running.stop()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    assert CHROMIUM, "Chromium is not installed; on Debian: apt-get install chromium"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        await browser.close()


OpenPage = Callable[..., Awaitable[Page]]


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(chromium: Browser) -> AsyncIterator[OpenPage]:
    """Open the page of a bridge in a browser of its own.

    With `known`, the browser has the key already. Whatever the test is about, the page must log no error and
    ask nobody but its bridge.
    """
    faults: list[str] = []
    contexts = []

    async def open_it(bridge: RunningBridge, *, known: bool = True, at: str = "/", **options: Any) -> Page:
        context = await chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        if known:
            await context.add_init_script(f"localStorage.setItem('transom.key', {json.dumps(bridge.key)})")
        page = await context.new_page()

        def heard(message: ConsoleMessage) -> None:
            # A refused key and a stopped bridge are what some tests are about; Chromium reports them so.
            expected = message.text.startswith("Failed to load resource")
            if message.type in ("error", "warning") and not expected:
                faults.append(message.text)

        def asked(request: PageRequest) -> None:
            if not request.url.startswith(bridge.url):
                faults.append(request.url)

        page.on("console", heard)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", asked)
        await page.goto(bridge.url + at)
        return page

    yield open_it
    for context in contexts:
        await context.close()

    assert faults == []
