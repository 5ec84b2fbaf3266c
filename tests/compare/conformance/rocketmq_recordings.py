"""The recorded JSON files of real RocketMQ clusters, and ways to change them."""

import json
from pathlib import Path
from typing import Any

TRACES = Path(__file__).parents[2] / "captures" / "rocketmq" / "traces"

Recorded = dict[str, Any]


def recorded(name: str) -> Recorded:
    """The file's content, to be changed at will."""
    found: Recorded = json.loads((TRACES / f"{name}.json").read_text(encoding="utf-8"))
    return found


def requests_of(recording: Recorded, member: str, *codes: int) -> list[list[Any]]:
    """A member's requests with these codes (all where none is given), themselves."""
    return [row for row in recording["rpc"] if row[1] == member and (not codes or row[2] in codes)]


def own(recording: Recorded, member: str, since: float, queue: str, *, owns: bool) -> None:
    """From then on the member has the queue, or has it not, and the final owners say so, too."""
    rows = [each["owned"] for each in recording["ownership"] if each["member"] == member and each["t_ms"] >= since]
    for owned in (*rows, recording["final"][member]):
        if owns and queue not in owned:
            owned.append(queue)
        elif not owns and queue in owned:
            owned.remove(queue)
