"""Record what the released older client answers, where `rocketmq-client-python` and its C++ library are installed.

``python -m tests.compare.testing.rocketmq_clients.record_callback NAMESRV OUT.json TOPIC``
"""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

from tests.compare.testing.rocketmq_clients.callback_calls import told


class _Library:
    """The C++ library; functions that an older one lacks are there and cannot be called."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._missing: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._library, name)
        except AttributeError:
            return self._missing.setdefault(name, type(name, (), {})())


def main(address: str, out: str, topic: str) -> None:
    """Ask, and write."""
    load = ctypes.cdll.LoadLibrary
    ctypes.cdll.LoadLibrary = lambda path: _Library(load(path))  # type: ignore[assignment, return-value, method-assign]
    from rocketmq import client  # type: ignore[import-not-found, attr-defined]
    from rocketmq import exceptions as home

    text = json.dumps(told(client, home, topic, "billing", address), indent=1)
    Path(out).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
