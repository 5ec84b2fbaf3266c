"""The site, built once for all tests of a run, and a browser that tells of every request to another host."""

import http.server
import os
import shutil
import socketserver
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.compare.browser import Browser, browsing, find_browser
from tools.pages import ROOT

PATIENCE_S = 300
NEEDS_DOCS = "the docs' packages are not installed: make test-all installs them"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with the reports of three scenarios, built strictly: a warning ends the build."""
    pytest.importorskip("mkdocs", reason=NEEDS_DOCS)
    base = tmp_path_factory.getbasetemp()
    # The processes of one run share what one of them builds.
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "equipoise-site"
    done = folder.with_suffix(".done")
    try:
        folder.mkdir()
    except FileExistsError:
        until = time.monotonic() + PATIENCE_S
        while not done.exists():
            assert time.monotonic() < until, "the other process does not build the site"
            time.sleep(0.2)
    else:
        built(folder, "quick")
        done.touch()
    return folder


def built(folder: Path, extent: str) -> None:
    """Build the site there; ``extent`` is what the variable EQUIPOISE_SITE may be."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("EQUIPOISE_SITE", extent)
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True)
        build(config)


class Recorder(http.server.BaseHTTPRequestHandler):
    """A proxy that lets nothing through and keeps what was asked for."""

    asked: list[str]

    def refuse(self) -> None:
        self.asked.append(self.path)
        self.send_error(403)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed."""


for method in ("GET", "POST", "HEAD", "CONNECT", "OPTIONS"):
    setattr(Recorder, f"do_{method}", Recorder.refuse)


class Serving(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, as any web server has them."""

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing is printed."""


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The site's address on loopback."""
    with Serving(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


OWN = {
    "accounts.google.com",
    "clients2.google.com",
    "content-autofill.googleapis.com",
    "optimizationguide-pa.googleapis.com",
    "update.googleapis.com",
}
"""Hosts that Chromium asks for itself, whatever page it shows."""


class Visitor(NamedTuple):
    """A browser, and what it asked of other hosts."""

    browser: Browser
    asked: list[str]

    def asked_elsewhere(self) -> list[str]:
        """Addresses on other hosts that pages asked for."""
        hosts = {address: urlsplit(address if "//" in address else f"//{address}").hostname for address in self.asked}
        return [address for address, host in hosts.items() if host not in OWN]


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A browser whose requests to any host but this one go to a proxy, which keeps and refuses them."""
    program = find_browser()
    if program is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on PATH")
    asked: list[str] = []
    handler = type("Keeping", (Recorder,), {"asked": asked})
    profile = tmp_path_factory.mktemp("profile")
    with Serving(("127.0.0.1", 0), handler) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        with browsing(program, profile, f"--proxy-server=127.0.0.1:{proxy.server_address[1]}") as browser:
            yield Visitor(browser, asked)
        proxy.shutdown()
    shutil.rmtree(profile, ignore_errors=True)
