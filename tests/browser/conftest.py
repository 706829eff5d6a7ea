"""A real JupyterLab on loopback and a real Chromium, for tests of what a user sees.

Both start once per session with nothing of the user's: own settings, own root folder, own profile.
The extension under test is the bundle of this checkout, whatever is installed.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, sync_playwright

CHECKOUT = Path(__file__).parents[2]
CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-quic",
)
NO_NEWS = {"checkForUpdates": False, "fetchNews": "false"}
OF_JUPYTERLAB = ("Could not restore the debugger state",)
"""What JupyterLab writes where a kernel restarts, or a page is left, while it asks the debugger."""
PYTHON = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: files put under `root` can be opened at `url(path)`."""

    origin: str
    token: str
    root: Path

    def url(self, path: str) -> str:
        """The address that opens the file at `path` (relative to `root`) in a clean workspace."""
        return f"{self.origin}/lab/tree/{quote(path)}?token={self.token}&reset"

    def write_notebook(self, path: str, *sources: str) -> None:
        """Write a notebook of code cells; it names the Python kernel, but no language."""
        cells: list[dict[str, object]] = [
            {
                "cell_type": "code",
                "id": f"cell-{number}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": source,
            }
            for number, source in enumerate(sources)
        ]
        content = {"nbformat": 4, "nbformat_minor": 5, "metadata": PYTHON, "cells": cells}
        (self.root / path).write_text(json.dumps(content), "utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: a real JupyterLab in Chromium")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a free port of loopback, stopped with its kernels at the end."""
    home = tmp_path_factory.mktemp("jupyter")
    root = home / "root"
    root.mkdir()
    install_extension(home / "path")
    write_settings(home / "settings")
    token = secrets.token_hex(16)
    port = free_port()
    process = subprocess.Popen(
        lab_command(home, port, token),
        env=lab_environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        drain_when_ready(process)
        yield Lab(f"http://127.0.0.1:{port}", token, root)
    finally:
        stop(process)


def lab_command(home: Path, port: int, token: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={home / 'root'}",
        f"--IdentityProvider.token={token}",
        f"--LabApp.user_settings_dir={home / 'settings'}",
        f"--LabApp.workspaces_dir={home / 'workspaces'}",
        "--LabApp.extension_manager=readonly",
    ]


def lab_environment(home: Path) -> dict[str, str]:
    """JUPYTER_PATH comes before an environment's own folders, JUPYTER_DATA_DIR does not always."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(CHECKOUT), os.environ.get("PYTHONPATH")))),
        "JUPYTER_PATH": str(home / "path"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
    }


def install_extension(folder: Path) -> None:
    """Put the bundle of this checkout where JupyterLab looks first."""
    target = folder / "labextensions" / "dt-jupyter"
    shutil.copytree(CHECKOUT / "labextension" / "bundle", target)
    shutil.copy(CHECKOUT / "labextension" / "install.json", target)


def write_settings(settings: Path) -> None:
    """Keep JupyterLab from asking for its news feed over the network."""
    folder = settings / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True)
    (folder / "notification.jupyterlab-settings").write_text(json.dumps(NO_NEWS), "utf-8")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def drain_when_ready(process: subprocess.Popen[str]) -> None:
    """Return when the server says that it listens; fail with its log if it ends before that."""
    assert process.stderr is not None
    log: list[str] = []
    for line in process.stderr:
        log.append(line)
        if "is running at" in line:
            threading.Thread(target=log.extend, args=(process.stderr,), daemon=True).start()
            return
    pytest.fail("JupyterLab did not start:\n" + "".join(log))


def stop(process: subprocess.Popen[str]) -> None:
    """End the server; on SIGTERM it shuts its kernels down first."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The system's Chromium, headless, with a fresh profile."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.fail("browser tests need `chromium` on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def console_errors() -> list[str]:
    """What the page of this test wrote to the console as an error, or threw."""
    return []


@pytest.fixture(scope="session")
def new_page(chromium: Browser) -> Callable[[list[str]], AbstractContextManager[Page]]:
    """Opens an empty page in a context of its own; its errors go into the list."""

    @contextmanager
    def open_(errors: list[str]) -> Iterator[Page]:
        def note(message: ConsoleMessage) -> None:
            if message.type == "error" and not message.text.startswith(OF_JUPYTERLAB):
                errors.append(f"{message.text} ({message.location.get('url')})")

        context = chromium.new_context(viewport={"width": 1280, "height": 800})
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        context.close()

    return open_


@pytest.fixture
def page(
    new_page: Callable[[list[str]], AbstractContextManager[Page]], console_errors: list[str]
) -> Iterator[Page]:
    """An empty page for one test."""
    with new_page(console_errors) as page:
        yield page


@pytest.fixture(scope="session")
def open_in(lab: Lab) -> Callable[[Page, str], Locator]:
    """Opens a notebook under the lab's root in a page, waits for its kernel, and gives its code
    cells."""

    def open_(page: Page, path: str) -> Locator:
        page.goto(lab.url(path))
        page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=60_000)
        return page.locator(".jp-CodeCell")

    return open_


@pytest.fixture
def open_cells(
    lab: Lab,
    page: Page,
    open_in: Callable[[Page, str], Locator],
    request: pytest.FixtureRequest,
) -> Callable[..., Locator]:
    """Opens a notebook of the given sources, named after the test, and gives its code cells."""

    def open_(*sources: str) -> Locator:
        path = f"{request.node.name}.ipynb"
        lab.write_notebook(path, *sources)
        return open_in(page, path)

    return open_


@pytest.fixture
def screenshot(page: Page, request: pytest.FixtureRequest) -> Callable[[], Path]:
    """Saves what the page shows under `artifacts/browser/`, named after the test."""

    def shoot() -> Path:
        path = CHECKOUT / "artifacts" / "browser" / f"{request.node.name}.png"
        page.screenshot(path=path)
        return path

    return shoot
