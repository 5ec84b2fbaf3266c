"""Writes the tables real/model of docs/closeness.md anew: plays all recordings in tests/captures (some minutes).

python -m tools.closeness
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "closeness.md"

Measures = Sequence[Mapping[str, Any]]
Rule = Callable[[Measures], Mapping[str, Any] | None]

_ALIKE = re.compile(r"equal\b.*?(\d+) of \d+ runs")


def main() -> None:
    """Play the recordings and write the page."""
    text = PAGE.read_text(encoding="utf-8")
    for system, rules, more in (("kafka", KAFKA, _counted), ("rocketmq", ROCKETMQ, lambda measures: [])):
        heads = ["recording", *(("generations", "callbacks") if system == "kafka" else ()), "alike"]
        rows = []
        for name, measures in _measured(ROOT / "tests" / "captures" / system / "traces"):
            values = [each for rule in rules.values() for each in _real_and_model(rule(measures))]
            rows.append([name, *more(measures), str(_alike(measures)), *values])
        heads += [each for what in rules for each in (what.strip(), "model")]
        lines = [_line(heads), "|---|" + "--:|" * (len(heads) - 1), *map(_line, rows)]
        text = re.sub(rf"^{re.escape(lines[0])}\n(\|.*\n)+", "\n".join(lines) + "\n", text, flags=re.MULTILINE)
    PAGE.write_text(text, encoding="utf-8")


def _measured(folder: Path) -> Iterator[tuple[str, Measures]]:
    """Name of each recording that was played, and what was measured."""
    command = [sys.executable, "-m", "compare", "conformance", "--verbose", "--format", "json", str(folder)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    for file in json.loads(done.stdout)["files"]:
        if file["measures"]:
            yield Path(file["name"]).stem, file["measures"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _counted(measures: Measures) -> list[str]:
    """Generations and callbacks of a Kafka recording."""
    generations = next(measure["real"] for measure in measures if measure["quantity"].startswith("generations"))
    callbacks = sum(len(measure["real"]) for measure in measures if measure["quantity"].startswith("callbacks."))
    return [str(len(generations)), str(callbacks)]


def _alike(measures: Measures) -> int:
    """In how many runs the field that differs most often is as recorded."""
    return min(int(found[1]) for measure in measures if (found := _ALIKE.match(str(measure["allowed"]))))


def _real_and_model(measure: Mapping[str, Any] | None) -> tuple[str, str]:
    if measure is None:
        return "-", "-"
    low, high = measure["model"]
    return f"{measure['real']:,.0f}", f"{low:,.0f} .. {high:,.0f}"


def _of(quantity: str) -> Rule:
    return lambda measures: next(measure for measure in measures if measure["quantity"] == quantity)


def _worst(pattern: str) -> Rule:
    """Of the quantities of this kind the one with the greatest real value."""

    def found(measures: Measures) -> Mapping[str, Any] | None:
        fitting = [measure for measure in measures if re.match(pattern, measure["quantity"])]
        return max(fitting, key=lambda each: (each["real"], each["model"]), default=None)

    return found


KAFKA: Mapping[str, Rule] = {
    "step to rebalance": _worst(r"rebalance after generation [1-9]"),
    "step to generation": _worst(r"generation (?!1 )\d+ is complete"),
    "longest gap": _of("longest_unowned_ms"),
    "two owners": _worst("double_owned_ms "),
    "records again": _worst("records_delivered_again "),
}

ROCKETMQ: Mapping[str, Rule] = {
    "moves": _of("moves"),
    "two owners, times": _of("double_owned_times"),
    "longest": _of("longest_double_owned_ms"),
    "no owner, times": _of("unowned_times"),
    "longest ": _of("longest_unowned_ms"),
    "records again": _of("records_delivered_again"),
}

if __name__ == "__main__":
    main()
