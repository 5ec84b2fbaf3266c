"""Ctrl-C: what was finished is told, what was under way is not."""

from collections.abc import Callable, Generator, Sequence
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

from compare.cli import cli
from compare.comparison import command
from compare.comparison.runs import MeasuredRun, RunOrder, run_all
from compare.scenarios.variants import Variant

SCENARIO = """
name: {name}
topics: {{orders: 4}}
group: {{name: g, members: {{c1..c2: {{subscribe: [orders]}}}}}}
run: {{for: 2min}}
"""


def interrupted_after(count: int) -> Callable[..., Generator[MeasuredRun, None, None]]:
    def run(orders: Sequence[RunOrder], tell: Callable[[Variant], None]) -> Generator[MeasuredRun, None, None]:
        yield from islice(run_all(orders, tell, 1), count)
        raise KeyboardInterrupt

    return run


def told(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> str:
    monkeypatch.setattr(command, "run_all", interrupted_after(count))
    for name in ("first", "second"):
        (tmp_path / f"{name}.yaml").write_text(SCENARIO.format(name=name), encoding="utf-8")
    paths = [str(tmp_path / f"{name}.yaml") for name in ("first", "second")]
    systems = ["--system", "kafka:range", "--system", "rocketmq:AVG"]
    answer = CliRunner().invoke(cli, ["compare", *paths, *systems, *more])
    assert answer.exit_code == 1
    assert isinstance(answer.exception, SystemExit)
    assert "Aborted!" in answer.stderr
    return answer.stdout


def test_scenarios_and_variants_that_are_finished_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = told(3, tmp_path, monkeypatch)
    first, _, second = text.partition("second")
    assert "kafka:range" in first
    assert "rocketmq:AVG" in first
    assert "kafka:range" in second
    assert "rocketmq:AVG" not in second


def test_a_variant_without_all_its_seeds_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = told(5, tmp_path, monkeypatch, "--seeds", "3")
    assert "kafka:range" in text
    assert "rocketmq:AVG" not in text
    assert "second" not in text


def test_nothing_is_told_where_nothing_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(0, tmp_path, monkeypatch) == ""
