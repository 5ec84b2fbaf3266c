"""The recorded JSON files of real Kafka clusters, and ways to change them."""

import json
from pathlib import Path
from typing import Any

TRACES = Path(__file__).parents[2] / "captures" / "kafka" / "traces"

Recorded = dict[str, Any]


def recorded(name: str) -> Recorded:
    """The file's content, to be changed at will."""
    found: Recorded = json.loads((TRACES / f"{name}.json").read_text(encoding="utf-8"))
    return found


def events(recording: Recorded, *kinds: str) -> list[dict[str, Any]]:
    """Its events of these kinds, themselves."""
    return [event for event in recording["events"] if event["ev"] in kinds]


def later(recording: Recorded, since: float, by: float) -> Recorded:
    """Everything after a moment happens later; the summary says the same as the events again."""
    for event in recording["events"]:
        if event["ms"] > since:
            event["ms"] += by
    return recording
