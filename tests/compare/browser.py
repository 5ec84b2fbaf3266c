"""A headless Chromium driven over a pipe with the DevTools protocol: no web driver, no web socket, no port."""

import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE_S = 60
"""How long one answer of the browser may take before the test fails."""


def find_browser() -> str | None:
    """The browser's path, None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page of a running browser; keeps every event that the page sends."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._buffer = b""
        self._ids = itertools.count(1)
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """The result of a method of the protocol."""
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            piece = os.read(self._read, 1 << 16)
            assert piece, "the browser is gone"
            self._buffer += piece
        raw, self._buffer = self._buffer.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(raw)
        return answer

    def size(self, width: int, height: int, dark: bool = False) -> None:
        """The window in CSS pixels, and whether it prefers dark colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path) -> None:
        """Load a file and wait until it is loaded."""
        self.visit(path.as_uri())

    def visit(self, address: str) -> None:
        """Load a page and wait until it is loaded and drawn: observers of sizes draw in the first frame, too."""
        self.events.clear()
        self.call("Page.navigate", url=address)
        until = time.monotonic() + PATIENCE_S
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            assert time.monotonic() < until, "the page does not load"
            self.events.append(self._receive())
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def requests(self) -> list[str]:
        """Addresses that the page asked for since it was opened."""
        return [
            event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"
        ]

    def complaints(self) -> list[dict[str, Any]]:
        """Exceptions, console messages and the browser's own log entries since the page was opened."""
        kinds = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
        return [event for event in self.events if event["method"] in kinds]


@contextmanager
def browsing(program: str, profile: Path, *flags: str) -> Iterator[Browser]:
    """A browser with a new profile in an empty folder; stopped at the end. ``flags``: more of them."""
    (to_read, to_write), (from_read, from_write) = os.pipe(), os.pipe()
    # Chromium reads commands from descriptor 3 and answers on 4.
    shell = f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}'
    command = ["bash", "-c", shell, program, *FLAGS, *flags, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(
        command, pass_fds=(to_read, from_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    os.close(to_read)
    os.close(from_write)
    try:
        yield Browser(to_write, from_read)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(to_write)
        os.close(from_read)
