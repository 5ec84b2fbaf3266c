"""Adding a metric touches the table of metrics, what computes it, and the type of the document; readers follow."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import compare
from compare.documents import audit
from compare.documents.comparison import FairnessRecord, VariantRecord
from compare.figures import Fairness
from compare.figures.metrics import COLUMNS, DEMANDS, METRICS, NAMES
from compare.watching.changes import SeenGroup
from protocols.named_modules import module_named
from protocols.scenario.model import ExpectPart
from tests.compare.compared import FOUR_MEMBERS

ROW = 'Metric("longest_rebalance_s", "longest rebalance, s", "the longest rebalance that came to an end", "s"),'
LASTED = "max((_s(each.ended - each.began) for each in timeline.rebalances if each.ended is not None), default=0.0)"
EDITS = {
    "figures/metrics.py": (
        ('        Metric("redelivered",', f'        {ROW}\n        Metric("redelivered",'),
        (" | lag.drain_s | settle_s", " | lag.drain_s | longest_rebalance_s | settle_s"),
        ('    "spread": "', '    "spread": "longest_rebalance_s | '),
        ('    "simulations": "', '    "simulations": "longest_rebalance_s | '),
        ('    "summary": "', '    "summary": "longest_rebalance_s | '),
        ('    "sweep": "', '    "sweep": "longest_rebalance_s | '),
    ),
    "running/record.py": (('        "lag": _lag(', f'        "longest_rebalance_s": {LASTED},\n        "lag": _lag('),),
    "documents/comparison.py": (
        ("    lag: LagRecord | None\n", "    longest_rebalance_s: float\n    lag: LagRecord | None\n"),
    ),
}
"""What the recipe in DEVELOPERS.md asks for: three files."""

SHOWN = """
import json
from pathlib import Path

from click.testing import CliRunner

from compare.cli import cli
from compare.showing.sweep import columns_of
from compare.sweeping import document as summaries
from compare.sweeping.reading import read_text
from compare.sweeping.running import schema_of
from compare.sweeping.simulations import run_row


def told(*arguments):
    result = CliRunner().invoke(cli, ["compare", "scenario.yaml", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


old = told("--format", "json")
document = json.loads(told("--seeds", "2", "--format", "json"))
earlier = json.loads(old)
earlier["variants"][0]["longest_rebalance_s"] += 60
Path("old.json").write_text(json.dumps(earlier))
table = told("--baseline", "old.json", "--report", "report.html")
sweep = read_text("{name: s, kind: simulations, members: 2, topics: 1, queues: 2, systems: ['kafka:range']}").sweep
print(json.dumps({
    "document": earlier["variants"][0]["longest_rebalance_s"] - 60,
    "spread": document["seeds"]["kafka:range"]["figures"]["longest_rebalance_s"]["known"],
    "table": table,
    "report": Path("report.html").read_text(),
    "row": run_row(sweep, sweep.cell(0), sweep.systems[0])["longest_rebalance_s"],
    "column": str(schema_of(sweep).field("longest_rebalance_s").type),
    "summary": [name for name in summaries.columns_of("simulations") if name.startswith("longest_rebalance_s")],
    "headings": [heading for heading, _ in columns_of({"kind": "simulations"})],
}))
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What readers show in a copy of the package that has one metric more."""
    folder, here = tmp_path_factory.mktemp("metric"), Path(compare.__file__).parent
    shutil.copytree(here, folder / "compare", ignore=shutil.ignore_patterns("__pycache__"))
    for file, edits in EDITS.items():
        path = folder / "compare" / file
        text = path.read_text(encoding="utf-8")
        for before, after in edits:
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")
    scenario = {**FOUR_MEMBERS, "systems": ["kafka:range", "kafka:cooperative-sticky"]}
    (folder / "scenario.yaml").write_text(json.dumps(scenario))
    paths = os.pathsep.join((str(folder), str(here.parent)))
    done = subprocess.run(
        [sys.executable, "-c", SHOWN],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_a_new_metric_is_in_the_document_and_has_a_spread(shown: Mapping[str, Any]) -> None:
    assert len(EDITS) <= 3
    assert shown["document"] > 0
    assert shown["spread"] == 2


def test_a_new_metric_is_in_table_report_and_baseline(shown: Mapping[str, Any]) -> None:
    assert "longest rebalance, s" in shown["table"]
    assert f"better: longest_rebalance_s {shown['document'] + 60:g} -> {shown['document']:g}" in shown["table"]
    assert 'title="the longest rebalance that came to an end">longest rebalance, s</th>' in shown["report"]


def test_a_new_metric_is_in_rows_summary_and_table_of_a_sweep(shown: Mapping[str, Any]) -> None:
    assert shown["row"] > 0
    assert shown["column"] == "double"
    assert shown["summary"] == [f"longest_rebalance_s_{word}" for word in ("median", "p5", "p95")]
    assert "longest rebalance, s" in shown["headings"]


def test_every_metric_stands_where_the_documents_types_say() -> None:
    for path in METRICS:
        assert _is_in(VariantRecord if path.split(".")[0] in get_type_hints(VariantRecord) else _Groups, path), path
    assert {*NAMES, "lag"} == set(get_type_hints(audit.Figures))
    assert set(NAMES) < set(get_type_hints(FairnessRecord))
    assert {field.name for field in fields(Fairness)} == {*NAMES, "topics"}


class _Groups(audit.GroupRecord):
    """What is told of a group: by the audit, and by polls."""

    distance: int | None
    moves_total: int
    rebalances_seen_total: int
    rebalances_total: int | None
    lag_s: float | None
    lag_trend: float | None


def _is_in(record: Any, path: str) -> bool:
    name, _, rest = path.partition(".")
    hints = get_type_hints(getattr(record, "__origin__", record))
    if not rest or name not in hints:
        return name in hints
    hint = hints[name]
    inner = [
        option for option in (hint, *get_args(hint)) if hasattr(getattr(option, "__origin__", option), "__total__")
    ]
    return any(_is_in(option, rest) for option in inner)


def test_every_metric_is_computed_somewhere_and_some_reader_shows_it() -> None:
    shown = {metric.path.removeprefix("event.") for columns in COLUMNS.values() for metric in columns}
    for metric in METRICS.values():
        module, _, name = metric.source.rpartition(".")
        assert callable(getattr(module_named(module), name)), metric
        assert metric.words
    # Of these a run's document tells, and no reader makes a column of them.
    assert METRICS.keys() - shown == {"fairness.idle_share", "fairness.theil", "fairness.pile_up"}
    assert {"moves_total", "rebalances_total"} <= {field.name for field in fields(SeenGroup)}


def test_every_demand_of_a_scenario_limits_a_metric() -> None:
    assert set(DEMANDS) == set(ExpectPart.model_fields)
    assert {path for path, _ in DEMANDS.values()} <= METRICS.keys()
